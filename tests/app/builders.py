"""What the tests of the app and of its controller share: small reports, a desk, a clock."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from reviewdesk.desk.core import Desk, now
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.records import Item, Run
from reviewdesk.reports.bytes.source import Source

WIDE, SMALL = (160, 48), (80, 24)


class Clock:
    """A monotonic clock that a test moves by hand, and what is to happen at a later time on it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.later: list[tuple[float, Callable[[], object]]] = []

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def after(self, seconds: float, call: Callable[[], object]) -> None:
        self.later.append((self.now + seconds, call))

    def run_next(self) -> bool:
        """Move on to what comes next and do it; return False if there is nothing."""
        if not self.later:
            return False
        at, call = self.later.pop(0)
        self.now = max(self.now, at)
        call()
        return True


def juror(name: str, score: float | None, **more: Any) -> dict[str, Any]:
    return {"id": name, "model": name, "score": score, "reason": f"{name} thinks so", **more}


def verdict(number: int, scores: Sequence[float] = (0.9, 0.8, 0.3), **more: Any) -> dict[str, Any]:
    return {
        "id": f"item/{number:03d}", "case": {"test": f"test {number}", "tags": ["smoke"]},
        "input": f"question {number}", "output": f"answer {number}",
        "rubric": "the answer is right",
        "jurors": [juror(f"judge-{i}", score) for i, score in enumerate(scores)],
        "escalate_for_review": number % 2 == 0,
        **more,
    }  # fmt: skip


def report(verdicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    policy = {"threshold": 0.7, "quorum": 0.5, "strategy": "quorum"}
    return {"schema": "reviewdesk.report/1", "defaults": policy, "verdicts": list(verdicts)}


def item_of(folder: Path, **fields: Any) -> Item:
    """A verdict with these fields, as a desk has it."""
    folder.mkdir(exist_ok=True)
    desk, run = open_run(folder / "d.db", report([verdict(1, **fields)]))
    with closing(desk):
        return desk.item(desk.queue(run)[0])


def refunds() -> list[dict[str, Any]]:
    """Ten items: two tell of a refund in the response, one in a juror's reason alone."""
    said = {3: "No refund is due.", 7: "A refund was paid."}
    found = [verdict(i, output=said.get(i, f"answer {i}")) for i in range(1, 11)]
    found[4]["jurors"][0] = juror("judge-0", 0.9, reason="mentions the refund policy")
    return found


_LOADED: dict[tuple[bytes, str | None], bytes] = {}
_USED: set[tuple[str, bytes, str | None]] = set()
"""Which tests have such a desk already, for two in one test need ids of their own."""


def open_run(
    path: Path, body: dict[str, Any], seed: str | None = None, clock: Callable[[], datetime] = now
) -> tuple[Desk, Run]:
    """Open a desk with a run; a new desk is a copy of one that another test loaded, if one did."""
    data = json.dumps(body).encode()
    used = (os.environ["PYTEST_CURRENT_TEST"].partition(" (")[0], data, seed)
    fresh = clock is now and not path.exists() and used not in _USED
    _USED.add(used)
    made = _LOADED.get((data, seed)) if fresh else None
    if made:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(made)
    desk = Desk.open(path, reviewer="ann", clock=clock)
    if made:
        return desk, desk.run()
    run = desk.load(Source.from_bytes("run.json", data), LoadOptions(seed=seed)).run
    if fresh:
        _LOADED[data, seed] = desk.conn.serialize()
    return desk, run
