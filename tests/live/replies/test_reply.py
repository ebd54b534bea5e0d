"""Replies of jurors: one verdict that stands as it is written, or a sentence for a person."""

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.values import LabelRules
from reviewdesk.domain.verdict import Policy, Status, as_juror, read_ballot
from reviewdesk.live.replies.ballots import (
    ANSWER_KEYS,
    MAX_BYTES,
    MAX_STARTS,
    ParsedReply,
    UnreadableReply,
    parse,
    spans,
)

NONCE = "0a1b2c3d"
N = f'"nonce": "{NONCE}"'
GOOD = f'{{{N}, "pass": true, "score": 0.8, "confidence": 0.9, "reason": "Brief."}}'
PLAIN = ParsedReply(score=0.8, passed=True, confidence=0.9, reason="Brief.")
ABSTAINED = ParsedReply(withheld=True)

READ: dict[str, ParsedReply] = {
    # Where the verdict stands.
    GOOD: PLAIN,
    f"\ufeff{GOOD}": PLAIN,
    f"```json\n{GOOD}\n```": PLAIN,
    f"```\n{GOOD}\n```\nThat is all.": PLAIN,
    f"An [aside] and {{braces}} in prose. {GOOD}": PLAIN,
    f"{{}} {GOOD}": PLAIN,
    f'{{"thought": "It is brief."}}\n{GOOD}': PLAIN,
    f'{{"usage": {{"score": 1}}}} {GOOD}': PLAIN,
    f"[1] {GOOD} [2]": PLAIN,
    # Thoughts.
    f"<think>Is it brief? {{maybe}}</think>{GOOD}": PLAIN,
    f'<think>"{{</think>\n{GOOD}': PLAIN,
    f"\ufeff\n<think>a</think> <think>b {GOOD}</think> {GOOD}": PLAIN,
    f"It is brief.</think>{GOOD}": PLAIN,
    f'{{{N}, "pass": true, "reason": "</think>{{"}}': ParsedReply(passed=True, reason="</think>{"),
    f'{{{N}, "pass": true, "reason": "<think>a</think>"}}': ParsedReply(
        passed=True, reason="<think>a</think>"
    ),
    # Strings hide what they hold.
    f'{{{N}, "pass": false, "reason": "says {{\\"score\\": 1}}"}}': ParsedReply(
        passed=False, reason='says {"score": 1}'
    ),
    f'{{{N}, "pass": false, "reason": "a \\\\"}}': ParsedReply(passed=False, reason="a \\"),
    # Votes, scores and words.
    f'{{{N}, "score": 0}}': ParsedReply(score=0.0),
    f'{{{N}, "score": 1}}': ParsedReply(score=1.0),
    f'{{{N}, "score": 8e-1}}': ParsedReply(score=0.8),
    f'{{{N}, "pass": null}}': ABSTAINED,
    f'{{{N}, "pass": null, "score": 0.8}}': ParsedReply(score=0.8, withheld=True),
    f'{{{N}, "verdict": "PASS"}}': ParsedReply(passed=True, label="PASS"),
    f'{{{N}, "verdict": " fail "}}': ParsedReply(passed=False, label="fail"),
    f'{{{N}, "kind": "KEEP", "confidence": 0}}': ParsedReply(
        passed=True, label="KEEP", confidence=0.0
    ),
    f'{{{N}, "kind": "Reject"}}': ParsedReply(passed=False, label="Reject"),
    f'{{{N}, "label": "SPLIT"}}': ParsedReply(label="SPLIT"),
    f'{{{N}, "label": "SPLIT", "score": 0.4}}': ParsedReply(score=0.4, label="SPLIT"),
    f'{{{N}, "verdict": "PASS", "label": "pass"}}': ParsedReply(passed=True, label="PASS"),
    f'{{{N}, "verdict": "yes", "pass": true}}': ParsedReply(passed=True, label="yes"),
    f'{{{N}, "label": "MERGE", "pass": true}}': ParsedReply(passed=True, label="MERGE"),
    f'{{{N}, "verdict": "ABSTAIN"}}': ParsedReply(label="ABSTAIN", withheld=True),
    f'{{{N}, "verdict": "Unsure", "score": 0.9}}': ParsedReply(
        score=0.9, label="Unsure", withheld=True
    ),
    f'{{{N}, "verdict": "abstain", "pass": null}}': ParsedReply(label="abstain", withheld=True),
    # Confidences and reasons.
    f'{{{N}, "pass": true, "confidence": 85}}': ParsedReply(
        passed=True, notes=("confidence 85 is not from 0 to 1 and is left out",)
    ),
    f'{{{N}, "pass": true, "confidence": -0.1}}': ParsedReply(
        passed=True, notes=("confidence -0.1 is not from 0 to 1 and is left out",)
    ),
    f'{{{N}, "pass": true, "rationale": "R", "reason": "A"}}': ParsedReply(
        passed=True, reason="A\n\nR"
    ),
    f'{{{N}, "pass": true, "reasoning": "same", "reason": "same"}}': ParsedReply(
        passed=True, reason="same"
    ),
    f'{{{N}, "pass": true, "reason": "a\\ud800b"}}': ParsedReply(
        passed=True, reason="a�b", notes=("1 broken characters of the reason are replaced",)
    ),
    f'{{{N}, "label": "\udc80"}}': ParsedReply(label="�"),
    f'{{{N}, "pass": true, "extra": {{"a": [1, {{"b": 2}}]}}}}': ParsedReply(passed=True),
}

UNREAD: dict[str, str] = {
    "": "empty",
    " \n\ufeff\t": "empty",
    f"<think>{GOOD}</think> ": "empty",
    "I would pass it.": "no_object",
    "```json\n```": "no_object",
    "[0.8, true]": "no_object",
    "true": "no_object",
    "NaN": "no_object",
    # Broken off.
    "{": "truncated",
    f'{{{N}, "score": 0.': "truncated",
    f'{{{N}, "score": 0.8, "reason": "it is': "truncated",
    f'{{{N}, "score": 0.8, "reason": "it is \\': "truncated",
    f'{{{N}, "pass": true, "reason": "}}"': "truncated",
    f"{GOOD} and {{": "truncated",
    f"[{GOOD}": "truncated",
    f"<think>{GOOD}": "truncated",
    f"<think>a</think><think>{GOOD}": "truncated",
    # Not JSON, and never repaired.
    f'{{{N}, "score": 0.}}': "not_json",
    f'{{{N}, "score": .8}}': "not_json",
    f'{{{N}, "score": +1}}': "not_json",
    f'{{{N}, "score": 01}}': "not_json",
    f'{{{N}, "score": 4/5}}': "not_json",
    f'{{{N}, "score": 0.8,}}': "not_json",
    f'{{{N}, "score": NaN}}': "not_json",
    f'{{{N}, "score": -Infinity}}': "not_json",
    f'{{{N}, "confidence": Infinity, "score": 1}}': "not_json",
    f'{{{N}, "pass": True}}': "not_json",
    f'{{{N}, "pass": true, "reason": "a\nb"}}': "not_json",
    "{'score': 1}": "not_json",
    f"{{score: 1}} {GOOD}": "not_json",
    f'{{{N}, "score": 1 // brief\n}}': "not_json",
    '{"score":' + "[" * 20_000 + "]" * 20_000 + "}": "not_json",
    f'{{{N}, "score": 1, "score": 0}}': "doubled_key",
    f'{{{N}, {N}, "score": 1}}': "doubled_key",
    # No verdict.
    f"{{{N}}}": "not_a_verdict",
    "{}": "not_a_verdict",
    f'{{"result": {GOOD}}}': "not_a_verdict",
    f"[{GOOD}]": "not_a_verdict",
    f"[ \n{GOOD}, {GOOD}]": "not_a_verdict",
    f'{{{N}, "score": null}}': "not_a_verdict",
    f'{{{N}, "score": "0.8"}}': "not_a_verdict",
    f'{{{N}, "score": "85%"}}': "not_a_verdict",
    f'{{{N}, "score": true}}': "not_a_verdict",
    f'{{{N}, "score": [0.8]}}': "not_a_verdict",
    f'{{{N}, "pass": "true"}}': "not_a_verdict",
    f'{{{N}, "pass": 1}}': "not_a_verdict",
    f'{{{N}, "verdict": true}}': "not_a_verdict",
    f'{{{N}, "verdict": ""}}': "not_a_verdict",
    f'{{{N}, "label": "{"x" * 201}"}}': "not_a_verdict",
    f'{{{N}, "pass": true, "confidence": "high"}}': "not_a_verdict",
    f'{{{N}, "pass": true, "reason": ["a"]}}': "not_a_verdict",
    f'{{{N}, "Score": 0.8}}': "not_a_verdict",
    # Two at once.
    f"{GOOD} {GOOD}": "two_objects",
    f'It holds {{"score": 1, "pass": true}}, so: {GOOD}': "two_objects",
    f'{{"PASS": true}} {GOOD}': "two_objects",
    f'{{{N}, "pass": true, "verdict": "FAIL"}}': "contradiction",
    f'{{{N}, "pass": null, "verdict": "PASS"}}': "contradiction",
    f'{{{N}, "pass": true, "verdict": "ABSTAIN"}}': "contradiction",
    f'{{{N}, "verdict": "PASS", "kind": "SPLIT"}}': "contradiction",
    # Numbers out of their range.
    f'{{{N}, "score": 85}}': "out_of_range",
    f'{{{N}, "score": 1.0001}}': "out_of_range",
    f'{{{N}, "score": -0.1}}': "out_of_range",
    f'{{{N}, "score": 1e999}}': "out_of_range",
    f'{{{N}, "score": 1{"0" * 5000}}}': "out_of_range",
    f'{{{N}, "pass": true, "confidence": -1e999}}': "out_of_range",
    # The nonce.
    '{"pass": true}': "nonce",
    '{"nonce": "ffff", "pass": true}': "nonce",
    '{"nonce": null, "pass": true}': "nonce",
    f'{{"nonce": "{NONCE} ", "pass": true}}': "nonce",
    f'{NONCE} {{"Nonce": "{NONCE}", "score": 1}}': "nonce",
    # Bounds.
    "x" * (MAX_BYTES + 1): "too_long",
    "é" * (MAX_BYTES // 2 + 1): "too_long",
    "{} " * (MAX_STARTS + 1): "too_many",
}


def _name(text: str) -> str:
    return text.replace("\ufeff", "BOM").encode("ascii", "backslashreplace").decode()[:60] or "-"


@pytest.mark.parametrize(("text", "expected"), READ.items(), ids=map(_name, READ))
def test_a_verdict_is_read_as_it_stands(text: str, expected: ParsedReply) -> None:
    assert parse(text, NONCE) == expected


@pytest.mark.parametrize(("text", "kind"), UNREAD.items(), ids=map(_name, UNREAD))
def test_everything_else_is_left_to_a_person(text: str, kind: str) -> None:
    found = parse(text, NONCE)
    assert isinstance(found, UnreadableReply)
    assert found.kind == kind
    assert found.message
    assert "\n" not in found.message
    assert len(found.message) < 150


def test_the_last_thing_within_the_bounds_is_read() -> None:
    assert parse("{} " * (MAX_STARTS - 1) + GOOD, NONCE) == PLAIN
    assert parse(" " * (MAX_BYTES - len(GOOD)) + GOOD, NONCE) == PLAIN
    assert parse(f'{{{N}, "label": "{"x" * 200}"}}', NONCE) == ParsedReply(label="x" * 200)


@pytest.mark.parametrize(
    ("text", "status", "vote"),
    [
        (GOOD, Status.OK, True),
        (f'{{{N}, "score": 0.6}}', Status.OK, False),  # 0.6 is under the threshold of 0.7
        (f'{{{N}, "score": 0.1, "pass": true}}', Status.OK, True),  # who says so passes
        (f'{{{N}, "score": 0.8, "pass": null}}', Status.ABSTAINED, None),
        (f'{{{N}, "pass": null}}', Status.ABSTAINED, None),
        (f'{{{N}, "verdict": "ABSTAIN"}}', Status.ABSTAINED, None),
        (f'{{{N}, "label": "UNCLEAR"}}', Status.OK, None),
        (f'{{{N}, "label": "UNCLEAR", "pass": null}}', Status.ABSTAINED, None),
        (f'{{{N}, "verdict": "Unsure", "score": 0.9}}', Status.ABSTAINED, None),
    ],
)
def test_a_ballot_is_made_of_an_answer(text: str, status: Status, vote: bool | None) -> None:
    found = parse(text, NONCE)
    assert isinstance(found, ParsedReply)
    body: Any = {"id": "j", **found.ballot}
    cast = read_ballot(0, body, Policy(threshold=0.7))
    assert (cast.status, cast.vote) == (status, vote)
    counts = cast.status is Status.OK
    assert (cast.score, cast.raw_score) == ((found.score, None) if counts else (None, found.score))
    assert (cast.label, cast.reason) == (found.label, found.reason)


def test_null_for_the_vote_is_an_abstention_that_reads_back_the_same() -> None:
    found = parse(f'{{"reason": "Cannot say.", "pass": null, "score": 0.9, {N}}}', NONCE)
    assert isinstance(found, ParsedReply)
    assert found.ballot == {
        "status": "abstained", "pass": None, "score": None, "raw_score": 0.9,
        "reason": "Cannot say.",
    }  # fmt: skip
    body: Any = {"id": "j", **found.ballot}
    cast = read_ballot(0, body, Policy(threshold=0.7))
    assert as_juror(cast) | {"raw_score": 0.9, "score": None} == body


STRICT = {
    # What keeps to the schema, with the vote that it casts.
    f'{{"reason": "r", "pass": true, "score": 0.8, "confidence": 1, {N}}}': True,
    f'{{"reason": "r", "pass": null, "score": null, "confidence": 0.1, {N}}}': None,
    f'{{"reason": "r", "pass": false, "score": null, "confidence": 0, {N}}}': False,
    f'{{"pass": false, {N}}}': False,
    f'{{"score": 0.8, {N}}}': "by its score",
}
LOOSE = (
    # Read where no schema was sent, and refused where one was.
    f'{{"verdict": "PASS", "score": 0.8, "confidence": 1, "reason": "r", {N}}}',
    f'{{"rationale": "r", "pass": true, "score": 0.8, "confidence": 1, {N}}}',
    f'{{"reason": "r", "pass": true, "score": 0.8, "confidence": 1, "more": 1, {N}}}',
    f'{{"reason": null, "pass": true, "score": 0.8, "confidence": 1, {N}}}',
)


@pytest.mark.parametrize(("text", "vote"), STRICT.items())
def test_a_reply_that_keeps_to_the_schema_is_read_strictly(text: str, vote: object) -> None:
    found = parse(text, NONCE, strict=True)
    assert isinstance(found, ParsedReply)
    stated = None if vote == "by its score" else vote
    assert (found.passed, found.withheld) == (stated, vote is None)


@pytest.mark.parametrize("text", LOOSE)
def test_other_words_are_read_only_where_no_schema_was_sent(text: str) -> None:
    assert isinstance(parse(text, NONCE), ParsedReply)
    found = parse(text, NONCE, strict=True)
    assert isinstance(found, UnreadableReply)
    assert found.kind == "not_a_verdict"


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("label", "status"), [('"SPLIT"', Status.OK), ('"PASS"', Status.OK), ("null", Status.ABSTAINED)]
)
def test_a_panel_of_labels_is_answered_by_a_word(label: str, status: Status, strict: bool) -> None:
    text = f'{{"reason": "r", "label": {label}, "score": null, "confidence": 1, {N}}}'
    found = parse(text, NONCE, strict=strict, labels=LabelRules())
    assert isinstance(found, ParsedReply)
    assert found.ballot["status"] == status
    assert found.label == json.loads(label)


UNIT = st.none() | st.floats(0, 1) | st.integers(0, 1)
VERDICTS = st.fixed_dictionaries(
    {"nonce": st.just(NONCE), "pass": st.none() | st.booleans()},
    optional={"score": UNIT, "confidence": UNIT, "reason": st.text(), "more": st.text()},
)
PROSE = st.text(st.characters(exclude_characters="{}["), max_size=40).filter(
    lambda text: "think>" not in text
)


@given(VERDICTS, PROSE, PROSE, st.booleans())
def test_a_verdict_is_found_in_prose(said: Any, before: str, after: str, ascii_only: bool) -> None:
    found = parse(before + json.dumps(said, ensure_ascii=ascii_only) + after, NONCE)
    assert isinstance(found, ParsedReply)
    assert (found.score, found.passed) == (said.get("score"), said["pass"])
    assert found.confidence == said.get("confidence")
    assert found.reason == (said.get("reason") or None)


@given(VERDICTS, PROSE, PROSE)
def test_no_truncation_changes_an_answer(said: Any, before: str, after: str) -> None:
    text = before + json.dumps(said) + after
    whole = parse(text, NONCE)
    assert isinstance(whole, ParsedReply)
    cuts = [parse(text[:end], NONCE) for end in range(len(text))]
    assert {cut for cut in cuts if isinstance(cut, ParsedReply)} <= {whole}


PIECES = st.sampled_from(
    [*'{}[]",:\\', "<think>", "</think>", '"score":', '"pass":true', "0.", "NaN", N, "\ud800", GOOD]
)


@given(st.text() | st.lists(PIECES).map("".join))
def test_nothing_is_raised_whatever_the_text(text: str) -> None:
    found = parse(text, NONCE)
    if isinstance(found, ParsedReply):
        assert found.score is None or 0 <= found.score <= 1
        assert found.confidence is None or math.isfinite(found.confidence)
        assert found.ballot.keys() & ANSWER_KEYS


@given(st.text(alphabet='{}[]"\\ a', max_size=80))
def test_no_character_is_scanned_twice(text: str) -> None:
    """Spans go from left to right without overlap, so that scan and decoding are linear."""
    scanned = 0
    with suppress(ValueError):
        for written in spans(text):
            scanned += len(written)
    assert scanned <= len(text)


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "}",
        "[",
        "[ ",
        '{"',
        '{"\\"',
        "\\",
        '"',
        "<think>",
        "</think>",
        "<think></think>",
        "{{}",
    ],
)
def test_hostile_repetition_ends(piece: str) -> None:
    assert isinstance(parse(piece * (MAX_BYTES // len(piece)), NONCE), UnreadableReply)
