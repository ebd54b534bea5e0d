"""Measure how the desk bears size, each row against its yardstick in the same run.

Run it as ``python benchmarks/scale.py``. It makes its inputs in ``--folder`` (a temporary one if
none is given; about 12 GB for a million verdicts), installs the tools that it compares with into
that folder, prints two tables, and puts them into the docs with ``--write``. ``--quick`` takes a
minute and small inputs, installs nothing, and proves that every row works.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter

from scaling import ingest, live, others, review, screen, table
from scaling.measure import Row

from reviewdesk.errors import ReviewDeskError


def groups(folder: Path, quick: bool, most: int) -> dict[str, Callable[[], Iterable[Row]]]:
    """Return each group of rows by its name; the rows are measured as they are asked for."""
    count, small, rounds = (300, 200, 2) if quick else (min(100_000, most), 1_000, 5)
    fetch = not quick
    return {
        "ingest": lambda: ingest.rows(folder, count, most, rounds, fetch=fetch),
        "screen": lambda: screen.rows(folder, small, most, rounds, fetch=fetch),
        "queue": lambda: review.queue_rows(folder, most, rounds),
        "labels": lambda: review.label_rows(folder, small),
        "kernels": lambda: [review.kernel_row(most, rounds)],
        "live": lambda: live.rows(0.05 if quick else 0.5, 4 if quick else 200, rounds),
        "peers": lambda: others.rows(folder, min(count, 10_000), rounds, fetch=fetch),
    }


def measured(folder: Path, given: argparse.Namespace) -> str:
    """Measure what was asked for and return it as Markdown, written after each group if asked."""
    most, load = 500 if given.quick else given.verdicts, os.getloadavg()[0]
    rows: list[Row] = []
    costs: list[tuple[int, str, str, str]] = []

    def found() -> str:
        text = table.markdown(rows, costs, [load, os.getloadavg()[0]])
        if given.write:
            table.write(text, "scale")
        return text

    for name, group in groups(folder, given.quick, most).items():
        if given.rows and name not in given.rows:
            continue
        began = perf_counter()
        try:
            for row in group():
                print(f"{row.what}: {row.found} (goal {row.goal}; {row.beside})", file=sys.stderr)
                rows.append(row)
        except (ReviewDeskError, RuntimeError, OSError) as error:
            if given.quick:
                raise
            # One row that fails must not cost the others.
            reason = " ".join(str(error).split())
            rows.append(Row(f"the rest of {name}", "", "not measured", reason))
        print(f"{name}: {perf_counter() - began:.0f} s", file=sys.stderr)
        found()
    if not given.rows or "costs" in given.rows:
        steps = [100, 300] if given.quick else [1_000, 10_000, 100_000, 1_000_000]
        sizes = [size for size in steps if size <= most]
        per_verdict = dict(ingest.cost_per_verdict(folder, sizes))
        for size, first, later in review.cost_per_label(folder, sizes):
            costs.append((size, per_verdict[size], first, later))
            print(costs[-1], file=sys.stderr)
            found()
    return found()


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [*groups(Path(), quick=True, most=1), "costs"]
    parser.add_argument("--quick", action="store_true", help="small inputs, to see that it works")
    parser.add_argument("--rows", nargs="+", choices=names, help="only these groups of rows")
    parser.add_argument(
        "--verdicts", type=int, default=1_000_000, help="the size of the largest run"
    )
    parser.add_argument("--folder", type=Path, help="where inputs are made and kept")
    parser.add_argument(
        "--write", action="store_true", help=f"put the tables into {table.PAGE.name}"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as fresh:
        folder = (given.folder or Path(fresh)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        print(measured(folder, given))


if __name__ == "__main__":
    main()
