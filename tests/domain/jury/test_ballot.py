from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.jury.ballot import as_juror, ballot
from reviewdesk.domain.verdict import Status
from reviewdesk.errors import UsageError
from tests.domain.bodies import bodies, body, read


def test_a_ballot_says_what_it_was_given() -> None:
    cast = ballot(
        "claude", score=0.9, passed=False, label="KEEP", confidence=0.8, weight=2,
        model="claude-opus-4-7", vendor="anthropic", reason="names the tag",
    )  # fmt: skip
    assert (cast.id, cast.score, cast.vote, cast.label) == ("claude", 0.9, False, "KEEP")
    assert (cast.confidence, cast.weight, cast.model) == (0.8, 2.0, "claude-opus-4-7")
    assert (cast.vendor, cast.reason, cast.status) == ("anthropic", "names the tag", Status.OK)


def test_how_a_call_may_end() -> None:
    assert ballot("a").status is Status.ABSTAINED
    assert ballot("a", error="503").status is Status.ERROR
    assert ballot("a", error="slow", status="timeout").status is Status.TIMEOUT
    assert ballot("a", status=Status.EMPTY).status is Status.EMPTY
    assert ballot("a", error="503").error == "503"
    assert ballot("a", score=0.5, withheld=True).withheld


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"score": 1.2}, "ballot of 'a': score is 1.2. Give a number from 0 to 1"),
        ({"score": float("nan")}, "ballot of 'a': score is nan. Give a number from 0 to 1"),
        ({"score": True}, "ballot of 'a': score is True. Give a number from 0 to 1"),
        ({"score": "0.9"}, "ballot of 'a': score is '0.9'. Give a number from 0 to 1"),
        ({"confidence": -0.1}, "ballot of 'a': confidence is -0.1. Give a number from 0 to 1"),
        ({"weight": 0}, "ballot of 'a': weight is 0. Give a finite number above 0"),
        ({"weight": float("inf")}, "ballot of 'a': weight is inf. Give a finite number above 0"),
        ({"passed": 1}, "ballot of 'a': passed is 1. Give True or False, or withhold it"),
        ({"passed": True, "withheld": True},
         "ballot of 'a': passed is True. Give True or False, or withhold it"),
        ({"label": 3}, "ballot of 'a': label is 3. Give a word"),
        ({"status": "gone"},
         ("ballot of 'a': status is 'gone'. Known: ok, error, timeout, parse_fail, empty, "
          "abstained, missing_key, unknown, not_asked")),
        ({"score": 0.5, "error": "503"},
         "ballot of 'a': it failed and has a score or a vote. Leave one of them out"),
        ({"passed": True, "status": "timeout"},
         "ballot of 'a': it failed and has a score or a vote. Leave one of them out"),
    ],
)  # fmt: skip
def test_what_is_refused(said: Any, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        ballot("a", **said)
    assert str(caught.value) == text


def test_a_juror_has_a_name() -> None:
    with pytest.raises(UsageError, match="a juror is named ''"):
        ballot("")


@given(bodies(), st.sampled_from([None, 0.5]))
def test_a_ballot_survives_being_written_and_read(value: Any, threshold: float | None) -> None:
    first = read(value, threshold=threshold)
    again = read(body(*map(as_juror, first.ballots)), threshold=first.policy.threshold)
    # Where a report left a juror out of its count, a panel decides that anew.
    assert again.ballots == first.ballots
