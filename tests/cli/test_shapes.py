"""The JSON shapes that others may rely on: these keys keep their names."""

import json
import re
from pathlib import Path

import pytest

from reviewdesk.cli.common import put_json_list
from tests.cli.conftest import Cli, keys
from tests.cli.gatekit import Write
from tests.helpers import numbered, report, verdict

FLAGS = """escalated, bias_warning, same_family, derived_low, split, pivotal, degraded,
    regime_sensitive, single_juror, dispute, mismatch, trimmed_dissent, suspicious_text,
    no_verdict, position_flip"""
STRATA = {f"{side}/{word}" for side in ("flagged", "rest") for word in ("pass", "fail", "none")}


def test_queue(loaded: Cli) -> None:
    rows = loaded("queue", "--json").json
    assert {row["id"] for row in rows} == {"agreed", "split", "failed", "none"}
    wanted = keys("""run, id, test, decision, score, agreement, agreement_source, band, flags,
        label, stratum, audit""")
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
           mismatches, panel_hash, labels, reruns, derived, strategy_used, fallback_reason,
           breaches, panel_hash_status, provenance, remarks""",
    "jurors": """id, model, vendor, family, score, raw_score, scale, pass, label, confidence,
           weight, status, state, dissent, reason, error""",
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
    assert (found["label_vote"], found["label_reported"]) == (None, None)


def test_show_names_the_kinds_of_mismatch(cli: Cli, write: Write) -> None:
    # The mean is .467 against .6, and the trim leaves out the middle instead of the lowest.
    trim = {"method": "quantile", "dropped_low": ["j2"], "dropped_high": ["j1"]}
    data = report(
        verdict("odd", 0.9, 0.3, 0.2, decision="pass", trim=trim),
        verdict("hashed", 0.9, 0.9, 0.9, provenance={"panel_hash": "cafe"}),
    )
    assert cli("ingest", write("report.json", data)).code == 0
    odd, hashed = (cli("show", name, "--json").json for name in ("odd", "hashed"))
    assert odd["breaches"] == ["decision", "trim"]
    assert [text.split(":")[0] for text in odd["mismatches"]] == ["decision", "trim"]
    assert (odd["panel_hash"], odd["panel_hash_status"]) == (None, None)
    assert hashed["breaches"] == hashed["mismatches"] == []
    assert (hashed["panel_hash"], hashed["panel_hash_status"]) == ("cafe", "unverified")
    assert hashed["provenance"]["pre_trim"] == [0.9, 0.9, 0.9]


def test_show_gives_the_votes_and_lists_the_labels(loaded: Cli) -> None:
    found = loaded("show", "failed", "--json").json
    # Three seats, one of which failed; both others are under the threshold.
    assert found["votes"] == {"passes": 0, "answered": 2, "seated": 3}
    assert [juror["pass"] for juror in found["jurors"]] == [False, None, False]
    assert found["values"]["mean"] == pytest.approx(0.2)
    loaded("label", "split", "fail", "--note", "hm")
    loaded("undo")
    loaded("label", "split", "pass")
    found = loaded("show", "split", "--json").json
    assert [(row["label"], row["undone"]) for row in found["labels"]] == [
        ("fail", True),
        ("pass", False),
    ]
    # A label from the shell says nothing of having been blind.
    assert [row["blind"] for row in found["labels"]] == [None, None]


def test_ingest(cli: Cli, write: Write) -> None:
    path = write("report.json", numbered(9))
    first, again = cli("ingest", path, "--json").json, cli("ingest", path, "--json").json
    # v0, v4 and v8 of the nine are flagged; each has three jurors.
    expected = {
        "file": str(path), "format": "canonical", "run": "run", "new": True, "verdicts": 9,
        "ballots": 27, "flagged": 3, "failed_ballots": 0, "unknown_ballots": 0, "skipped": 0,
        "human_labels": 0, "notes": [],
    }  # fmt: skip
    assert first == [expected]
    assert again == [{**expected, "new": False}]


def test_runs(loaded: Cli) -> None:
    loaded("label", "split", "fail")
    (row,) = loaded("runs", "--json").json
    assert row.keys() >= keys("run, file, format, verdicts, flagged, labelled, notes")
    assert (row["run"], row["verdicts"], row["flagged"], row["labelled"]) == ("run", 4, 2, 1)
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


def test_events(loaded: Cli) -> None:
    wanted = keys("event, seq, run, id, item_hash, label, reviewer, at")
    steps: list[tuple[tuple[str, ...], str, str | None]] = [
        (("label", "split", "fail"), "label", "fail"),
        (("label", "split", "pass"), "label", "pass"),
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


def test_desk_verify_and_info(loaded: Cli, desk_path: Path) -> None:
    loaded("label", "split", "fail")
    found = loaded("desk", "verify", "--json").json
    assert found.keys() >= keys("ok, events, head, problems")
    assert (found["ok"], found["events"], found["problems"]) == (True, 2, [])
    assert re.fullmatch("2:[0-9a-f]{64}", found["head"])
    info = loaded("desk", "info", "--json").json
    assert (info["path"], info["head"]) == (str(desk_path), found["head"])
    assert (info["runs"], info["verdicts"], info["events"]) == (1, 4, 2)


def test_show_gives_the_consensus_of_labels(cli: Cli, write: Write) -> None:
    words = [("a", "KEEP", 0.9), ("b", "keep", 0.7), ("c", "SPLIT", 0.2), ("d", "ERROR", None)]
    jurors = [
        {"id": name, "label": label, **({} if sure is None else {"confidence": sure})}
        for name, label, sure in words
    ]
    said = {"id": "v", "case": {"test": "t"}, "strategy": "majority", "label": "SPLIT"}
    data = json.dumps({"schema": "reviewdesk.report/1", "verdicts": [{**said, "jurors": jurors}]})
    assert cli("ingest", write("labels.json", data.encode())).code == 0
    found = cli("show", "v", "--json").json
    # Two of the three that answered, two of the four seats; (.9 + .7 + .2) / 3 = .6.
    vote = found["label_vote"]
    assert (vote["label"], vote["decision"], vote["disagreement"]) == ("KEEP", "pass", True)
    assert (vote["agreement_pct"], vote["seated_share"]) == (pytest.approx(2 / 3), 0.5)
    assert vote["avg_confidence"] == pytest.approx(0.6)
    assert (found["label_reported"], found["decision"]) == ("SPLIT", None)
    assert [juror["status"] for juror in found["jurors"]] == ["ok", "ok", "ok", "error"]


@pytest.mark.parametrize("count", [0, 1, 500, 501, 1_200])
def test_array_in_parts_is_that_of_one_list(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    values = [{"id": f"v{at}", "score": at / 7, "odd": "\x7f ü"} for at in range(count)]
    put_json_list(iter(values))
    # What one call of json.dumps writes, with the one control character that it leaves.
    assert capsys.readouterr().out == json.dumps(values).replace("\x7f", "\\u007f") + "\n"
