"""The pictures of docs/screenshots, made anew: the demo, asked in a real browser and answered by the embedded model.

python -m tests.web.screenshots [QUESTION …]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arpm.clock import SystemClock
from arpm.demo import QUESTIONS, load_demo
from retrieval.embedding import load_embedder
from tests.web.chromium import chromium
from tests.web.support import last, serving

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "screenshots"


def main(questions: Sequence[str]) -> None:
    """Ask the demo's questions, then picture the conversation and the candidates of its last turn."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        embedder = load_embedder("e5", folder / "models")
        real: dict[str, Any] = {"model": "local", "embedder": embedder, "clock": SystemClock()}
        with serving(folder / "logs", **real) as site, chromium(folder / "profile") as page:
            timeline = load_demo(site.service).timeline
            for question in questions:
                print(question, "→", last(site.send(timeline, question), "turn")["turn"]["response"])
            page.open(f"{site.url}#{timeline}")
            page.until("document.querySelector('#panel li, #panel .empty')")
            page.run("document.activeElement.blur()")
            page.screenshot(FOLDER / "chat.png")
            page.run("document.querySelector('#tab-candidates').click()")
            page.until("document.querySelector('#panel table')")
            page.screenshot(FOLDER / "evidence.png")


if __name__ == "__main__":
    main(sys.argv[1:] or QUESTIONS[:3])
