"""A new panel against its parent and the first one; items that nobody decides widen the ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Truth
from tests.cli.conftest import Cli
from tests.cli.gatekit import FAILS, Write, asking, only_entry, values
from tests.cli.gates.test_gate_report import Body, Suite, judged, run_of
from tests.helpers import mostly_slow, report

COUNT = 200


@pytest.fixture
def labelled(cli: Cli, write: Write, tmp_path: Path) -> Suite:
    """The panel that was labelled is right on all 200 items."""
    return Suite(cli, write, tmp_path / "judge", run_of(COUNT))


def hurt(bodies: list[Body], count: int) -> list[Body]:
    """The panel is wrong about ``count`` more of what should pass."""
    passed = [body["id"] for body in bodies if body["decision"] == "pass"][:count]
    return [judged(body, *FAILS) if body["id"] in passed else body for body in bodies]


def silent(bodies: list[Body], count: int) -> list[Body]:
    """The panel decides nothing about the first ``count``."""
    return [
        {**body, "decision": "inconclusive"} if at < count else body
        for at, body in enumerate(bodies)
    ]


def changes(done: Any) -> dict[str, str]:
    return {
        check["target"].removeprefix("change_from_"): check["status"]
        for check in only_entry(done)["checks"]
        if check["target"].startswith("change_from_")
    }


# Tango's ends for b gained and c lost of 200: without any, ±1.96²/(200 + 1.96²) = ±0.0188; with
# c = 8 about -0.077 to -0.020, with c = 20 about -0.150 to -0.066.
@pytest.mark.parametrize(
    ("new", "margin", "code", "status"),
    mostly_slow(
        [
            (lambda bodies: bodies, 0.02, 0, "pass"),
            (lambda bodies: bodies, 0.01, 3, "skip"),
            (lambda bodies: hurt(bodies, 8), 0.03, 3, "skip"),
            (lambda bodies: hurt(bodies, 8), 0.08, 0, "pass"),
            (lambda bodies: hurt(bodies, 20), 0.05, 1, "fail"),
            (lambda bodies: silent(bodies, 18), 0.05, 1, "fail"),
            # Wrong on all of 200, it loses 0.96 for certain: a wider margin could not fail.
            (lambda bodies: bodies, 0.95, 0, "pass"),
            (lambda bodies: bodies, 0.99, 3, "skip"),
        ]
    ),
    ids=["the same", "few labels", "a little", "within", "hurts", "silent", "wide", "too wide"],
)
def test_harm_is_refused(labelled: Suite, new: Any, margin: float, code: int, status: str) -> None:
    old = labelled.write("old.jsonl", report(*labelled.bodies))
    given = ("--against", old, "--margin", str(margin), "--json")
    done = labelled.gate(new(labelled.bodies), *given)
    assert (done.code, changes(done)) == (code, {"parent": status, "baseline": status})
    assert ("not shown" in done.err) is (code == 3)


@pytest.mark.slow
def test_ten_small_losses_are_refused_by_the_first_panel(labelled: Suite) -> None:
    # Each step loses 2 of 200: with c = 2 the lower end is -0.036. Ten lose 0.1.
    codes = []
    for step in (1, 4, 7, 10):
        old = labelled.write("old.jsonl", report(*hurt(labelled.bodies, 2 * step - 2)))
        given = ("--against", old, "--margin", "0.04", "--json")
        done = labelled.gate(hurt(labelled.bodies, 2 * step), *given)
        assert changes(done)["parent"] == "pass"
        codes.append(done.code)
    assert codes[0] == 0
    assert codes == sorted(codes, key=[0, 3, 1].index)
    assert codes[-1] == 1
    # Who names a later report as the first panel decides to live with what was lost.
    assert labelled.gate(hurt(labelled.bodies, 20), *given, "--baseline", old).code == 0


@pytest.mark.slow
def test_an_older_suite_needs_the_first_report(labelled: Suite) -> None:
    frame = labelled.folder / "frame.jsonl"
    rows = [json.loads(line) for line in frame.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        del row["decision"]
    frame.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    old = labelled.write("old.jsonl", report(*labelled.bodies))
    given = ("--against", old, "--margin", "0.02")
    done = labelled.gate(labelled.bodies, *given)
    assert (done.code, "--baseline" in done.err) == (3, True)
    assert labelled.gate(labelled.bodies, *given, "--baseline", old).code == 0


@pytest.mark.slow
def test_labels_of_the_tuning_half_say_nothing_of_a_new_panel(labelled: Suite) -> None:
    assert labelled.cli("improve", "split", "--open").code == 0
    folder = labelled.folder.with_name("split")
    assert labelled.cli("labels", "export", "--format", "suite", "-o", folder).code == 0
    lines = (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    tuning = {row["id"] for row in map(json.loads, lines) if row.get("half") == "tuning"}
    assert len(tuning) == COUNT // 2
    labelled.folder = folder
    old = labelled.write("old.jsonl", report(*labelled.bodies))
    for is_tuned in (True, False):
        new = [
            judged(body, *FAILS) if (body["id"] in tuning) is is_tuned else body
            for body in labelled.bodies
        ]
        done = labelled.gate(new, "--against", old, "--margin", "0.05", "--json")
        status = "pass" if is_tuned else "fail"
        assert changes(done) == {"parent": status, "baseline": status}
        assert "100 labels of the tuning half are left out" in done.out


@pytest.mark.slow
def test_a_panel_with_another_rubric_keeps_its_labels(labelled: Suite) -> None:
    old = labelled.write("old.jsonl", report(*labelled.bodies))
    new = [{**body, "rubric": "The length does not count."} for body in labelled.bodies]
    assert labelled.gate(new).code == 2
    done = labelled.gate(new, "--against", old, "--margin", "0.02")
    told = "200 of 200 labels joined, 200 of them under another rubric"
    assert (done.code, told in done.out) == (0, True)
    # Where one answer has two rubrics, nobody knows which of them the label is for.
    twice = [*new, *({**body, "id": f"{body['id']}b", "rubric": "Other"} for body in new)]
    assert labelled.gate(twice, "--against", old, "--margin", "0.02").code == 2


def test_a_parent_of_other_answers_shows_nothing(labelled: Suite) -> None:
    other = [{**body, "output": f"new {body['output']}"} for body in labelled.bodies[:30]]
    old = labelled.write("old.jsonl", report(*other, *labelled.bodies[30:]))
    done = labelled.gate(labelled.bodies, "--against", old, "--margin", "0.02")
    assert (done.code, "only 170 of 200 labels" in done.err) == (3, True)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--report", "FILE", "--against", "FILE"], "needs a margin"),
        (["--report", "FILE", "--margin", "0.1"], "without a parent"),
        (["--against", "FILE", "--margin", "0.1"], "Add --report FILE"),
        (["--report", "FILE", "--against", "FILE", "--margin", "1"], "--margin"),
        (["--report", "FILE", "--against", "FILE", "--margin", "0.1"], "compared with itself"),
        (["--report", "FILE", "--against", "gone.jsonl", "--margin", "0.1"], "gone.jsonl"),
    ],
)
def test_what_is_missing_is_named(labelled: Suite, given: list[str], told: str) -> None:
    file = labelled.write("old.jsonl", report(*labelled.bodies))
    words = [str(file) if word == "FILE" else word for word in given]
    done = labelled.cli("gate", labelled.folder / "suite.yml", *words)
    assert (done.code, told in done.err) == (2, True)


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


def test_all_ways_to_gates_count_alike(cli: Cli, write: Write, judge: Path, tmp_path: Path) -> None:
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
def test_the_ends_are_of_worst_and_best_answers(cli: Cli, desk_path: Path, tmp_path: Path) -> None:
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
