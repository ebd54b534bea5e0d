"""What an Inspect log says beside its scores: texts, epochs, edits by people."""

import json
from typing import Any

import pytest

from tests.reports.inspectkit import (
    bodies,
    call,
    grading,
    log,
    one,
    opened,
    panel,
    sample,
    score,
    scoring,
)

QA = "model_graded_qa"


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
        "label": "pass",
        "by": "bob",
        "at": "2026-01-03T03:04:05Z",
        "note": "second look",
    }
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


def test_an_editors_explanation_and_reason_are_both_kept() -> None:
    body, _ = _human(_edit("C", explanation="it follows the rule"))
    assert body["human"]["note"] == "it follows the rule\nsecond look"
    assert "meta" not in body


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


def test_an_edit_stands_at_the_jury_whose_score_it_changed() -> None:
    first = panel("I", "I", "I")
    edited = {**first, "value": "C", "history": [first, _edit("C")]}
    added = score("I", history=[_edit("I", "cat")])
    jury, others = bodies(log(sample("a", {QA: edited, "tone": "C", "review": added})))
    assert (jury["human"]["label"], jury["human"]["by"]) == ("pass", "ann")
    assert (others["human"]["label"], others["human"]["by"]) == ("fail", "cat")
    # what a person scored apart stands at every panel where there is no other jury
    both = {QA: first, "facts": panel("C", "C", "C"), "review": added}
    assert [one["human"]["by"] for one in bodies(log(sample("a", both)))] == ["cat", "cat"]


def test_an_edit_of_words_alone_is_no_label_and_one_without_a_source_is_nobodys() -> None:
    assert "human" not in _human(_edit("UNCHANGED", explanation="typo"))[0]
    assert "human" not in _human({"value": "C"})[0]
    body, _ = _human(_edit("C"), _edit("UNCHANGED", "bob"))
    assert (body["human"]["label"], body["human"]["by"]) == ("pass", "ann")


def test_a_score_that_a_person_added_is_no_ballot() -> None:
    added = score("I", history=[_edit("I", "cat", at="soon")])
    body = one(log(sample("a", {"own": "C", "review": added})))
    assert [juror["id"] for juror in body["jurors"]] == ["own"]
    # "soon" is no time
    assert body["human"] == {"label": "fail", "by": "cat", "note": "second look"}
    assert body["decision"] == "pass"


def test_of_several_edited_scores_the_last_edit_counts() -> None:
    late = score("I", history=[{"value": "C"}, _edit("I", "bob", "2026-02-01T00:00:00Z")])
    body, notes = _human(_edit("C"), late=late)
    assert body["human"]["by"] == "bob"
    assert "of several edited scores the one edited last is the human label (1x)" in notes


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


def test_a_sample_that_was_declared_invalid_is_tagged() -> None:
    report = opened(log(sample("a", {"x": "C"}, invalidation={"author": "ann"})))
    (body,) = report.verdicts()
    assert body["case"]["tags"] == ["invalidated"]
    assert report.notes == ['a sample that the log declares invalid has the tag "invalidated" (1x)']


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


def test_choices_follow_the_question() -> None:
    asked = one(log(sample("a", {"x": "C"}, choices=["one", "two", 3])))["input"]
    assert asked == "asked\n\n- one\n- two"


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


def test_a_model_that_is_none_made_nothing() -> None:
    assert "generator" not in one(log(sample("a", {"x": "C"}), spec={"model": "none/none"}))


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
        "replaced 2 numbers NaN or Infinity by null",
        "replaced 1 lone surrogate by U+FFFD",
    ]
