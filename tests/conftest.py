"""What holds for every test: how long made-up examples may take, and which files are begun first."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.slow import SLOWEST_FIRST

# The usual limit for an example is 200 ms, and what makes examples slowly is refused: both fail on a busy machine.
settings.register_profile("arpm", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("arpm")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; else one is begun last, and every other worker waits for it.

    `make test` runs file by file in this order (`--dist loadfile --no-loadscope-reorder`).
    """
    places = {name: place for place, name in enumerate(SLOWEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.relative_to(item.config.rootpath).as_posix(), len(places)))
