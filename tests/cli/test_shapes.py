"""The JSON shapes that others may rely on: these keys keep their names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.helpers import numbered, report, verdict

Write = Callable[[str, bytes], Path]

FLAGS = """escalated, bias_warning, same_family, derived_low, split, pivotal, degraded,
    regime_sensitive, single_juror, dispute, mismatch, trimmed_dissent, suspicious_text,
    no_verdict"""
STRATA = {f"{side}/{word}" for side in ("flagged", "rest") for word in ("pass", "fail", "none")}


def keys(text: str) -> set[str]:
    return set(text.replace(",", " ").split())


@pytest.fixture
def loaded(cli: Cli, write: Write) -> Cli:
    data = report(
        verdict("agreed", 0.9, 0.8, 0.9),
        verdict("split", 0.9, 0.2, 0.8, flagged=True),
        verdict("failed", 0.1, None, 0.3),
        verdict("none", None, None, decision="error"),
    )
    assert cli("ingest", write("report.json", data)).code == 0
    return cli


def test_queue(loaded: Cli) -> None:
    rows = loaded("queue", "--json").json
    assert {row["id"] for row in rows} == {"agreed", "split", "failed", "none"}
    wanted = keys("run, id, test, decision, score, agreement, band, flags, label, stratum, audit")
    for row in rows:
        assert row.keys() >= wanted
        assert set(row["flags"]) <= keys(FLAGS)
        assert row["stratum"] in STRATA
        assert row["decision"] in {"pass", "fail", "inconclusive", "error", None}
        assert row["label"] is None
        assert isinstance(row["audit"], bool)
    by_id = {row["id"]: row for row in rows}
    # (0.9 + 0.2 + 0.8) / 3, as the report states it.
    assert by_id["split"]["score"] == pytest.approx(0.633333)
    assert {"split", "escalated"} <= set(by_id["split"]["flags"])
    assert "no_verdict" in by_id["none"]["flags"]
    assert (by_id["failed"]["decision"], by_id["failed"]["stratum"]) == ("fail", "rest/fail")


SHOW = {
    "": """run, id, item_hash, rubric, input, output, decision, score, strategy, threshold, quorum,
           jurors, values, decisions, votes, trim, agreement, same_family, bias_warning, flags,
           mismatches, panel_hash, labels, reruns, derived, strategy_used, fallback_reason""",
    "jurors": """id, model, vendor, family, score, pass, confidence, weight, status, state,
           dissent, reason, error""",
    "values": "mean, trimmed_mean, median, weighted_average, highest, lowest",
    "decisions": """quorum, quorum_strict, quorum_answered, trimmed_mean, median, mean, majority,
           unanimous, weighted_average, highest, lowest""",
    "votes": "passes, answered, seated",
    "trim": "fraction, rounding, per_side, low, high",
    "agreement": """reported, reported_metric, band_reported, r_wg, r_wg_clamped, band, alpha,
           closeness, sd, range, margin""",
}


@pytest.mark.parametrize("name", ["agreed", "split", "failed", "none"])
def test_show(loaded: Cli, name: str) -> None:
    found = loaded("show", name, "--json").json
    for part, names in SHOW.items():
        places = [found] if not part else found[part] if part == "jurors" else [found[part]]
        for place in places:
            assert place.keys() >= keys(names), part
    assert set(found["decisions"].values()) <= {"pass", "fail", "inconclusive", None}
    assert re.fullmatch("[0-9a-f]{64}", found["item_hash"])
    assert (found["run"], found["id"], found["input"]) == ("run", name, f"question {name}")
    assert found["votes"]["seated"] == len(found["jurors"])


def test_show_gives_the_votes(loaded: Cli) -> None:
    found = loaded("show", "failed", "--json").json
    # Three seats, one of which failed; both others are under the threshold.
    assert found["votes"] == {"passes": 0, "answered": 2, "seated": 3}
    assert [juror["pass"] for juror in found["jurors"]] == [False, None, False]
    assert found["values"]["mean"] == pytest.approx(0.2)


def test_show_lists_the_labels(loaded: Cli) -> None:
    loaded("label", "split", "fail", "--tentative", "--note", "hm")
    loaded("undo")
    loaded("label", "split", "pass")
    found = loaded("show", "split", "--json").json
    assert [(row["label"], row["tentative"], row["undone"]) for row in found["labels"]] == [
        ("fail", True, True),
        ("pass", False, False),
    ]
    # A label from the shell says nothing of having been blind.
    assert [row["blind"] for row in found["labels"]] == [None, None]


def test_ingest(cli: Cli, write: Write) -> None:
    path = write("report.json", numbered(9))
    first, again = cli("ingest", path, "--json").json, cli("ingest", path, "--json").json
    assert first[0].keys() >= keys(
        "file, format, run, new, verdicts, ballots, flagged, failed_ballots, skipped, notes"
    )
    # v0, v4 and v8 of the nine are flagged; each has three jurors.
    expected = {
        "file": str(path),
        "format": "canonical",
        "run": "run",
        "new": True,
        "verdicts": 9,
        "ballots": 27,
        "flagged": 3,
        "failed_ballots": 0,
        "skipped": 0,
        "notes": [],
    }
    assert first == [expected]
    assert again == [{**expected, "new": False}]


def test_runs(loaded: Cli) -> None:
    loaded("label", "split", "fail")
    (row,) = loaded("runs", "--json").json
    assert row.keys() >= keys("run, file, format, verdicts, flagged, labelled, notes")
    assert (row["run"], row["verdicts"], row["flagged"], row["labelled"]) == ("run", 4, 1, 1)
    # agreed and split pass by their means, failed fails; only the third has a juror that failed,
    # beside the two of the fourth, whose panel came to nothing.
    assert row["decisions"] == {"pass": 2, "fail": 1, "inconclusive": 0, "error": 1, "none": 0}
    assert (row["failed_ballots"], row["skipped"]) == (3, 0)
    assert (row["flags"]["escalated"], row["flags"]["split"], row["flags"]["no_verdict"]) == (
        1,
        1,
        1,
    )
    assert set(row["flags"]) <= keys(FLAGS)
    assert loaded("runs", "remove", "run").code == 0
    assert loaded("runs", "--json").json == []


def test_runs_in_plain_words(loaded: Cli) -> None:
    loaded("label", "split", "fail")
    (line,) = loaded("runs").out.splitlines()
    for text in (
        "4 verdicts, 1 flagged, 3 to audit, 1 labelled, 3 failed ballots, 0 skipped",
        "decisions: 2 pass, 1 fail, 1 error",
        "1 escalated",
    ):
        assert text in line


CALIBRATE = """n, confidence_source, design, ess, ece, brier, gap, accuracy, tp, fn, tn, fp,
    sensitivity, specificity, youden_j, observed_positive_rate, corrected_rate,
    corrected_rate_low, corrected_rate_high, corrected_status, warnings"""


def test_calibrate(loaded: Cli) -> None:
    empty = loaded("calibrate", "--json").json
    assert empty.keys() >= keys(CALIBRATE)
    assert (empty["n"], empty["ece"], empty["brier"]) == (0, 0, None)
    assert (empty["design"], empty["confidence_source"]) == ("none", "support")
    assert empty["warnings"]
    for name, truth in (("agreed", "pass"), ("split", "fail"), ("failed", "fail")):
        loaded("label", name, truth)
    found = loaded("calibrate", "--json").json
    assert (found["n"], found["design"], found["warnings"]) == (3, "census", [])
    # agreed passed rightly, split passed wrongly, failed failed rightly.
    assert [found[name] for name in ("tp", "fn", "tn", "fp")] == [1, 0, 1, 1]
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["observed_positive_rate"] == pytest.approx(2 / 3)


GATE = "target, value, limit, op, status, margin"
STRATUM = "stratum, size, labelled, prefix, counted, unanswered, weight, audit, audit_done"
JUROR = """id, seat, votes, right, wrong, accuracy, tp, fn, tn, fp, abstained, failed, trimmed,
    dissents, dissents_right"""


@pytest.fixture
def labelled(loaded: Cli) -> Cli:
    for name, truth in (("agreed", "pass"), ("split", "fail"), ("failed", "fail")):
        loaded("label", name, truth)
    return loaded


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
        "flagged/pass": (1, 1.0),
        "rest/pass": (1, 1.0),
        "rest/fail": (1, 1.0),
        "rest/none": (1, None),
    }
    assert all(row.keys() >= keys(STRATUM) for row in found["strata"])
    assert found["audit"] == {"planned": 3, "done": 2, "counted": 2, "errors": 0, "bound": None}
    assert found["missing"] == []
    # A label from the shell does not say whether it was blind.
    assert (found["blind"]["n"], found["open"]["n"], found["open_unsaid"]) == (0, 3, 3)
    assert found["open"].keys() == found["blind"].keys() == found["labelled"].keys()
    assert found["tags"] == []
    assert "jurors" not in found


def test_calibrate_tells_the_tags(labelled: Cli) -> None:
    labelled("label", "agreed", "pass", "--tag", "tone")
    assert labelled("calibrate", "--json").json["tags"] == [{"tag": "tone", "count": 1}]
    assert "tags        tone 1" in labelled("calibrate").out


def test_calibrate_jurors(labelled: Cli) -> None:
    found = labelled("calibrate", "--jurors", "--json").json["jurors"]
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


def test_calibrate_in_plain_words(labelled: Cli) -> None:
    lines = [" ".join(row.split()) for row in labelled("calibrate", "--jurors").out.splitlines()]
    # j2 has the lowest score of agreed and of split, and is trimmed on both.
    reached = "prefix 1, 1 pass or fail in it, weight 1.000, audit 1/1"
    few = "(up to 50 labels, a calibrated judge often misses it)"
    for text in (
        f"gate FAIL ece 0.322 <= 0.100 margin -0.222 {few}",
        "gate PASS corrected_rate 0.333 <= 0.667 margin +0.333",
        f"stratum rest/fail 1 verdicts, 1 labelled, {reached}",
        "audit 2 of 3 done, 2 count, 0 errors",
        "2 2 0 1 0 1 0 0 1 2 1 1 j2",
    ):
        assert text in lines, text
    assert any(line.startswith("open n 3") and line.endswith("(3 do not say)") for line in lines)


def test_what_is_missing_is_said(loaded: Cli) -> None:
    loaded("label", "split", "fail")
    text = "rest/fail has no pass or fail label in its prefix: 1 more to the next figures"
    assert f"missing     {text}" in loaded("calibrate").out
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


def test_events(loaded: Cli) -> None:
    wanted = keys("event, seq, run, id, item_hash, label, reviewer, at")
    steps: list[tuple[tuple[str, ...], str, str | None]] = [
        (("label", "split", "fail"), "label", "fail"),
        (("label", "split", "pass", "--tentative"), "label", "pass"),
        (("undo",), "undo", "fail"),
        (("undo",), "undo", None),
        (("redo",), "redo", "fail"),
        (("defer", "split"), "defer", "fail"),
    ]
    for seq, (command, kind, label) in enumerate(steps, start=1):
        found = loaded(*command, "--json").json
        assert found.keys() >= wanted
        assert (found["event"], found["seq"], found["label"]) == (kind, seq, label)
        assert (found["run"], found["id"], found["reviewer"]) == ("run", "split", "ann")
        assert re.fullmatch("[0-9a-f]{64}", found["item_hash"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", found["at"])


@pytest.mark.parametrize("command", ["undo", "redo"])
def test_nothing_to_turn_is_no_error(loaded: Cli, command: str) -> None:
    done = loaded(command, "--json")
    assert (done.json, done.lines) == (None, [f"nothing to {command}"])


def test_labels_import(loaded: Cli, write: Write) -> None:
    rows = b'{"id": "split", "truth": "fail"}\n{"id": "nobody", "truth": "pass"}\n'
    found = loaded("labels", "import", write("labels.jsonl", rows), "--json").json
    assert found.keys() >= keys("rows, labelled, unknown, conflicts, design")
    assert (found["rows"], found["labelled"], found["unknown"], found["conflicts"]) == (2, 1, 1, 0)


def test_desk_verify_and_info(loaded: Cli, desk_path: Path) -> None:
    loaded("label", "split", "fail")
    found = loaded("desk", "verify", "--json").json
    assert found.keys() >= keys("ok, events, head, problems")
    assert (found["ok"], found["events"], found["problems"]) == (True, 1, [])
    assert re.fullmatch("1:[0-9a-f]{64}", found["head"])
    info = loaded("desk", "info", "--json").json
    assert (info["path"], info["head"]) == (str(desk_path), found["head"])
    assert (info["runs"], info["verdicts"], info["events"]) == (1, 4, 1)


def test_no_key_is_a_promise_about_what_is_not_built(loaded: Cli) -> None:
    found = loaded("calibrate", "--json").json
    for name in ("auroc", "log_loss", "ece_p", "honest", "bins"):
        assert name not in found or found[name] is not None
