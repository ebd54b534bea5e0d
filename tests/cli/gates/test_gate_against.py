"""``gate --report --against``: a new panel may lose a margin to its parent and to the first one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import FAILS, Write, only_entry
from tests.cli.gates.test_gate_report import Body, Suite, judged, run_of
from tests.helpers import report

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
    ],
    ids=["the same", "few labels", "a little", "within", "hurts", "silent", "wide", "too wide"],
)
def test_a_change_that_hurts_is_refused(
    labelled: Suite, new: Any, margin: float, code: int, status: str
) -> None:
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
