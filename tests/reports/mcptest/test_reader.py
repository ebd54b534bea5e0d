import json
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports.mcptest import find_juries
from tests.reports.foreignkit import opened


def _open(document: Any) -> tuple[Any, list[Any]]:
    report, bodies = opened(document)
    assert report.format == "mcptest"
    assert report.notes[0].startswith("shape not verified: read by structure")
    return report, bodies


def _one(jury: dict[str, Any], **around: Any) -> Any:
    _, (body,) = _open({"tests": [{"name": "case", **around, "jury": jury}]})
    return body


PANEL = [{"model": "a", "score": 0.9, "pass": True}, {"model": "b", "score": 0.2, "pass": False}]


WHOLE: dict[str, Any] = {
    "tool": "mcptest", "version": "1.2", "run_id": "week", "suite": "notes",
    "agent": {"model": "gen", "vendor": "x"},
    "tests": [
        {
            "name": "reads as a note",
            "arguments": {"tag": "1.0"},
            "result": {"content": [{"type": "text", "text": "hello"}]},
            "assertions": [
                {"matcher": "contains", "value": "1.0", "pass": True},
                {"matcher": {"schema": {}}, "passed": False, "message": "too short"},
                {
                    "matcher": "llm-jury", "rubric": "is a note", "threshold": 0.7, "quorum": 0.67,
                    "passed": False, "score": 0.55, "jurors": PANEL,
                    "agreement": {"alpha": -0.2, "interpretation": "low agreement"},
                    "confidence": "low", "escalate_for_review": True, "same_family": False,
                    "bias_warning": None, "cost": 3,
                },
            ],
        }
    ],
}  # fmt: skip

WHOLE_BODY: dict[str, Any] = {
    "id": "reads as a note", "case": {"test": "reads as a note", "suite": "notes"},
    "input": '{\n  "tag": "1.0"\n}', "output": "hello", "rubric": "is a note",
    "generator": {"model": "gen", "vendor": "x"}, "threshold": 0.7, "quorum": 0.67,
    "strategy": "quorum", "decision": "fail", "score": 0.55,
    "agreement": {"value": -0.2, "metric": "krippendorff_alpha"},
    "band": "low",
    "escalate_for_review": True,
    "same_family": False,
    "checks": [
        {"name": "contains: 1.0", "pass": True},
        {"name": "schema", "pass": False, "reason": "too short"},
    ],
    "jurors": [
        {"id": "a", "model": "a", "score": 0.9, "pass": True},
        {"id": "b", "model": "b", "score": 0.2, "pass": False},
    ],
    "provenance": {"pointer": "/tests/0/assertions/2"},
}  # fmt: skip


def test_a_whole_jury() -> None:
    report, (body,) = _open(WHOLE)
    assert report.header == {
        "schema": "reviewdesk.report/1",
        "title": "notes",
        "producer": {"name": "mcptest", "format": "mcptest", "run_id": "week", "version": "1.2"},
    }
    raw = body.pop("meta")["raw"]
    assert raw == WHOLE["tests"][0]["assertions"][2]
    assert body == WHOLE_BODY
    assert report.notes[1] == "keys not mapped, kept under meta.raw: cost"


@pytest.mark.parametrize("key", ["jurors", "votes", "verdicts", "judges", "critics"])
def test_every_name_of_a_panel(key: str) -> None:
    assert [juror["id"] for juror in _one({key: PANEL})["jurors"]] == ["a", "b"]


def test_absent_stays_absent() -> None:
    body = _one({"jurors": PANEL})
    absent = "escalate_for_review threshold quorum strategy band agreement same_family decision"
    assert not body.keys() & set(absent.split())


def test_an_object_around_the_panel_counts_and_alone_is_a_verdict() -> None:
    _, (body,) = _open([{"name": "alone", "escalate_for_review": True, "passed": True}])
    assert (body["id"], body["jurors"], body["decision"]) == ("alone", [], "pass")
    assert body["escalate_for_review"] is True
    document = {
        "name": "t", "escalate_for_review": True, "confidence": "low", "passed": True,
        "detail": {"jurors": PANEL},
    }  # fmt: skip
    _, (body,) = _open(document)
    assert (body["escalate_for_review"], body["band"], body["decision"]) == (True, "low", "pass")
    assert len(body["jurors"]) == 2


def test_equal_and_long_names_are_told_apart() -> None:
    one = {"name": "t", "jurors": [{"model": "m", "score": 0}, {"model": "m", "score": 1}]}
    _, bodies = _open([one, one, one])
    assert [body["id"] for body in bodies] == ["t", "t#2", "t#3"]
    assert [juror["id"] for juror in bodies[0]["jurors"]] == ["m", "m#2"]
    long = {"name": "n" * 900, "jurors": [{"model": "m" * 900, "score": 1}] * 3}
    _, bodies = _open([long, long])
    assert len({body["id"] for body in bodies}) == 2


def test_the_case_has_the_nearest_name_and_a_panels_configuration_is_no_jury() -> None:
    nested = {"name": "suite", "tests": [{"name": "case", "x": {"name": "own", "jurors": PANEL}}]}
    assert _open(nested)[1][0]["case"]["test"] == "case"
    flat = {"name": "suite", "tests": [{"name": "own", "jurors": PANEL}]}
    assert _open(flat)[1][0]["case"]["test"] == "own"
    assert _open([{"test": "T", "jurors": PANEL}])[1][0]["id"] == "T"
    assert _open([{"id": "I", "jurors": PANEL}])[1][0]["id"] == "I"
    assert _open({"a/b": [{"jurors": PANEL}]})[1][0]["id"] == "/a~1b/0"
    config = {"rubric": "R", "threshold": 0.7, "jurors": [{"model": "a"}, {"model": "b"}]}
    document = [{"name": "t", "matcher": {"llm-jury": config}, "jury": {"jurors": PANEL}}]
    _, (body,) = _open(document)
    assert (body["rubric"], body["threshold"]) == ("R", 0.7)
    with pytest.raises(ReportError, match="no jury in the object"):
        _open({"tests": {"matcher": {"llm-jury": config}}})


def test_failed_jurors() -> None:
    body = _one(
        {
            "jurors": [
                {"name": "slow", "error": "request timed out", "pass": None},
                {
                    "name": "odd", "error": {"code": 500, "message": "no"}, "score": 0.4,
                    "pass": True,
                },
                {"name": "fine", "score": 1, "error": None},
            ]
        }
    )  # fmt: skip
    slow, odd, fine = body["jurors"]
    assert slow == {
        "id": "slow", "pass": None, "error": {"message": "request timed out"}, "status": "timeout",
    }  # fmt: skip
    assert odd == {
        "id": "odd", "error": {"type": "500", "message": "no"}, "status": "error", "raw_score": 0.4,
    }  # fmt: skip
    assert fine == {"id": "fine", "score": 1}


def test_a_panel_whose_jurors_all_failed_is_an_error_unless_it_says_otherwise() -> None:
    failed = [{"model": "a", "error": "x"}, {"model": "b", "error": "y"}]
    assert _one({"jurors": failed})["decision"] == "error"
    assert _one({"jurors": failed, "passed": False})["decision"] == "fail"


def test_values_outside_their_range_are_kept_and_counted() -> None:
    jury = {
        "jurors": [{"model": "a", "score": 8, "confidence": 90, "weight": 0}],
        "confidence": 0.4, "threshold": 7, "agreement": 2, "score": 8,
    }  # fmt: skip
    report, (body,) = _open([{"name": "t", **jury}])
    assert body["jurors"] == [{"id": "a", "model": "a", "raw_score": 8}]
    assert not body.keys() & {"threshold", "agreement", "score", "band"}
    assert report.notes[1:] == [
        "a confidence that is not a number from 0 to 1 is left out (1x)",
        "a weight that is not above 0 is left out (1x)",
        *(
            f"a {key} outside its range is kept under meta.raw only (1x)"
            for key in ("threshold", "score", "agreement", "confidence")
        ),
        (
            "a score outside 0..1, or on one scale with such scores, is kept as raw_score and casts"
            " no vote; say what it means with --scale LOW..HIGH (1x, from 8 to 8)"
        ),
    ]


@pytest.mark.parametrize(
    ("stated", "value"),
    [(0.8, 0.8), ({"value": 0.7}, 0.7), ({"alpha": None, "interpretation": "x"}, None)],
)
def test_agreement_is_a_number_or_an_object(stated: Any, value: float | None) -> None:
    body = _one({"jurors": PANEL, "agreement": stated})
    assert body["agreement"] == {"value": value, "metric": "krippendorff_alpha"}


@pytest.mark.parametrize(
    ("verdict", "vote", "label"),
    [("PASS", True, None), ("failed", False, None), ("maybe", None, "maybe"), (None, None, None)],
)
def test_a_jurors_verdict_in_words(verdict: Any, vote: Any, label: str | None) -> None:
    (juror,) = _one({"jurors": [{"id": "j", "verdict": verdict}]})["jurors"]
    assert juror["pass"] is vote
    assert juror.get("label") == label


def test_what_stops_the_search_for_a_generator_and_for_a_text() -> None:
    document = {"agent": "m", "tests": [{"name": "t", "generator": None, "jury": {"votes": PANEL}}]}
    assert "generator" not in _open(document)[1][0]
    assert _one({"jurors": PANEL}, agent="m")["generator"] == {"model": "m"}
    document = {"output": "far", "tests": [{"name": "t", "result": {"jury": {"jurors": PANEL}}}]}
    assert _open(document)[1][0]["output"] == "far"


def test_ndjson_streams_with_lines_in_the_pointer() -> None:
    lines = [
        {"event": "start", "tool": "mcptest"},
        {"name": "a", "jury": {"jurors": PANEL}},
        {"name": "b", "jurors": PANEL},
    ]
    _, bodies = _open("\n".join(map(json.dumps, lines)).encode())
    assert [body["id"] for body in bodies] == ["a", "b"]
    assert bodies[0]["provenance"] == {"pointer": "line 2#/jury"}


JUNK: tuple[Any, ...] = (
    *(None, True, 3, "x", [], {}, [1], {"a": [{}]}, "\x1b" * 900, -5, 1e300, [[]]),
)
JUROR_KEYS = ("name", "id", "model", "vendor", "score", "pass", "verdict", "reason", "confidence")
JURY_KEYS = ("name", "test", "rubric", "threshold", "quorum", "agreement", "confidence", "passed")


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_hostile_shapes_never_break_the_reader(junk: Any) -> None:
    juror = dict.fromkeys((*JUROR_KEYS, "error", "weight", "status", "tokens_in"), junk)
    jury = dict.fromkeys((*JURY_KEYS, "score", "input", "output", "same_family"), junk)
    jury |= {"jurors": [juror, juror], "escalate_for_review": junk, "generator": junk}
    _, (body,) = _open([{**jury, "assertions": [junk, {"pass": True}]}])
    assert len(body["jurors"]) == 2


def test_a_1_of_a_juror_with_scores_beyond_1_is_no_full_mark() -> None:
    panels = ([{"name": "a", "score": 1}, {"name": "b", "score": 1}], [{"name": "a", "score": 4}])
    document = {"tests": [{"name": str(at), "jurors": one} for at, one in enumerate(panels)]}
    _, (first, _) = _open(document)
    assert [(one.get("score"), one.get("raw_score")) for one in first["jurors"]] == [
        (None, 1),
        (1, None),
    ]


def test_deep_envelopes_cost_no_more_than_their_objects() -> None:
    # Looking again at each level for every level above would take 2^60 steps here.
    document: Any = {"jurors": [{"name": "a", "score": 0.5, "pass": True}], "passed": True}
    for _ in range(60):
        document = {"escalate_for_review": True, "a": document}
    (jury,) = find_juries(document)
    assert jury.pointer == "/a" * 60
    assert jury.facts["escalate_for_review"] is True


def test_a_list_of_tests_is_not_a_panel() -> None:
    inner = {"name": "t", "score": 1, "jurors": [{"model": "m", "pass": True}]}
    (jury,) = find_juries({"verdicts": [inner]})
    assert jury.pointer == "/verdicts/0"
