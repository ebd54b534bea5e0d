"""``calibrate``, as JSON that others may rely on and in plain words."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.domain.records import Truth
from tests.cli.conftest import Cli, keys
from tests.cli.gatekit import Write
from tests.desk.figures.test_calibration_honest import run_of
from tests.helpers import open_desk

CALIBRATE = """n, confidence_source, design, ess, ece, brier, gap, accuracy, tp, fn, tn, fp,
    sensitivity, specificity, youden_j, observed_positive_rate, corrected_rate,
    corrected_rate_low, corrected_rate_high, corrected_status, warnings"""


@pytest.fixture
def labelled(loaded: Cli) -> Cli:
    for name, truth in (("agreed", "pass"), ("split", "fail"), ("failed", "fail")):
        loaded("label", name, truth)
    return loaded


GATE = "target, value, limit, op, status, margin"
STRATUM = "stratum, size, labelled, prefix, counted, unanswered, weight, audit, audit_done"
JUROR = """id, seat, votes, right, wrong, accuracy, tp, fn, tn, fp, abstained, failed, trimmed,
    dissents, dissents_right, n, model, design, target, difference, labelled, population,
    such_items, corrected_rate, dissent_design, sensitivity_low, specificity_high, accuracy_low,
    accuracy_high, sensitivity, specificity,
    false_passes, false_fails, kappa, weight, lone_dissents, lone_right, dissent_precision, seats,
    seats_failed, parse_failed, parse_failure_rate, offset, offset_n, drift"""


def test_calibrate_gives_gates_and_draw(labelled: Cli) -> None:
    found = labelled("calibrate", "--json").json
    assert {target["target"]: target["status"] for target in found["gates"]} == {
        # Confidences .867 .633 .8, and split is wrong: (.133 + .633 + .2) / 3 = .322.
        "ece": "fail",
        # (.0178 + .4011 + .04) / 3 = .153.
        "brier": "pass",
        # Sensitivity 1, specificity 1/2: (2/3 + 1/2 - 1) / (1/2) = 1/3, under 2/3.
        "corrected_rate": "pass",
    }
    assert all(gate.keys() >= keys(GATE) for gate in found["gates"])
    ece, brier, rate = found["gates"]
    assert (ece["value"], ece["op"], ece["limit"]) == (found["ece"], "<=", 0.10)
    assert ece["margin"] == pytest.approx(0.10 - 0.3222, abs=1e-4)
    assert brier["margin"] == pytest.approx(0.25 - 0.153, abs=1e-3)
    assert rate["margin"] == pytest.approx(1 / 3)
    assert {row["stratum"]: (row["size"], row["weight"]) for row in found["strata"]} == {
        "flagged/pass": (1, 1.0), "flagged/none": (1, None), "rest/pass": (1, 1.0),
        "rest/fail": (1, 1.0),
    }  # fmt: skip
    assert all(row.keys() >= keys(STRATUM) for row in found["strata"])
    assert found["audit"] == {"planned": 2, "done": 2, "counted": 2, "errors": 0, "bound": None}
    assert found["missing"] == []
    # A label from the shell does not say whether it was blind.
    assert (found["blind"]["n"], found["open"]["n"], found["open_unsaid"]) == (0, 3, 3)
    assert found["open"].keys() == found["blind"].keys() == found["labelled"].keys()
    assert found["tags"] == []
    assert "jurors" not in found


def test_calibrate_tells_the_tags(labelled: Cli) -> None:
    labelled("label", "agreed", "pass", "--tag", "tone")
    assert labelled("calibrate", "--json").json["tags"] == [{"tag": "tone", "count": 1}]
    assert "tone 1" in labelled("calibrate", "--full").out


def test_calibrate_jurors(labelled: Cli) -> None:
    whole = labelled("calibrate", "--jurors", "--json").json
    found = whole["jurors"]
    assert whole["weights_basis"]["labels"] == 3
    assert whole["volatile"] == []
    assert all(row.keys() >= keys(JUROR) for row in found)
    # j1 passes agreed and split and fails failed; j2 passes the first, fails the second, and
    # failed on the third; j3 as j1.
    assert [(row["id"], row["votes"], row["right"], row["failed"]) for row in found] == [
        ("j1", 3, 2, 0),
        ("j2", 2, 2, 1),
        ("j3", 3, 2, 0),
    ]
    assert found[0]["accuracy"] == pytest.approx(2 / 3)
    assert (found[1]["dissents"], found[1]["dissents_right"]) == (1, 1)
    # j2 is right where it differs from the panel, on split, of the two that both decided.
    assert found[1]["difference"] == {
        "to": "panel", "estimate": 0.5, "low": 0.5, "high": 0.5, "items": 2, "apart": 1,
        "labelled": 1,
    }  # fmt: skip
    assert {row["design"] for row in found} == {"census"}
    assert whole["contest"]["best"] == "j2"
    assert whole["contest"]["panel_less_best"]["to"] == "j2"
    assert whole["contest"]["panel_less_best"]["estimate"] == -0.5


def test_without_a_label_of_the_rest_a_juror_has_bounds(loaded: Cli) -> None:
    loaded("label", "split", "fail")
    found = loaded("calibrate", "--jurors", "--json").json["jurors"][0]
    assert (found["design"], found["accuracy"], found["population"]["accuracy"]) == (
        "escalated-only",
        0.0,
        None,
    )
    # j1 is wrong on the flagged one, and may be right on its two other votes.
    assert (found["accuracy_low"], found["accuracy_high"]) == (0.0, pytest.approx(2 / 3))


def test_calibrate_in_plain_words(labelled: Cli) -> None:
    lines = [
        " ".join(row.split())
        for row in labelled("calibrate", "--full", "--jurors").out.splitlines()
    ]
    # j2 has the lowest score of agreed and of split; the mean decides, so nobody is trimmed.
    # Confidences .867 and .8 share a bin, .633 has its own: 2 * .6333 * .3667 = .4644, and of none,
    # one or both right .0267 * 1.6667 + .28 * .6667 + .6933 * .3333 = .4622; their sum over 3.
    for text in (
        # Two of the three were judged rightly; nothing is left to guess.
        "accuracy 0.667 exact decides as the label says",
        "random check: 2 of 2 done, the panel wrong on 0 of the 2 that count",
        # Two votes, both right; no vote on failed, and one dissent, which was right.
        "j2 2 2 0 0 1 0 1 of 1",
        # j2 has four seats, failed on failed and on none, and passed one of the two others.
        "j2 4 50.0% 2 0 0.00 0.00-0.49",
    ):
        assert text in lines, text
    # Offsets -.1 and -.65, so the change from the first to the second is -.55.
    assert any(line.startswith("j2 -0.375 2 -0.550 - half 1 -") for line in lines)
    start = "FAIL ece 0.322 <= 0.100 margin -0.222 calibrated: about 0.309, p "
    assert any(line.startswith(start) for line in lines)
    assert "open: 3 of 3 come from a shell or a file and do not say" in lines


def test_what_is_missing_is_said(loaded: Cli) -> None:
    loaded("label", "split", "fail")
    text = "rest/fail has no pass or fail label in order: 1 more to the next figures"
    assert text in loaded("calibrate", "--full").out
    assert text in loaded("calibrate", "--json").json["missing"]


def test_a_labels_file_has_gates_and_no_jurors(cli: Cli, write: Write) -> None:
    # The eight rows of the judge calibration document: ECE .0875, Brier .0691.
    confidences = (0.95, 0.90, 0.82, 0.55, 0.52, 0.15, 0.10, 0.05)
    rows = "".join(
        f'{{"confidence": {c}, "correct": {"true" if i < 4 else "false"}}}\n'
        for i, c in enumerate(confidences)
    )
    path = write("labels.jsonl", rows.encode())
    found = cli("calibrate", path, "--json").json
    assert [(gate["target"], gate["status"]) for gate in found["gates"]] == [
        ("ece", "pass"),
        ("brier", "pass"),
    ]
    assert [gate["margin"] for gate in found["gates"]] == pytest.approx(
        [0.10 - 0.0875, 0.25 - 0.0691], abs=1e-4
    )
    assert "strata" not in found
    refused = cli("calibrate", path, "--jurors")
    assert (refused.code, len(refused.lines)) == (2, 1)
    assert "--jurors" in refused.lines[0]


def test_what_no_label_defines_is_null_and_says_why(loaded: Cli) -> None:
    found = loaded("calibrate", "--json").json
    assert found.keys() >= keys(CALIBRATE)
    assert (found["n"], found["ece"], found["brier"]) == (0, 0, None)
    assert (found["design"], found["confidence_source"]) == ("none", "support")
    assert found["warnings"]
    undefined = "auroc, log_loss, ece_expected, ece_p, brier_low, gap_high, accuracy_low"
    assert {found[name] for name in keys(undefined)} == {None}
    assert (found["bins"], found["spiegelhalter"]) == (
        [],
        {"z": None, "p": None, "reason": "no rows"},
    )
    assert found["honest"] == {
        "method": "none", "estimate": None, "low": None, "high": None,
        "reason": "no label that counts for the draw says pass or fail",
    }  # fmt: skip


def test_the_shell_names_what_blocks_and_closes_it(cli: Cli, desk_path: Path) -> None:
    desk_path.parent.mkdir(parents=True, exist_ok=True)
    with closing(open_desk(desk_path)) as desk:
        keys = [*desk.queue(run_of(desk), "", "draw")]
        name = desk.rows(keys[:1])[0].id
        for key in keys[1:25]:
            desk.label(key, Truth.PASS)
    assert f"Decide {name}: until then, 24 labels do not count." in cli("calibrate").out
    assert cli("calibrate", "--json").json["blockers"] == [{"id": name, "waiting": 24}]
    assert f"decide {name}: until then, 24 labels do not count" in cli("labels", "export").err
    refused = cli("defer", name, "--close")
    assert refused.code == 2
    assert f"{name}: you have not deferred it twice" in refused.err
    for _ in range(2):
        assert cli("defer", name).code == 0
    closed = cli("defer", name, "--close", "--json")
    assert closed.code == 0
    assert json.loads(closed.out)["label"] == "unsure"
    assert cli("calibrate", "--json").json["blockers"] == []
