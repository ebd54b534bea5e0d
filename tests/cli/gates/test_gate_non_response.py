"""Closed and unsure items widen the ends of a gate, by a run, a file, a suite and a new report."""

import json
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import Desk
from reviewdesk.domain.records import Truth
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write, asking, values
from tests.cli.gates.test_gate_report import run_of
from tests.helpers import report

TARGETS = ("accuracy", "sensitivity", "specificity", "kappa", "brier", "gap")
HARD = ("v03", "v08", "v21")


def ends(cli: Cli, suite: Path, *more: str | Path) -> dict[str, float]:
    done = cli("gate", suite, "--json", *more)
    assert done.out.startswith("{"), done
    return values(done)


def suite_of(folder: Path, name: str, source: str) -> Path:
    lines = [f"calibration:\n  - name: judge\n    {source}\n    expect:\n"]
    targets = (*TARGETS, *(["honest_rate"] if source.startswith("run:") else []))
    lines.append(asking(*(f"{one}_{end}" for one in targets for end in ("low", "high"))))
    path = folder / name
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def judge(cli: Cli, write: Write, tmp_path: Path) -> Path:
    """A run of forty with a label for each but the hard ones, which are closed."""
    cli("ingest", write("old.json", report(*run_of(40))))
    rows = cli("queue", "--json").json
    other = {"pass": "fail", "fail": "pass"}
    told = [
        {"id": row["id"], "truth": other[row["decision"]] if at % 6 == 0 else row["decision"]}
        for at, row in enumerate(rows)
        if row["id"] not in HARD
    ]
    labels = "".join(f"{json.dumps(row)}\n" for row in told)
    assert cli("labels", "import", write("labels.jsonl", labels.encode())).code == 0
    for name in HARD:
        for more in ((), (), ("--close",)):
            assert cli("defer", name, *more).code == 0
    return tmp_path / "judge"


def run_name(cli: Cli) -> str:
    (only,) = cli("runs", "--json").json
    return f"run: {only['run']}"


def opened(desk_path: Path) -> dict[str, Any]:
    desk = Desk.open(desk_path, reviewer="checker")
    run = desk.run()
    found = {row.id: row for row in desk.rows([*desk.queue(run, "", "file")])}
    desk.close()
    return found


def test_every_entrance_of_a_gate_counts_them_alike(
    cli: Cli, write: Write, judge: Path, tmp_path: Path
) -> None:
    by_run = ends(cli, suite_of(tmp_path, "run.yml", run_name(cli)))
    assert cli("labels", "export", "--format", "suite", "-o", judge).code == 0
    assert cli("labels", "export", "--format", "full", "-o", tmp_path / "full.jsonl").code == 0
    (name,) = (path.name for path in judge.iterdir() if "label" in path.name)
    by_suite = ends(cli, suite_of(judge, "own.yml", f"labels: {name}"))
    by_file = ends(cli, suite_of(tmp_path, "file.yml", "labels: full.jsonl"))
    new = write("new.json", report(*run_of(40), report_id="new"))
    by_report = ends(cli, suite_of(tmp_path, "run.yml", run_name(cli)), "--report", new)
    # The pass rate of a file needs a run.
    others = {"suite": by_suite, "file": by_file, "report": by_report}
    assert set(by_report) - set(by_file) == {"honest_rate_low", "honest_rate_high"}
    for target, value in by_run.items():
        for name, found in others.items():
            if target not in found:
                continue
            # Redraws of brier, gap and kappa differ by the order of the rows.
            slack = 0.03 if target.startswith(("brier", "gap", "kappa")) else 1e-9
            assert found[target] == pytest.approx(value, abs=slack), (name, target)


@pytest.mark.usefixtures("judge")
def test_the_ends_are_those_of_the_worst_and_of_the_best_answers(
    cli: Cli, desk_path: Path, tmp_path: Path
) -> None:
    suite = suite_of(tmp_path, "run.yml", run_name(cli))
    closed = ends(cli, suite)
    decisions = {name: row.decision.value for name, row in opened(desk_path).items()}
    other = {"pass": "fail", "fail": "pass"}
    found = []
    for right in (False, True):
        for name in HARD:
            told = decisions[name] if right else other[decisions[name]]
            assert cli("label", name, Truth(told).value).code == 0
        found.append(ends(cli, suite))
    for target in ("accuracy", "sensitivity", "specificity"):
        assert closed[f"{target}_low"] == pytest.approx(found[0][f"{target}_low"], abs=1e-9)
        assert closed[f"{target}_high"] == pytest.approx(found[1][f"{target}_high"], abs=1e-9)
    # Had nobody answered for the panel, the lower ends would be higher.
    assert closed["accuracy_low"] < found[1]["accuracy_low"]
