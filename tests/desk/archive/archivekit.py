"""Parts of an archive, the plain load of the same verdicts, and a crew that is this process."""

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from reviewdesk.desk.archive import KeptPart
from reviewdesk.scale.crew import Crew, Item, Lost, Task, Value
from tests.helpers import open_desk, verdict

HEADER = {
    "schema": "reviewdesk.report/1",
    "report_id": "run",
    "defaults": {"threshold": 0.6, "quorum": 0.5, "strategy": "mean"},
}


def verdicts(count: int, seed: int = 1, *, stated: bool = False) -> list[dict[str, Any]]:
    """Verdicts of two to five jurors that waver; some fail, and some have labels of people."""
    dice = random.Random(seed)  # noqa: S311 - invented verdicts
    made = []
    for at in range(count):
        seats = dice.randint(2, 5)
        scores = [None if dice.random() < 0.03 else round(dice.random(), 3) for _ in range(seats)]
        if scores == [None] * seats:
            scores[0] = 0.5
        body = verdict(f"v{at}", *scores, flagged=stated and at % 5 == 0)
        if not stated:
            del body["escalate_for_review"]
        if at % 7 == 0:
            body["human"] = {"label": dice.choice(["pass", "fail"])}
        made.append(body)
    return made


def repeated(bodies: Sequence[dict[str, Any]], contents: int) -> list[dict[str, Any]]:
    """The verdicts on fewer contents, each in several parts; some have no output."""
    texts = [{name: one[name] for name in ("input", "output", "rubric")} for one in bodies]
    return [
        {**one, **texts[at % contents], **({"output": ""} if at % 11 == 0 else {})}
        for at, one in enumerate(bodies)
    ]


def lines(bodies: Sequence[dict[str, Any]], **header: Any) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in [{**HEADER, **header}, *bodies])


def write_parts(folder: Path, bodies: Sequence[dict[str, Any]], count: int) -> list[str]:
    """Write verdicts as so many parts in their order, and return the paths."""
    folder.mkdir(exist_ok=True)
    size = -(-len(bodies) // count)
    paths = []
    for part in range(count):
        path = folder / f"part-{part}.jsonl"
        path.write_bytes(lines(bodies[part * size : (part + 1) * size]))
        paths.append(str(path))
    return paths


def drawn(desk: Path) -> tuple[list[tuple[Any, ...]], list[str], list[tuple[Any, ...]]]:
    """What is flagged or audited: by place in the queue, in blind order; and the strata."""
    with closing(open_desk(desk)) as opened:
        rows = opened.conn.execute(
            "SELECT id, stratum, rank, audit, flags, body, mix FROM verdicts JOIN bodies "
            "ON verdict = key WHERE stratum < 3 OR audit & 1 ORDER BY draw"
        ).fetchall()
        strata = opened.conn.execute("SELECT * FROM strata ORDER BY stratum").fetchall()
    mixed = [row["id"] for row in sorted(rows, key=lambda row: row["mix"])]
    found = [(*tuple(row)[:-2], json.loads(row["body"])) for row in rows]
    return found, mixed, [tuple(row) for row in strata]


class Here(Crew):
    """Does tasks in this process, item after item.

    ``lost`` says of which items no worker returns: of addresses in the first reading, of short
    names in the second.
    """

    def __init__(self, *lost: str) -> None:
        self._lost = lost

    def run(
        self, task: Task[Item, Value], items: Sequence[Item]
    ) -> Iterator[tuple[int, Value | Lost]]:
        for place, item in enumerate(items):
            name = item.name if isinstance(item, KeptPart) else item
            is_lost = name in self._lost
            yield place, Lost("each worker that read it died") if is_lost else task(item)
