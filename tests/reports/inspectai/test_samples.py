"""The samples of an Inspect log: their juries and checks, texts, epochs, and edits by people."""

import json
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from tests.reports.inspectkit import (
    NAN,
    bodies,
    call,
    grading,
    log,
    notes_of,
    one,
    opened,
    panel,
    sample,
    score,
    scoring,
)

QA = "model_graded_qa"


def test_several_scorers_are_one_jury_without_a_decision() -> None:
    document = log(sample("a", {"own": "C", QA: "C"}), sample("b", {"own": "I", QA: "I"}))
    for body in bodies(document):
        assert [juror["id"] for juror in body["jurors"]] == ["own", QA]
        assert not body.keys() & {"decision", "score", "label", "escalate_for_review"}


def test_scorers_that_ask_no_model_are_checks_and_leave_the_one_scorers_decision() -> None:
    events = [*scoring("match"), *scoring("own"), *scoring("asks", call("v/m", "C"))]
    scores = {"match": "C", "own": True, "asks": 1, "unseen": 0.5, "includes": "I"}
    body = one(log(sample("a", scores, events=events), scorers=["match", "own", "includes"]))
    # no events tell of "unseen", so nobody knows; "includes" is a rule in code by its name
    assert [juror["id"] for juror in body["jurors"]] == ["asks", "unseen"]
    passes = {"match": True, "own": True, "includes": False}
    assert {check["name"]: check["pass"] for check in body["checks"]} == passes
    found = {"match": score("I", explanation="differs"), "f1": 0.25, "exact": 1, QA: "C"}
    body = one(log(sample("a", found)))
    assert (body["decision"], [juror["id"] for juror in body["jurors"]]) == ("pass", [QA])
    assert body["checks"] == [
        {"name": "match", "pass": False, "reason": "differs"},
        {"name": "f1", "pass": None, "reason": "score 0.25"},
        {"name": "exact", "pass": True},
    ]


def test_a_sample_of_checks_alone_keeps_what_the_log_decides() -> None:
    document = log(sample("a", {"match": "C"}), sample("b", {"match": "I", "includes": "C"}))
    first, second = bodies(document)
    assert (first["decision"], first["jurors"], len(first["checks"])) == ("pass", [], 1)
    assert ("decision" in second, second["jurors"], len(second["checks"])) == (False, [], 2)
    assert "a sample that no model graded has checks and no ballots (2x)" in notes_of(document)


def test_a_panel_beside_other_scorers_is_a_verdict_with_its_own_consensus() -> None:
    scores = {QA: panel("C", "C", "C", "I"), "tone": "I", "match": "C", "facts": 0.4}
    document = log(sample("a", scores), sample("b", {QA: panel(NAN, "C", "I"), "tone": "C"}))
    found = list(opened(document).verdicts())
    assert len(found) == 4
    assert [(one["id"], one.get("decision"), one.get("score")) for one in found] == [
        (f"a/{QA}", "pass", 1.0),
        ("a", None, None),
        (f"b/{QA}", "inconclusive", None),
        ("b", "pass", 1.0),
    ]
    assert [[juror.get("pass") for juror in one["jurors"]] for one in found] == [
        [True, True, False], [False, None], [True, False], [True],
    ]  # fmt: skip
    assert [[check["name"] for check in one.get("checks") or ()] for one in found[:2]] == [
        ["match"],
        ["match"],
    ]
    assert found[2]["escalate_for_review"] is True
    assert "escalate_for_review" not in found[3]


def test_two_panels_are_two_verdicts_each_with_its_rubric() -> None:
    scorers = [grading("v/a", "v/b"), grading("v/c", "v/d", name="facts")]
    for scorer, text in zip(scorers, ("Be kind.", "Be right."), strict=True):
        scorer["options"]["instructions"] = text
    scores = {QA: panel("C", "C", "C"), "facts": panel("I", "I", "I")}
    first, second = bodies(log(sample("a", scores), scorers=scorers))
    assert [(one["id"], one["rubric"], one["decision"]) for one in (first, second)] == [
        (f"a/{QA}", "Be kind.", "pass"),
        ("a/facts", "Be right.", "fail"),
    ]
    assert [juror["id"] for juror in second["jurors"]] == ["v/c", "v/d"]


def test_a_panel_that_had_decided_keeps_its_decision_when_another_scorer_breaks_off() -> None:
    events = [*scoring("panel"), *scoring("tone", call("v/b", "", error="gone"), key="")]
    failed = {"error": {"message": "gone"}, "events": [*events, {"event": "error"}]}
    found = bodies(log(sample("a", {"panel": panel("C", "C", "C")}, **failed)))
    assert [(one["id"], one["decision"]) for one in found] == [("a/panel", "pass"), ("a", "error")]
    assert [juror["status"] for juror in found[1]["jurors"]] == ["error"]


def test_a_value_that_is_not_where_it_is_looked_for_is_unknown() -> None:
    odd, known = one(log(sample("a", {"odd": [[1]], "own": 0})))["jurors"]
    assert (odd["status"], odd["meta"]) == ("unknown", {"unread": ["value"]})
    assert known["score"] == 0
    nowhere = {"result": 0.9, "explanation": "good"}
    document = log(sample("a"))
    document["samples"][0]["scores"] = {"own": nowhere, QA: {"value": "C"}, "bare": "I"}
    own, qa, bare = one(document)["jurors"]
    assert own == {
        "id": "own", "reason": "good", "status": "unknown", "meta": {"unread": ["result"]},
    }  # fmt: skip
    assert (qa["pass"], bare["pass"]) == (True, False)
    document["samples"][0]["scores"] = {"own": nowhere}
    with pytest.raises(ReportError, match=r"has 1 ballot, and no answer .*seen in them: result"):
        bodies(document)


def test_a_sample_that_failed_has_no_ballots() -> None:
    failed = {"error": {"message": "out of memory", "traceback": "secret", "traceback_ansi": "x"}}
    body = one(log(sample("a", **failed)))
    assert (body["decision"], body["jurors"]) == ("error", [])
    assert body["meta"] == {"error": "out of memory"}
    scored = log(sample("a", {"match": "I"}, events=[{"event": "error"}], **failed))
    assert one(scored)["jurors"] == []
    assert notes_of(scored) == ["the scores of a sample that failed itself are left out (1x)"]


def test_a_scorer_that_broke_off_is_a_failed_ballot_beside_those_that_scored() -> None:
    failed = {"error": {"message": "no such deployment"}}
    lost = call("v/b", "", error="no such deployment")
    events = [*scoring("match"), *scoring(QA, call("v/a", "C"), lost, key=""), {"event": "error"}]
    document = log(
        sample("a", {"match": "C"}, events=events, **failed),
        scorers=["match", grading("v/a", "v/b")],
    )
    body = one(document)
    assert body["decision"] == "error"
    assert body["checks"] == [{"name": "match", "pass": True}]
    assert body["jurors"] == [
        {"id": "v/b", "model": "v/b", "status": "error", "error": {"message": "no such deployment"}}
    ]


def _edit(value: Any, author: str = "ann", at: str = "2026-01-02T03:04:05Z", **keys: Any) -> Any:
    source = {"author": author, "timestamp": at, "reason": "second look", "metadata": {}}
    return {"value": value, "explanation": "UNCHANGED", "provenance": source, **keys}


def _human(*edits: Any, first: Any = "I", **more: Any) -> tuple[Any, list[str]]:
    history = [{"value": first, "explanation": "the grader's"}, *edits]
    changed = score(edits[-1]["value"], history=history, explanation="the person's")
    report = opened(log(sample("a", {"own": changed, **more})))
    (body,) = report.verdicts()
    return body, report.notes


def test_an_edit_is_a_human_label_and_the_first_value_stays_the_jurys() -> None:
    body, notes = _human(_edit("P"), _edit("C", "bob", "2026-01-03T03:04:05Z"))
    assert body["human"] == {
        "label": "pass", "by": "bob", "at": "2026-01-03T03:04:05Z", "note": "second look",
    }  # fmt: skip
    assert body["jurors"] == [
        {"id": "own", "score": 0.0, "pass": False, "label": "I", "reason": "the grader's"}
    ]
    assert (body["decision"], body["score"], notes) == ("fail", 0.0, [])


@pytest.mark.parametrize(
    ("value", "label"),
    [("C", "pass"), ("I", "fail"), (1, "pass"), (0.0, "fail"), (False, "fail"), ("yes", "pass"),
     ("P", "unsure"), ("N", "unsure")],
)  # fmt: skip
def test_what_an_edited_value_says(value: Any, label: str) -> None:
    assert _human(_edit(value))[0]["human"]["label"] == label


@pytest.mark.parametrize("value", [0.5, 7, "so-so", [1], {"a": "C"}, None])
def test_an_edited_value_that_says_nothing_is_counted(value: Any) -> None:
    body, notes = _human(_edit(value))
    assert "human" not in body
    assert "an edited score that is neither a pass nor a fail gives no human label (1x)" in notes


def test_the_last_edit_that_decides_is_the_human_label_with_all_that_it_says() -> None:
    body, _ = _human(_edit("C", explanation="it follows the rule"))
    assert body["human"]["note"] == "it follows the rule\nsecond look"
    assert "meta" not in body
    assert "human" not in _human(_edit("UNCHANGED", explanation="typo"))[0]
    assert "human" not in _human({"value": "C"})[0]
    body, _ = _human(_edit("C"), _edit("UNCHANGED", "bob"))
    assert (body["human"]["label"], body["human"]["by"]) == ("pass", "ann")
    late = score("I", history=[{"value": "C"}, _edit("I", "bob", "2026-02-01T00:00:00Z")])
    body, notes = _human(_edit("C"), late=late)
    assert body["human"]["by"] == "bob"
    assert "of several edited scores the one edited last is the human label (1x)" in notes


def test_every_edit_is_kept_with_what_its_editor_wrote() -> None:
    edits = (
        _edit("P", explanation="half of it"),
        _edit("C", "bob", "2026-01-03T03:04:05Z", explanation="attachment://e"),
        _edit("UNCHANGED", "cat", "2026-01-04T03:04:05Z", explanation="reworded"),
    )
    body, _ = _human(*edits, attachments={})
    assert body["human"]["by"] == "bob"
    assert body["meta"]["edits"] == [
        {"score": "own", "value": "P", "by": "ann", "at": "2026-01-02T03:04:05Z",
         "note": "half of it\nsecond look"},
        {"score": "own", "by": "cat", "at": "2026-01-04T03:04:05Z",
         "note": "reworded\nsecond look"},
    ]  # fmt: skip
    words_alone, _ = _human(_edit("UNCHANGED", explanation="typo"))
    assert words_alone["meta"]["edits"][0]["note"] == "typo\nsecond look"
    no_label, _ = _human(_edit("so-so", explanation="neither"))
    assert no_label["meta"]["edits"][0]["value"] == "so-so"


def test_an_edit_stands_at_the_jury_it_changed_and_an_added_score_is_no_ballot() -> None:
    first = panel("I", "I", "I")
    edited = {**first, "value": "C", "history": [first, _edit("C")]}
    added = score("I", history=[_edit("I", "cat")])
    jury, others = bodies(log(sample("a", {QA: edited, "tone": "C", "review": added})))
    assert (jury["human"]["label"], jury["human"]["by"]) == ("pass", "ann")
    assert (others["human"]["label"], others["human"]["by"]) == ("fail", "cat")
    # what a person scored apart stands at every panel where there is no other jury
    both = {QA: first, "facts": panel("C", "C", "C"), "review": added}
    assert [one["human"]["by"] for one in bodies(log(sample("a", both)))] == ["cat", "cat"]
    added = score("I", history=[_edit("I", "cat", at="soon")])
    body = one(log(sample("a", {"own": "C", "review": added})))
    assert [juror["id"] for juror in body["jurors"]] == ["own"]
    # "soon" is no time
    assert body["human"] == {"label": "fail", "by": "cat", "note": "second look"}
    assert body["decision"] == "pass"


def test_a_panel_that_was_edited_keeps_its_votes() -> None:
    first = panel("I", "I", "I", "C")
    edited = {**first, "value": "C", "metadata": {}, "history": [first, _edit("C")]}
    body = one(log(sample("a", {QA: edited}), scorers=[grading("v/a", "v/b", "v/c")]))
    assert [juror["pass"] for juror in body["jurors"]] == [False, False, True]
    assert (body["decision"], body["human"]["label"]) == ("fail", "pass")


def test_epochs_are_verdicts_with_ids_of_their_own() -> None:
    epochs = [sample("a", {"x": "C"}, epoch=1), sample("a", {"x": "I"}, epoch=2)]
    spec = {"config": {"epochs": 2}}
    found = [(body["id"], body["case"]["test"], body["case"]["epoch"])
             for body in bodies(log(*epochs, spec=spec))]  # fmt: skip
    assert found == [("a/epoch 1", "a", 1), ("a/epoch 2", "a", 2)]
    assert [body["id"] for body in bodies(log(*[sample("a", {"x": "C"})] * 3))] == [
        "a",
        "a#2",
        "a#3",
    ]


def test_names_may_be_numbers_empty_or_long() -> None:
    names = [7, "", None, True, [1], "n" * 900, "n" * 900]
    found = bodies(log(*(sample(name, {"s" * 900: "C"}) for name in names)))
    assert [body["case"]["test"] for body in found[:5]] == ["7", *["sample"] * 4]
    assert len({body["id"] for body in found}) == len(names)


def test_a_sample_has_its_invalidation_its_choices_and_its_model() -> None:
    report = opened(log(sample("a", {"x": "C"}, invalidation={"author": "ann"})))
    (body,) = report.verdicts()
    assert body["case"]["tags"] == ["invalidated"]
    assert report.notes == ['a sample that the log declares invalid has the tag "invalidated" (1x)']
    asked = one(log(sample("a", {"x": "C"}, choices=["one", "two", 3])))["input"]
    assert asked == "asked\n\n- one\n- two"
    assert "generator" not in one(log(sample("a", {"x": "C"}), spec={"model": "none/none"}))


SYSTEM = {"role": "system", "content": "be brief"}


@pytest.mark.parametrize(
    ("given", "key", "shown"),
    [
        ("plain", "input", "plain"),
        ([{"role": "user", "content": "alone"}], "input", "alone"),
        ([SYSTEM, {"role": "user", "content": "why?"}], "input", "system: be brief\n\nuser: why?"),
        (
            [{"role": "user", "content": [
                {"type": "text", "text": "look"}, {"type": "image", "image": "data:image/png,AAAA"},
                {"type": "reasoning", "reasoning": "hm"}, "bare", 3,
            ]}],
            "input", "look\n[image]\nbare",
        ),
        ([], "input", None), (None, "input", None), (3, "input", None), ([3], "input", None),
        ([{"content": 4}], "input", "None: "),
        ("t", "target", "t"), (["t"], "target", "t"), (["t", "u"], "target", ["t", "u"]),
        ("", "target", None), ([], "target", None), (3, "target", None),
        ({"completion": "c"}, "output", "c"),
        ({"choices": [{"message": {"content": "m"}}]}, "output", "m"),
        ({"completion": "", "choices": [{"message": {"content": [{"type": "text", "text": "p"}]}}]},
         "output", "p"),
        ({"completion": "", "choices": []}, "output", None),
        ({"choices": [3]}, "output", None), ("no object", "output", None),
    ],
)  # fmt: skip
def test_input_target_and_output_in_words(given: Any, key: str, shown: Any) -> None:
    body = one(log(sample("a", {"x": "C"}, **{key: given})))
    assert body.get("reference" if key == "target" else key) == shown


def test_texts_that_stand_aside_are_put_back() -> None:
    events = scoring(QA, call("v/a", "attachment://r"), call("v/b", "attachment://gone"))
    document = log(
        sample(
            "a",
            {QA: panel("C", "C", "C", explanation="attachment://e")},
            input=[{"role": "user", "content": "attachment://i"}],
            output={"completion": "attachment://o"},
            target="attachment://t",
            events=events,
            attachments={"i": "I", "o": "O", "r": "R", "t": "T", "n": 3, "attachment": "x"},
        ),
        scorers=[grading("v/a", "v/b")],
    )
    body = one(document)
    assert (body["input"], body["output"], body["reference"]) == ("I", "O", "T")
    assert [juror["reason"] for juror in body["jurors"]] == ["R", "attachment://gone"]


def test_what_is_configured_never_leaves_the_file() -> None:
    secret = "sk-sentinel"
    hidden = {"api_key": secret, "headers": {"authorization": secret}}
    options = {"model": {"model": "v/a", "base_url": secret, "model_args": hidden}, **hidden}
    spec = {"model_args": hidden, "model_generate_config": hidden, "task_args": hidden,
            "config": {"epochs": 1, **hidden}, "metadata": hidden, "model_base_url": secret,
            "tags": [secret],
            "model_roles": {"grader": {"model": "v/a", "args": hidden}}}  # fmt: skip
    events = scoring(QA, call("v/a", "why", config=hidden, call={"request": hidden}))
    each = sample(
        "a",
        {QA: score("C", metadata={"grading": hidden, "panel": 3}, answer=secret)},
        events=events,
        **dict.fromkeys(("metadata", "store", "sandbox", "setup", "files"), hidden),
    )
    scorers = [{"name": QA, "options": options, "metadata": hidden}]
    document = log(each, scorers=scorers, spec=spec, plan=hidden, metadata=hidden, stats=hidden)
    assert secret in json.dumps(document)
    report = opened(document)
    assert secret not in json.dumps([report.header, *report.verdicts(), *report.notes])


def test_lone_surrogates_and_infinities_are_counted_once_however_long_the_log() -> None:
    # a sample longer than the window's first look, so that it is looked at more than once
    long = sample("b", {"x": float("inf")}, input="é" * 300_000, metadata={"n": float("nan")})
    report = opened(log(sample("a", {"x": float("nan")}, target="half \ud800 of one"), long))
    first, second = report.verdicts()
    assert first["reference"] == "half � of one"
    assert first["decision"] == second["decision"] == "error"
    assert report.notes == [
        "replaced 3 numbers NaN or Infinity by null",
        "replaced 1 lone surrogate by U+FFFD",
    ]
