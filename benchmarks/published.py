"""How many published counts come out of the project's own commands.

Each report under ``../shared/data/published/llmbar`` is loaded into a desk of its own, its truth
file is imported as labels, and ``calibrate --jurors --json`` is asked. Every row of
``published.csv`` is a count of right answers that the data set's own statistics state.

The table of a panel against each of its judges is made from nine judges of TriviaQA answers, beside
the same cells counted from the two files alone.
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
from typing import TypeAlias

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared/data"
DATA = SHARED / "published/llmbar"
PANEL = "triviaqa-gpt4t"
Cells: TypeAlias = tuple[int, float, int, int]
"""Right answers, kappa, verdicts that differ from the panel's, and those on which it is right."""


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


def _cells(votes: Sequence[bool], truth: Sequence[bool], panel: Sequence[bool]) -> Cells:
    """Count one rater's cells; kappa is ``(p_o - p_e)/(1 - p_e)``."""
    n = len(truth)
    right = sum(one is due for one, due in zip(votes, truth, strict=True))
    passed = sum(votes) / n
    due = sum(truth) / n
    chance = passed * due + (1 - passed) * (1 - due)
    apart = [
        one is due for one, due, other in zip(votes, truth, panel, strict=True) if one is not other
    ]
    return right, (right / n - chance) / (1 - chance), len(apart), sum(apart)


def panel_counted() -> dict[str, Cells]:
    """Count the table of the panel and its judges from the files alone."""
    verdicts = json.loads((SHARED / f"{PANEL}.report.json").read_bytes())["verdicts"]
    lines = (SHARED / f"{PANEL}.truth.jsonl").read_text().splitlines()
    truths = {row["id"]: row["truth"] == "pass" for row in map(json.loads, lines)}
    truth = [truths[one["id"]] for one in verdicts]
    panel = [one["decision"] == "pass" for one in verdicts]
    votes: dict[str, list[bool]] = {"panel": panel}
    for verdict in verdicts:
        for one in verdict["jurors"]:
            votes.setdefault(one["id"], []).append(one["pass"])
    return {name: _cells(mine, truth, panel) for name, mine in votes.items()}


def panel_found(folder: Path) -> dict[str, Cells]:
    """Return the same table as ``calibrate --jurors --json`` gives it."""
    desk = folder / f"{PANEL}.db"
    _ask(desk, "ingest", str(SHARED / f"{PANEL}.report.json"))
    _ask(desk, "labels", "import", str(SHARED / f"{PANEL}.truth.jsonl"))
    found = json.loads(_ask(desk, "calibrate", "--jurors", "--json"))
    made = {"panel": (found["tp"] + found["tn"], found["kappa"], 0, 0)}
    for one in found["jurors"]:
        difference = one["difference"]
        lead = round(difference["estimate"] * difference["items"])
        # Of those on which the two differ, exactly one is right.
        right = (difference["apart"] + lead) // 2
        made[one["id"]] = one["right"], one["kappa"], difference["apart"], right
    return made


def panel_agrees(folder: Path) -> int:
    """Return how many cells of the table are the same both ways, kappa to nine digits."""
    found = panel_found(folder)
    return sum(
        abs(one - two) < 1e-9
        for name, cells in panel_counted().items()
        for one, two in zip(cells, found[name], strict=True)
    )


def main() -> None:
    """Print how many rows agree, and which do not."""
    if not DATA.is_dir():
        sys.exit(f"{DATA} is not there")
    with tempfile.TemporaryDirectory() as folder:
        rows = list(agreeing(Path(folder), sorted(DATA.glob("*.report.json"))))
        same_cells = panel_agrees(Path(folder))
    for run, juror, same in rows:
        if not same:
            print(f"differs: {run} {juror}")
    print(f"{sum(same for _, _, same in rows)} of {len(rows)} published counts agree")
    print("| judge | right of 400 | kappa | differs from the panel | and is right |")
    print("|---|---|---|---|---|")
    counted = panel_counted()
    for name, (right, kappa, apart, alone) in counted.items():
        print(f"| {name} | {right} | {kappa:.3f} | {apart} | {alone} |")
    print(f"{same_cells} of {4 * len(counted)} cells of the panel's table agree")


if __name__ == "__main__":
    main()
