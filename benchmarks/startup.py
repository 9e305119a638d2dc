"""How long the service takes to start and what memory it needs, in fresh processes.

Starts on folders with 0, 1,000 and 10,000 memories. Filling a folder embeds; starting on it again must embed nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import main, table, target

CHILD = """
import json, resource, sys, time
start = time.perf_counter()
from pathlib import Path
from arpm.service import Service
from arpm.settings import Settings
imported = time.perf_counter()
service = Service(Settings(logs=Path(sys.argv[1])))
for row in service.timelines():
    service.timeline(row.id)
opened = time.perf_counter()
print(json.dumps({
    "import_seconds": round(imported - start, 2),
    "open_seconds": round(opened - imported, 2),
    "memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    "embedded": service.embedder.stats.misses,
}))
service.close()
"""

FILL = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from arpm.ids import new_id
from arpm.service import Service
from arpm.settings import Settings
from arpm.timeline import Imported
from retrieval.memories import Experience
count = int(sys.argv[2])
topics = ("the garden", "a train to Hamburg", "her brother", "茶馆", "the blue kettle", "下周的会议", "rain in May")
with Service(Settings(logs=Path(sys.argv[1]))) as service:
    timeline = service.create_timeline("Ada", "Mia")
    start = datetime(2025, 1, 1, tzinfo=UTC)
    atoms = [
        Imported(
            Experience(new_id("m"), f"session_{n // 50}", n + 1, start + timedelta(hours=n), "Ada", "Mia",
                       f"Note {n} is about {topics[n % 7]} and {topics[n % 5]}.", f"Noted as number {n}."),
            {"file": "startup benchmark", "id": str(n)})
        for n in range(count)
    ]
    for place in range(0, count, 500):
        timeline.import_atoms(atoms[place : place + 500])
"""


def run(quick: bool = False) -> dict[str, Any]:
    """Start on folders of several sizes."""
    rows, targets = [], []
    for count in (0, 200) if quick else (0, 1_000, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            if count:
                _child(FILL, folder, str(count))
            found = json.loads(_child(CHILD, folder))
        rows.append([count, *found.values()])
        targets.append(target(f"texts embedded at a restart with {count} memories", found["embedded"], 0))
    columns = ["memories", "import s", "open s", "memory MiB", "texts embedded"]
    return {"tables": [table("restart in a fresh process, default embedder", columns, rows)], "targets": targets}


def _child(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1]).stdout


if __name__ == "__main__":
    main("startup", run)
