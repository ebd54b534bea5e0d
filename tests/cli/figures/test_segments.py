"""``calibrate --by`` and the gates that only the labels of a run can meet."""

from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.domain.records import Truth
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write, facts
from tests.helpers import open_desk, report, verdict

MODELS = ("gpt-4o", "claude-3")


@pytest.fixture
def run(cli: Cli, write: Write, desk_path: Path) -> Cli:
    """Sixty verdicts that pass, all labelled: of the 30 with tag "a" six fail, of "b" none."""
    made = [
        verdict(
            f"v{i}",
            case={"test": f"t{i}", "tags": ["ab"[i % 2]], "dimension": f"d{i % 2}"},
            generator={"model": MODELS[i % 2]} if i % 2 else None,
        )
        for i in range(60)
    ]
    cli("ingest", write("report.json", report(*made, generator={"model": MODELS[0]})))
    with closing(open_desk(desk_path)) as desk:
        for i, row in enumerate(desk.rows(range(1, 61))):
            desk.label(row.key, Truth.FAIL if i % 2 == 0 and i < 12 else Truth.PASS)
    return cli


@pytest.mark.parametrize(
    ("by", "worst", "other"),
    [
        ("tag", "a", "b"),
        ("dimension", "d0", "d1"),
        # The generator of the report, where a verdict names none.
        ("generator", "gpt-4o", "claude-3"),
        ("family", "openai", "anthropic"),
    ],
)
def test_the_worst_segment_comes_first(run: Cli, by: str, worst: str, other: str) -> None:
    found = run("calibrate", "--by", by, "--json").json
    assert found["by"] == by
    first, second = found["segments"]
    assert (first["segment"], first["labels"], first["accuracy"]) == (worst, 30, 0.8)
    assert (second["segment"], second["accuracy"]) == (other, 1)
    # Every verdict is labelled, so nothing is left to chance.
    assert (first["accuracy_low"], first["accuracy_high"]) == (0.8, 0.8)
    assert (first["false_passes"], first["should_pass"], first["passed"]) == (1, 0.8, 30)


@pytest.mark.slow
def test_a_reviewer_s_figures_are_those_of_the_whole_run_by_own_labels(run: Cli) -> None:
    for number in range(20, 40):
        run("label", "--reviewer", "bob", f"v{number}", "pass")
    first, second = run("calibrate", "--by", "reviewer", "--json").json["segments"]
    assert (first["labels"], first["verdicts"], first["accuracy"]) == (60, 60, 0.9)
    assert (second["segment"], second["labels"], second["verdicts"]) == ("bob", 20, 60)
    # A census is a point, and 20 labels of 60 leave something to chance.
    assert first["accuracy_low"] == 0.9
    assert second["accuracy_low"] < second["accuracy"] == 1


def test_segments_in_words(run: Cli, write: Write) -> None:
    out = run("calibrate", "--by", "decision").out
    assert "by decision" in out.lower()
    assert "0.90" in out
    tests = run("calibrate", "--by", "test").out
    assert "no test has 20 labels, so none has figures: t0, t1, t10" in " ".join(tests.split())
    assert "and 48 more" in " ".join(tests.split())
    few = write("few.json", report(verdict("one"), report_id="few"))
    run("ingest", few)
    none = run("calibrate", "--by", "dimension", "--run", "few")
    assert (none.code, "few: no verdict has a dimension" in none.err) == (2, True)
    assert run("calibrate", few, "--by", "tag").code == 2


GATE = b"""calibration:
  - name: n
    run: run
    expect:
      - { target: accuracy_low, by: tag, matcher: { schema: { minimum: 0.7 } } }
      - { target: accuracy_low, matcher: { schema: { minimum: 0.7 } } }
"""


def test_gate_holds_the_worst_segment(run: Cli, write: Write, desk_path: Path) -> None:
    path = write("s.yml", GATE)
    worst, whole = facts(run("gate", path, "--json"))["entries"][0]["checks"]
    # Wilson's lower end of 24 in 30 is 0.627, of 54 in 60 it is 0.799.
    assert (worst["status"], worst["target"]) == ("fail", "accuracy_low by tag")
    assert worst["value"] == pytest.approx(0.627, abs=1e-3)
    assert "tag a" in worst["note"]
    assert (whole["status"], whole["value"]) == ("pass", pytest.approx(0.799, abs=1e-3))
    with closing(open_desk(desk_path, "ben")) as desk:
        for key in desk.queue(desk.run())[:20]:
            desk.label(key, Truth.PASS)
        # Second opinions on items that somebody chose say nothing of the others.
        assert "which people chose" in run("calibrate", "--full").out


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"accuracy_low, by: tag", b"ece, by: tag", "has by beside ece, which is not split"),
        (b"by: tag", b"by: colour", "colour"),
        (b"run: run", b"labels: l.jsonl", "a labels file has no run to split"),
    ],
)
def test_splits_that_suites_lack(cli: Cli, write: Write, old: bytes, new: bytes, says: str) -> None:
    found = cli("gate", write("s.yml", GATE.replace(old, new)))
    assert (found.code, says in found.err) == (2, True), found.err


def test_what_goes_with_the_answers(cli: Cli, write: Write, desk_path: Path) -> None:
    made = [
        verdict(f"v{i}", 0.7 + i / 100, output="word " * (i + 1), case={"test": "t"})
        for i in range(20)
    ]
    # j1 passes the response wherever it stands first; the panel does so of a pair and its mirror.
    for seat in made[0]["jurors"]:
        seat["samples"] = [{"pass": True, "score": 0.9}, {"pass": False, "swapped": True}]
    for name, pair in (("ab", ("one", "two")), ("ba", ("two", "one"))):
        made.append(verdict(name, input="which", output=pair[0], alternative=pair[1]))
    cli("ingest", write("report.json", report(*made)))
    with closing(open_desk(desk_path)) as desk:
        for row in desk.rows(range(1, 21)):
            desk.label(row.key, Truth.PASS)
    found = {one["probe"]: one for one in cli("calibrate", "--jurors", "--json").json["bias"]}
    # The longer a response, the higher its score.
    assert found["length_of_pass"]["value"] == pytest.approx(1)
    assert found["length_of_pass"]["shown"] is True
    assert found["length_of_fail"]["reason"] == "count as under 10 labels"
    position = found["position"]
    assert (position["n"], position["value"], position["turned"]["value"]) == (2, 1, 1)
    out = cli("calibrate", "--jurors").out
    assert "they go together, which need not be a bias" in out
    assert "2 votes asked both ways turn" in out


WEIGHED = b"""calibration:
  - name: agents
    run: run
    composite: {right: 0.75, safe: 0.25}
    expect:
      - { target: composite_low, matcher: { schema: { minimum: 0.7 } } }
      - { target: composite_low, subject: v1, matcher: { schema: { minimum: 0.9 } } }
"""


@pytest.fixture
def agents(cli: Cli, write: Write, desk_path: Path) -> Cli:
    """Two agents on 20 cases and two dimensions; v2 should fail on "right" in 8 of 20."""
    made = [
        verdict(
            f"{agent}-{dimension}-{i}",
            case={"test": f"t{i}", "subject": agent, "dimension": dimension},
            output=f"{agent} {i}",
        )
        for i in range(20)
        for agent in ("v1", "v2")
        for dimension in ("right", "safe")
    ]
    cli("ingest", write("agents.json", report(*made)))
    with closing(open_desk(desk_path)) as desk:
        for row in desk.rows(range(1, 81)):
            agent, dimension, place = row.id.split("-")
            bad = agent == "v2" and dimension == "right" and int(place) < 8
            desk.label(row.key, Truth.FAIL if bad else Truth.PASS)
    return cli


def test_a_composite_per_subject(agents: Cli, write: Write) -> None:
    suite = write("suite.yml", WEIGHED)
    found = agents("calibrate", "--by", "subject", "--suite", suite, "--json").json
    assert [one["segment"] for one in found["segments"]] == ["v2", "v1"]
    worst, other = found["composites"]
    # .75 * 12/20 + .25 * 1; every verdict is labelled.
    assert (worst["subject"], worst["value"], worst["low"], worst["panel"]) == ("v2", 0.7, 0.7, 1)
    assert other["value"] == 1
    assert [part["labels"] for part in worst["dimensions"]] == [20, 20]
    out = agents("calibrate", "--by", "subject", "--suite", suite).out
    assert "right 0.75 x 20, safe 0.25 x 20" in out


def test_a_gate_on_composites(agents: Cli, write: Write) -> None:
    gate = agents("gate", write("suite.yml", WEIGHED))
    assert gate.code == 1
    # For new items 20 labels do not show .7, even if the run itself is at .7.
    assert "v2, by 20 of right, 20 of safe" in gate.out
    kept = WEIGHED.replace(b"0.7 }", b"0.4 }").replace(b"0.9 }", b"0.8 }")
    assert agents("gate", write("suite.yml", kept)).code == 0
    for old, new, said in (
        (b"0.25}", b"0.5}", "the weights must sum to 1, found 1.25"),
        (b"safe:", b"tone:", "no verdict has the dimension tone"),
        (b"subject: v1", b"subject: v9", "no verdict of v9 has a dimension"),
        (b"    composite: {right: 0.75, safe: 0.25}\n", b"", "composite_low needs composite"),
        (b"run: run", b"labels: l.jsonl", "a labels file does not name dimensions"),
        (b"composite_low, subject", b"ece, subject", "has subject beside ece"),
    ):
        done = agents("gate", write("bad.yml", WEIGHED.replace(old, new)))
        assert done.code in {1, 2}, said
        assert said in done.out + done.err
    assert agents("calibrate", "--suite", "suite.yml").code == 2
    bare = write("bare.yml", kept.split(b"    composite")[0])
    done = agents("calibrate", "--by", "subject", "--suite", bare)
    assert "no entry under calibration has composite" in done.err


def test_intervals_are_checked_on_runs_like_this_one(run: Cli, write: Write) -> None:
    found = run("calibrate", "--simulate", "20", "--json").json["simulation"]
    # Every verdict is labelled.
    assert [(one["coverage"], one["runs"]) for one in found] == [(1, 20)] * 6
    assert found[0]["figure"] == "accuracy"
    out = run("calibrate", "--simulate", "20").out
    assert "DO THE INTERVALS HOLD?  20 runs like this one" in out
    assert "Nothing is left to check" in out
    run("ingest", write("few.json", report(verdict("x"), report_id="few")))
    few = run("calibrate", "--simulate", "20", "--run", "few")
    assert (few.code, "its labels do not represent the whole run" in few.err) == (2, True)


def test_the_second_layer_names_the_worst_part_and_what_goes_with_scores(run: Cli) -> None:
    out = run("calibrate", "--full").out
    # Every verdict is labelled: the run is at .9 and "a" at .8, both without an interval.
    assert "worst by tag: a is right 0.80 exact by 30 labels" in out
    assert "length, should pass" in out
    assert "worst by" not in run("calibrate").out
