from typing import Any

import pytest

from reviewdesk.domain.jury.family import same_family
from reviewdesk.domain.verdict import Status, verdict_from_body
from reviewdesk.reports import ReadOptions, Source, read
from tests.reports.foreignkit import only, opened, refusal


def critic(kind: str | None, confidence: Any = 0.8, **more: Any) -> Any:
    return {"kind": kind, "confidence": confidence, "critic_id": "c", **more}


def ensemble(*critics: dict[str, Any], **more: Any) -> Any:
    return {"query_id": "q", "verdicts": list(critics), "consensus": "KEEP", **more}


def juror(kind: str | None, confidence: Any = 0.8, **more: Any) -> Any:
    options = {key: more.pop(key) for key in ("scale", "pass_labels", "fail_labels") if key in more}
    body: dict[str, Any] = only(ensemble(critic(kind, confidence, **more)), **options)["jurors"][0]
    return body


WHOLE = ensemble(
    critic("KEEP", 0.9, critic_id="strict", reasoning="fine", raw_response="{…}", elapsed_s=0.25),
    critic("REJECT", 0.3, critic_id="prose", reasoning="no", error=None),
    critic("SPLIT", 0.54, critic_id="third"),
    critic("PARSE_FAIL", 0.0, critic_id="mute", reasoning="I would", error="parse_fail"),
    avg_confidence=0.58, disagreement=True, agreement_pct=1 / 3, krippendorff_alpha=0.0,
    voting="majority",
    meta={"run": "demo", "target": "the text", "query": "is it so?", "team": "blue"},
)  # fmt: skip


WHOLE_BODY: dict[str, Any] = {
    "id": "q", "case": {"test": "q"}, "input": "is it so?", "output": "the text",
    "strategy": "majority", "decision": "pass", "label": "KEEP",
    "agreement": {"value": 1 / 3, "metric": "consensus_share"},
    "jurors": [
        {
            "id": "strict", "label": "KEEP", "score": 0.9, "confidence": 0.9, "pass": True,
            "reason": "fine", "raw": "{…}",
            # 0.25 s
            "latency_ms": 250.0,
        },
        {
            "id": "prose",
            "label": "REJECT",
            # 1 - 0.3
            "score": 0.7, "confidence": 0.3, "pass": False, "reason": "no",
        },
        {"id": "third", "label": "SPLIT", "confidence": 0.54, "pass": None},
        {
            "id": "mute", "label": "PARSE_FAIL", "reason": "I would", "status": "parse_fail",
            "error": {"message": "parse_fail"},
        },
    ],
    "provenance": {"pointer": "$"},
    "meta": {"origin": {"run": "demo"}},
}  # fmt: skip


def test_a_whole_ensemble_alone_in_a_list_and_in_lines() -> None:
    report, (body,) = opened(WHOLE)
    assert report.format == "cross-judge"
    assert report.header == {
        "schema": "reviewdesk.report/1",
        "producer": {"name": "cross-judge", "format": "cross-judge"},
    }
    assert body == WHOLE_BODY
    left_out = "columns not read: avg_confidence, disagreement, krippendorff_alpha"
    assert report.notes[0] == left_out
    assert report.notes[-1].endswith("with --pass-label or --fail-label (1x): SPLIT")
    bodies = [opened([WHOLE])[1][0], opened([WHOLE], lines=True)[1][0], only(WHOLE)]
    places = [body["provenance"].pop("pointer") for body in bodies]
    assert places == ["$[0]", "$", "$"]
    assert bodies[0] == bodies[1] == bodies[2]
    twice = opened([WHOLE, WHOLE], lines=True)[1]
    assert [body["provenance"]["pointer"] for body in twice] == ["line 1", "line 2"]
    assert [body["id"] for body in twice] == ["q", "q#2"]


PASSES = ("PASS", "KEEP", "YES", "TRUE", "CORRECT", "ACCEPT", "keep")
FAILS = ("FAIL", "REJECT", "NO", "FALSE", "INCORRECT", "reject", "False")


@pytest.mark.parametrize("word", [*PASSES, *FAILS])
def test_words_that_pass_or_fail(word: str) -> None:
    found = juror(word, 0.8)
    passes = word in PASSES
    # 1 - 0.8
    assert found == {
        "id": "c", "label": word, "pass": passes, "score": 0.8 if passes else 0.2, "confidence": 0.8
    }  # fmt: skip


@pytest.mark.parametrize("word", ["SPLIT", "MERGE", "UNCLEAR", "später", "DISAGREE"])
def test_other_words_are_no_vote_and_no_score(word: str) -> None:
    assert juror(word, 0.8) == {"id": "c", "label": word, "confidence": 0.8, "pass": None}
    assert juror(word, 0.8, pass_labels=(f" {word.lower()}",))["score"] == 0.8
    assert juror(word, 0.8, fail_labels=(word,))["score"] == 0.2


@pytest.mark.parametrize(
    ("kind", "error", "status", "message"),
    [
        ("ERROR", "ReadTimeout: The read operation timed out", "timeout", None),
        ("ERROR", "HTTPStatusError: 503", "error", None),
        ("ERROR", "empty_response", "empty", None),
        ("ERROR", "RuntimeError: Missing API key for vendor 'x'", "missing_key", None),
        ("PARSE_FAIL", "parse_fail", "parse_fail", None),
        ("PARSE_FAIL", "x", "parse_fail", None),
        (None, "boom", "error", None),
        ("KEEP", True, "error", "the juror failed"),
        (None, {"code": 5}, "error", '{\n  "code": 5\n}'),
    ],
)
def test_a_failed_critic_is_no_zero(kind: Any, error: Any, status: str, message: Any) -> None:
    found = juror(kind, 0.0, error=error)
    assert not {"score", "pass", "confidence"} & found.keys()
    assert found["status"] == status
    assert found["error"] == {"message": message or error}


def test_without_a_model_the_family_is_unknown_until_a_person_names_it() -> None:
    document = ensemble(critic("KEEP"), critic("KEEP"), meta={"generator": "gpt-4o"})
    for models, expected in (({}, None), ({"c": "gpt-5"}, True), ({"c": "claude-4"}, False)):
        report, (body,) = opened(document, models=models)
        assert "same_family" not in body
        verdict = verdict_from_body(body)
        assert same_family(verdict.ballots, verdict.generator) is expected
        assert not report.notes
    notes = opened(document, models={"c": "gpt-5", "typo": "x"})[0].notes
    assert notes == ["--models: no juror is called typo"]


@pytest.mark.parametrize(
    ("stated", "strategy"),
    [
        ("majority", "majority"), ("Unanimous", "unanimous"), ("weighted", "weighted_vote"),
        ("first_disagreement", "first_disagreement"),
        ("my_rule", "external"), (None, None), (5, None),
    ],
)  # fmt: skip
def test_strategies(stated: Any, strategy: str | None) -> None:
    assert only(ensemble(critic("KEEP"), voting=stated)).get("strategy") == strategy


def test_a_consensus_outside_the_map_decides_nothing_and_says_how_it_could() -> None:
    document = ensemble(critic("KEEP"), consensus="SPLIT")
    report, (body,) = opened(document)
    assert (body.get("decision"), body["label"]) == (None, "SPLIT")
    assert report.notes[-1].endswith("with --pass-label or --fail-label (1x): SPLIT")
    assert only(document, pass_labels=("split",))["decision"] == "pass"
    assert only(document, fail_labels=("split",))["decision"] == "fail"


def test_a_panel_that_failed_as_a_whole_is_an_error() -> None:
    failed = critic("ERROR", 0.0, error="down")
    stated = {"consensus": "UNCLEAR", "agreement_pct": 0.0, "avg_confidence": 0.0}
    body = only(ensemble(failed, failed, disagreement=False, **stated))
    assert (body["decision"], body["label"]) == ("error", "UNCLEAR")
    # Nobody agreed with anybody: the zeros of the file say nothing.
    assert not {"agreement", "meta"} & body.keys()
    read = verdict_from_body(body)
    assert [ballot.status for ballot in read.ballots] == [Status.ERROR, Status.ERROR]


def test_the_older_interface() -> None:
    ballot = {"reviewer_id": "r", "verdict": "FAIL", "rationale": "why", "confidence": 1.0}
    body = only(
        {
            "item_id": "i", "verdicts": [ballot], "consensus": "FAIL", "strategy": "weighted",
            "disagreement": False,
        }
    )  # fmt: skip
    assert (body["id"], body["decision"], body["strategy"]) == ("i", "fail", "weighted_vote")
    assert body["jurors"] == [
        {
            "id": "r", "label": "FAIL", "reason": "why", "score": 0.0, "confidence": 1.0,
            "pass": False,
        }
    ]  # fmt: skip


def test_confidences_on_another_scale() -> None:
    assert juror("KEEP", 85)["raw_score"] == 85
    assert not {"score", "confidence"} & juror("KEEP", 85).keys()
    found = juror("FAIL", 75, scale=(0.0, 100.0))
    # (75 - 0) / 100 = 0.75 sure of a fail is 0.25
    assert (found["score"], found["confidence"], found["raw_score"]) == (0.25, 0.75, 75)
    assert found["scale"] == [0.0, 100.0]
    beyond = juror("KEEP", 101, scale=(0.0, 100.0))
    assert (beyond["raw_score"], beyond["pass"], "score" in beyond) == (101, True, False)


def test_only_known_keys_are_copied() -> None:
    report, (body,) = opened(
        ensemble(
            critic("KEEP", headers={"x": "sk-SENTINEL"}), env="sk-SENTINEL", meta={"k": "sk-S"}
        )
    )
    assert "SENTINEL" not in str(body)
    assert "sk-S" not in str(body)
    assert report.notes == ["columns not read: env", "keys left out: verdicts.headers"]


def test_a_line_separator_inside_a_text_ends_no_line_and_broken_lines_are_refused() -> None:
    assert "line 2" in refusal(b'{"query_id": "a", "verdicts": [], "consensus": ""}\n{"a"\n')
    assert "continues after the end" in refusal(
        b'[{"query_id":"a","verdicts":[],"consensus":"x"}] 1'
    )
    nan = b'[{"query_id": "a", "verdicts": [], "consensus": "", "agreement_pct": NaN}]'
    report = read(Source.from_bytes("nan.json", nan), ReadOptions(format="cross-judge"))
    (body,) = report.verdicts()
    assert "agreement" not in body
    assert report.notes[-1] == "replaced 1 number NaN or Infinity by null"
    rows = [ensemble(critic("KEEP", reasoning="a\u2028b")), ensemble(critic("KEEP"))]
    _, bodies = opened(rows, lines=True)
    assert bodies[0]["jurors"][0]["reason"] == "a\u2028b"
