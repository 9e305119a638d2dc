"""One turn over HTTP with the embedded model."""

from __future__ import annotations

from pathlib import Path

from arpm.settings import ModelSettings
from tests.web.support import last, serving

DOCUMENT = "The ferry to the island leaves at nine in the morning. It returns at six in the evening."


class TestTheEmbeddedModel:
    def test_answers_from_a_document_in_a_stream(self, logs: Path) -> None:
        short = ModelSettings(name="local", backend="local", max_tokens=40)
        with serving(logs, model="local", models=(short,)) as site:
            assert site.upload("ferry.txt", DOCUMENT.encode()).status_code == 201
            timeline = site.timeline(persona="A harbour master.")
            happened = site.send(timeline, "When does the ferry to the island leave?")
        view = last(happened, "turn")
        body = view["record"]["body"]
        streamed = "".join(data["text"] for name, data in happened if name == "text")
        assert streamed.strip() == body["response"]
        assert body["response"]
        assert "<analysis" not in streamed
        assert [view["memories"][item["memory"]]["text"] for item in body["evidence"]] == [DOCUMENT]
        assert (body["violations"], body["repairs"], body["admission"]["admitted"]) == ([], [], True)
