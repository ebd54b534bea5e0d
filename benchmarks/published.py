"""How many published counts come out of the project's own commands.

Each report under ``../shared/data/published/llmbar`` is loaded into a desk of its own, its truth
file is imported as labels, and ``calibrate --jurors --json`` is asked. Every row of
``published.csv`` is a count of right answers that the data set's own statistics state.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared/data/published/llmbar"


def _ask(desk: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "reviewdesk", *arguments],
        env={**os.environ, "REVIEWDESK_DESK": str(desk), "REVIEWDESK_CONFIG": os.devnull},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return done.stdout


def jurors(folder: Path, reports: Sequence[Path]) -> Iterator[tuple[str, dict[str, object]]]:
    """The name of each run, and each of its jurors as ``calibrate --jurors --json`` gives it."""
    for report in reports:
        name = report.name.removesuffix(".report.json")
        desk = folder / f"{name}.db"
        _ask(desk, "ingest", str(report))
        _ask(desk, "labels", "import", str(report.with_name(f"{name}.truth.jsonl")))
        for one in json.loads(_ask(desk, "calibrate", "--jurors", "--json"))["jurors"]:
            yield name, one


def published() -> dict[tuple[str, str], tuple[int, int]]:
    """Right answers and items by run and juror."""
    with (DATA / "published.csv").open(encoding="utf-8") as file:
        return {
            (row["run"], row["juror"]): (int(row["correct"]), int(row["of"]))
            for row in csv.DictReader(file)
        }


def agreeing(folder: Path, reports: Sequence[Path]) -> Iterator[tuple[str, str, bool]]:
    """Each published row of the reports, and whether the command gives the same."""
    found = {(run, str(one["id"])): one for run, one in jurors(folder, reports)}
    runs = {report.name.removesuffix(".report.json") for report in reports}
    rows = {key: row for key, row in published().items() if key[0] in runs}
    for (run, juror), (correct, of) in rows.items():
        one = found.get((run, juror), {})
        counts = one.get("right"), one.get("seats")
        same = counts == (correct, of) and one.get("design") == "census"
        yield run, juror, same


def main() -> None:
    """Print how many rows agree, and which do not."""
    if not DATA.is_dir():
        sys.exit(f"{DATA} is not there")
    with tempfile.TemporaryDirectory() as folder:
        rows = list(agreeing(Path(folder), sorted(DATA.glob("*.report.json"))))
    for run, juror, same in rows:
        if not same:
            print(f"differs: {run} {juror}")
    print(f"{sum(same for _, _, same in rows)} of {len(rows)} published counts agree")


if __name__ == "__main__":
    main()
