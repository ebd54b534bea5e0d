"""Measure what is lost and let in by faults and hostile input, each beside its control.

Run it as ``python benchmarks/trust.py``. ``--quick`` takes a minute or two and tries each fault a
few times; ``--write`` puts the table into docs/reference/measured.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scaling import table
from trusting import damage, full, hostile, kills, power, suites, terminal, writers
from trusting.rows import FaultRow, markdown

QUICK = 0.005
TIMES = (
    "On two cores --quick takes two minutes, --share 0.02 four, and the whole, by the rates of"
    " these, half an hour."
)


def groups(folder: Path, share: float) -> dict[str, Callable[[], Iterable[FaultRow]]]:
    """Return each group of rows by its name; the faults are tried as the rows are asked for."""

    def times(count: int, least: int = 2) -> int:
        return max(least, round(share * count))

    locks = (1,) if share <= QUICK else (3, 30)
    return {
        "kills": lambda: kills.rows(folder, times(100), times(500)),
        "power": lambda: power.rows(folder, times(400, 10), times(60, 20)),
        "full": lambda: full.rows(folder, times(40, 6)),
        "writers": lambda: writers.rows(folder, times(500, 10), locks),
        "hostile": lambda: hostile.rows(folder, times(100_000)),
        "terminal": lambda: [terminal.row(times(100_000))],
        "damage": lambda: [damage.row(folder / "damage", times(2_000))],
        "tested": suites.tested_rows,
        "controls": lambda: suites.wrong_rows(folder, 1 if share <= QUICK else len(suites.WRONG)),
    }


def main() -> int:
    """Try what was asked for, print the table, and write it row by row if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], epilog=TIMES)
    names = list(groups(Path(), QUICK))
    parser.add_argument("--quick", action="store_true", help="each fault a few times")
    parser.add_argument("--share", type=float, default=1.0, help="of how often each is tried")
    parser.add_argument("--rows", nargs="+", choices=names, help="only these groups of rows")
    parser.add_argument(
        "--write", action="store_true", help=f"put the table into {table.PAGE.name}"
    )
    given = parser.parse_args()
    share = QUICK if given.quick else given.share
    rows: list[FaultRow] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name, group in groups(Path(folder), share).items():
            if given.rows and name not in given.rows:
                continue
            for row in group():
                rows.append(row)
                now = f"{(time.monotonic() - began) / 60:.1f} min, {name}"
                print(f"{now}: {row.fault}: {row.found} (goal: {row.goal})", file=sys.stderr)
                if given.write:
                    # What was measured stays, should the rest be killed.
                    table.write(markdown(rows, share), "faults")
    print(markdown(rows, share))
    return int(any(row.holds is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
