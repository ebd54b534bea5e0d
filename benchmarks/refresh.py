"""What the strip's refresh costs after a label: from columns in memory, and read anew.

An invented run is labelled in the order of its draw, in a desk file of its own. At
each number of labels one more is given many times over, and the medians stand in the table (all
anew three times, past 1,000 once). Both ways are held against each other to 1e-9, and every
figure has a fixed seed.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from msgspec.structs import asdict, replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.strip import LiveStrip
from reviewdesk.desk.review.items import PaceReader
from reviewdesk.domain.labels.draw import draw
from reviewdesk.domain.labels.label_columns import make_rows
from reviewdesk.domain.labels.sampling import FIRST_REST, LabelledRow, RunFigures, stratum
from reviewdesk.domain.records import Calibration, Run, Truth
from reviewdesk.domain.verdict import Decision
from reviewdesk.store import events, figures
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent

SIZES = (100, 1_000, 10_000, 100_000)
EXTRA = 1_000
"""Verdicts that are never labelled, so that the figures stay weighted."""
LABELS = 25
"""How many labels a median is of."""
RUN = "a benchmark"


@dataclass(frozen=True, slots=True)
class Invented:
    """A run's totals and its verdicts in the order of the draw, as they will be labelled."""

    figures: RunFigures
    verdicts: list[LabelledRow]
    draws: list[int]


def invent(size: int) -> Invented:
    """Seven in ten pass, a tenth is flagged, the judge is right in eight of ten."""
    chance = random.Random(20250131)
    ids = [f"v{i}" for i in range(size)]
    scores = [round(chance.random(), 3) for _ in ids]
    decisions = [Decision.PASS if score >= 0.3 else Decision.FAIL for score in scores]
    strata = [stratum(decided, flagged=chance.random() < 0.1) for decided in decisions]
    drawn = draw(ids, strata, RUN)
    ranks = drawn.rank.tolist()
    found = []
    for i, decided in enumerate(decisions):
        wrong = Decision.FAIL if decided is Decision.PASS else Decision.PASS
        truth = Truth(decided if chance.random() < 0.8 else wrong)
        item = i.to_bytes(32, "big")
        found.append(
            LabelledRow(
                i + 1,
                ids[i],
                item,
                decided,
                scores[i],
                None,
                None,
                2,
                3,
                strata[i],
                ranks[i],
                truth,
            )
        )
    order = sorted(range(size), key=drawn.order.__getitem__)
    passed = decisions.count(Decision.PASS)
    figures = RunFigures(
        passed, size - passed, "support", scores_stated=False, sizes=drawn.sizes,
        audits=drawn.audited,
    )  # fmt: skip
    return Invented(figures, [found[i] for i in order], list(range(size)))


def enter(desk: Desk, invented: Invented) -> Run:
    """The run in a desk, without the reading of a report."""
    figures, verdicts = invented.figures, invented.verdicts
    flagged = sum(one.stratum < FIRST_REST for one in verdicts)
    run = {
        "key": 1, "hash": RUN, "name": RUN, "file": RUN, "file_hash": "", "format": "", "seed": RUN,
        "options": "{}", "loaded_at": desk.at(), "header": "{}", "notes": "[]", "ballots": 0,
        "verdicts": len(verdicts), "failed_ballots": 0, "flagged": flagged, "audit": 0,
        "skipped": 0, "passed": figures.passed, "failed": figures.failed, "escalation_stated": 0,
        "confidence_source": figures.confidence_source, "scores_stated": 0, "opened": 1,
    }  # fmt: skip
    rows = (
        (
            one.key, 1, one.key - 1, one.id, "", one.item, one.decision, one.score, one.passes,
            one.answered, one.answered, 0, one.stratum, one.rank, place, place, 0,
        )
        for place, one in zip(invented.draws, verdicts, strict=True)
    )  # fmt: skip
    with writing(desk.conn):
        named = ", ".join(f":{name}" for name in run)
        desk.conn.execute(f"INSERT INTO runs ({', '.join(run)}) VALUES ({named})", run)
        desk.conn.executemany(
            f"""INSERT INTO verdicts (key, run, pos, id, test, item, decision, score, passes,
                answered, seated, flags, stratum, rank, draw, mix, audit)
                VALUES ({", ".join("?" * 17)})""",
            rows,
        )
        desk.conn.executemany(
            "INSERT INTO strata (run, stratum, size, audit) VALUES (1, ?, ?, ?)",
            [(h, size, figures.audits.get(h, 0)) for h, size in figures.sizes.items()],
        )
    return desk.run(RUN)


def label(desk: Desk, verdicts: Sequence[LabelledRow]) -> None:
    """Append one label for each of some verdicts."""
    at = desk.at()
    entries = [
        NewEvent("label", at, run=RUN, verdict=one.id, item=one.item, label=one.truth)
        for one in verdicts
    ]
    with writing(desk.conn):
        events.append(desk.conn, desk.reviewer, entries)


def timed(what: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    start = perf_counter()
    what()
    return perf_counter() - start


def anew(desk: Desk, run: Run) -> Calibration:
    """As a worker does without a memory: a connection of its own, all labels read."""
    with closing(desk.reader()) as reader:
        PaceReader().pace(reader, run)
        found = figures.labelled(reader.conn, run.key)
        return make_rows(found, figures.run_figures(reader.conn, run.key)).lines


def followed(strip: LiveStrip, desk: Desk, run: Run) -> Calibration:
    """As the app's worker does: a connection of its own, what the log says since."""
    with closing(desk.reader()) as reader:
        return strip.read(reader, run).calibration


def same(found: Calibration, expected: Calibration) -> bool:
    """Whether words and counts are equal, and floats to 1e-9."""
    plain = {"labelled": None, "population": None}
    pairs = [(found.labelled, expected.labelled), (found.population, expected.population)]
    return replace(found, **plain) == replace(expected, **plain) and all(
        math.isclose(value, asdict(other)[name], rel_tol=1e-9, abs_tol=1e-9)
        if isinstance(value, float)
        else value == asdict(other)[name]
        for one, other in pairs
        for name, value in (asdict(one) if one else {}).items()
    )


class Race:
    """Both ways side by side while the labels of one run grow."""

    def __init__(self, desk: Desk, invented: Invented) -> None:
        """Nothing is labelled."""
        self._invented, self._desk = invented, desk
        self._run = enter(desk, invented)
        self._strip, self._done = LiveStrip(), 0

    def _give(self, count: int) -> None:
        given = self._invented.verdicts[self._done : self._done + count]
        self._done += len(given)
        if given:
            label(self._desk, given)

    def at(self, labels: int) -> tuple[float, float]:
        """Medians in seconds at so many labels: from the columns in memory, and all read anew."""
        desk, run, strip = self._desk, self._run, self._strip
        self._give(max(0, labels - LABELS - self._done))
        followed(strip, desk, run)
        read, reread = [], []
        for _ in range(LABELS):
            self._give(1)
            read.append(timed(lambda: followed(strip, desk, run)))
        for _ in range(1 if labels > 1_000 else 3):
            start = perf_counter()
            expected = anew(desk, run)
            reread.append(perf_counter() - start)
        if not same(followed(strip, desk, run), expected):
            raise SystemExit(f"the figures of the desk differ at {labels} labels")
        return median(read), median(reread)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, nargs="+", default=SIZES, metavar="N")
    sizes = sorted(parser.parse_args().labels)
    invented = invent(sizes[-1] + EXTRA)
    print("milliseconds per refresh after a label, medians; equal to 1e-9 at every size")
    print(f"{'labels':>8}{'one more':>10}{'all anew':>11}")
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Desk.open(Path(folder) / "desk.db", reviewer="ann")) as desk,
    ):
        race = Race(desk, invented)
        for size in sizes:
            read, reread = (1000 * seconds for seconds in race.at(size))
            print(f"{size:>8,}{read:>10.2f}{reread:>11.2f}")


if __name__ == "__main__":
    main()
