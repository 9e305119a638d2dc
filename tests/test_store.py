"""A ledger with its caches: nobody takes a store that is being written for one that was left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from arpm.catalogue import Catalogue
from arpm.events import Event
from tests.patience import PATIENCE
from tests.support import open_service


def test_a_request_does_not_close_the_ledger_that_a_turn_is_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the ledger's write and the catalogue's the store looked behind, and whoever looked closed it."""
    with open_service(tmp_path) as service:
        id = service.create_timeline("Ada", "Mia").id
        opened = service.timeline(id)
        folding, go_on = threading.Event(), threading.Event()
        original = Catalogue.apply

        def slowly(self: Catalogue, events: Iterable[Event], ledger: str, end: Callable[[Event], int]) -> None:
            folding.set()
            assert go_on.wait(PATIENCE)
            original(self, events, ledger, end)

        faults: list[Any] = []

        def talk() -> None:
            try:
                for words in ("One.", "Two."):
                    service.turn(id, words)
            except BaseException as fault:  # noqa: BLE001  (told by the test)
                faults.append(fault)

        monkeypatch.setattr(Catalogue, "apply", slowly)
        turn = threading.Thread(target=talk)
        turn.start()
        assert folding.wait(PATIENCE)
        assert opened._store.ledger.tip.seq > 2 and not opened.behind
        assert service.timeline(id) is opened
        go_on.set()
        turn.join()
        assert faults == []
        assert [row.message for row in service.catalogue.turns(id)] == ["One.", "Two."]
