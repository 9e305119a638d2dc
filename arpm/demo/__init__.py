"""The demo: a small tea house with a bookshop, its documents, and a guest who has been there before.

Content of our own writing, in English and Chinese, under the licence of the project.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from arpm.importers.atoms import Atom, write_atoms
from arpm.service import Service

USER = "Robin"
CHARACTER = "Wen"
PERSONA = (
    "You keep the Lantern Street Tea House and Bookshop, which your grandmother opened. You are warm, calm and exact: "
    "you answer from what you remember and from the papers of the house, and say so when you do not know."
)
INSTRUCTION = "Please always answer in at most three sentences."
QUESTIONS = (
    "Where is the blue umbrella I left behind?",
    "When do you open on Sunday?",
    "Which tea did I like best, and what does a pot of it cost?",
    "茶馆是哪一年开的？",
    "我上次想找的旧书是哪一本？",
    "How many moons does Jupiter have?",
)

_FOLDER = Path(__file__).parent / "documents"
_SOURCE = "demo"

# Days before today, and what was said: earlier visits of the guest.
_VISITS = (
    (23, "Good morning! It is my first time here. Which tea would you recommend?",
     "Welcome! Most guests begin with the Osmanthus Oolong. It is light and a little sweet."),
    (23, "That osmanthus oolong was the best tea I have had in years.",
     "I am glad. I will remember that the Osmanthus Oolong is your favourite."),
    (23, "One more thing: I am allergic to walnuts, so no biscuits with my pot, please.",
     "Of course. I leave out the walnut biscuits whenever you order."),
    (9, "Hello again. I am learning the erhu now and practise every evening. My neighbours are patient.",
     "The erhu! You chose a beautiful and stubborn instrument. Play us something one day."),
    (9, "我想找一本旧书，《运河船工日记》，你们的书架上有吗？",
     "《运河船工日记》现在没有，我会帮你留意，收到了就替你留着。"),
    (9, "谢谢！下次我会带我妹妹小雨来，她只喝不含咖啡因的茶。",
     "欢迎小雨！菊花枸杞茶和荞麦茶都不含咖啡因。"),
    (2, "I brought my sister Xiaoyu today. She loved the buckwheat tea and the cat.",
     "It was lovely to meet Xiaoyu. Mao does not let everybody scratch his ears."),
    (2, "I think I left my blue umbrella behind when we went out, the one with the wooden handle.",
     "Yes, your blue umbrella with the wooden handle is in the drawer under the till."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loaded:
    """The timeline of the demo, and whether it was loaded just now."""

    timeline: str
    new: bool


def load_demo(service: Service) -> Loaded:
    """Load the demo unless it is there: its documents, a timeline, and earlier visits dated before today."""
    there = next((row for row in service.timelines() if row.persona == PERSONA), None)
    if there is not None and there.rounds:
        # What a person removed from the demo stays removed.
        return Loaded(there.id, new=False)
    for path in sorted(_FOLDER.iterdir()):
        service.ingest(path.name, path.read_bytes())
    timeline = service.timeline(there.id) if there else service.create_timeline(USER, CHARACTER, PERSONA)
    timeline.add_instruction(INSTRUCTION)
    write_atoms(timeline, _SOURCE, _visits(service.clock.now()))
    return Loaded(timeline.id, new=True)


def _visits(now: datetime) -> list[Atom]:
    """The earlier visits, each a session of its own, at ten in the morning (UTC) of its day."""
    today = now.replace(hour=10, minute=0, second=0, microsecond=0)
    atoms = []
    for number, (days, message, reply) in enumerate(_VISITS, 1):
        at = today - timedelta(days=days) + timedelta(minutes=number)
        atoms.append(Atom(f"{_SOURCE}-{number}", f"visit-{at:%Y-%m-%d}", at, message, reply))
    return atoms
