"""What the targets read: the report's word, else the ballots' own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from reviewdesk.domain.expect import Origin, Reading
from reviewdesk.domain.jurygate import SPANS, Jury, Target
from tests.domain.bodies import bodies, body, juror, panel, read

STATED, OURS = Origin.STATED, Origin.RECOMPUTED


def reading(value: dict[str, Any], target: Target, generator: str | None = None) -> Reading:
    return Jury(read(value, generator, threshold=0.7, quorum=0.5)).read(target)


def told(value: dict[str, Any], target: Target, generator: str | None = None) -> tuple[Any, Any]:
    found = reading(value, target, generator)
    return found.value, found.origin


def test_what_the_report_states_stands() -> None:
    said = panel(
        0.9,
        0.1,
        agreement={"value": 0.91, "metric": "krippendorff_alpha"},
        band="high",
        escalate_for_review=False,
        same_family=True,
        bias_warning="the producer's own words",
    )
    assert reading(said, Target.AGREEMENT) == Reading(0.91, STATED, "krippendorff_alpha")
    assert told(said, Target.CONFIDENCE) == ("high", STATED)
    assert told(said, Target.ESCALATE) == (False, STATED)
    assert told(said, Target.SAME_FAMILY) == (True, STATED)
    assert told(said, Target.BIAS_WARNING) == ("the producer's own words", STATED)


def test_what_it_leaves_unsaid_comes_from_the_ballots() -> None:
    # Mean 0.5, s² = 0.4² + 0.4² = 0.32, r_WG = 1 - 0.32 * 12 = -2.84: low, so it escalates.
    split = panel(0.9, 0.1)
    found = reading(split, Target.AGREEMENT)
    assert (found.origin, found.metric) == (OURS, "r_wg")
    assert found.value == pytest.approx(-2.84)
    assert told(split, Target.CONFIDENCE) == ("low", OURS)
    assert told(split, Target.ESCALATE) == (True, OURS)
    # All alike: s² = 0, r_WG = 1.
    alike = panel(0.9, 0.9, 0.9)
    assert reading(alike, Target.AGREEMENT).value == 1
    assert told(alike, Target.CONFIDENCE) == ("high", OURS)
    assert told(alike, Target.ESCALATE) == (False, OURS)
    assert told(alike, Target.BIAS_WARNING) == (None, OURS)


def test_votes_speak_where_there_are_no_scores() -> None:
    # One of three pairs votes alike: 2/3 - 1.
    votes = body(*(juror(f"j{n}", **{"pass": n > 0}) for n in range(3)))
    found = reading(votes, Target.AGREEMENT)
    assert found.metric == "pairwise"
    assert found.value == pytest.approx(-1 / 3)


@pytest.mark.parametrize(
    "alone",
    [
        panel(0.9),
        panel(0.9, None, None),
        panel(None, None),
        panel(0.9, escalate_for_review=False),
        panel(0.9, escalate_for_review=False, agreement={"value": None, "metric": "r_wg"}),
    ],
)
def test_a_jury_of_one_reads_low_and_true(alone: dict[str, Any]) -> None:
    found = reading(alone, Target.AGREEMENT)
    assert found.value is None
    assert "fewer than two jurors" in found.skip
    band, escalate = reading(alone, Target.CONFIDENCE), reading(alone, Target.ESCALATE)
    assert (band.value, band.origin) == ("low", OURS)
    assert (escalate.value, escalate.origin) == (True, OURS)
    assert band.note.endswith("reads low")
    assert escalate.note.endswith("reads true")
    assert reading(alone, Target.BIAS_WARNING) == Reading(None, OURS)


def test_a_lone_jurys_own_band_stands() -> None:
    alone = panel(0.9, band="medium", escalate_for_review=True)
    assert told(alone, Target.CONFIDENCE) == ("medium", STATED)
    assert told(alone, Target.ESCALATE) == (True, STATED)


def test_an_agreement_that_the_report_calls_undefined_is_skipped() -> None:
    said = panel(0.9, 0.9, agreement={"value": None, "metric": "krippendorff_alpha"})
    found = reading(said, Target.AGREEMENT)
    assert (found.value, found.origin, found.metric) == (None, STATED, "krippendorff_alpha")
    assert found.skip == "the report states it as undefined"
    # Two ballots are there, so that band and escalation are what they give.
    assert told(said, Target.CONFIDENCE) == ("high", OURS)
    assert told(said, Target.ESCALATE) == (False, OURS)


def test_a_stated_agreement_without_ballots_gives_the_band() -> None:
    low = body(agreement={"value": 0.5, "metric": "r_wg"})
    high = body(agreement={"value": 0.8, "metric": "r_wg"})
    assert told(low, Target.CONFIDENCE) == ("low", OURS)
    assert told(low, Target.ESCALATE) == (True, OURS)
    assert told(high, Target.CONFIDENCE) == ("high", OURS)
    assert told(high, Target.ESCALATE) == (False, OURS)


def test_families() -> None:
    kin = body(juror("a", 0.9, model="claude-opus-4-7"), juror("b", 0.1, model="gpt-4o"))
    assert told(kin, Target.SAME_FAMILY, "claude-sonnet-4-5") == (True, OURS)
    assert told(kin, Target.SAME_FAMILY, "mistral-large") == (False, OURS)
    unknown = reading(kin, Target.SAME_FAMILY, None)
    assert (unknown.value, unknown.origin) == (False, OURS)
    assert unknown.note
    # Low agreement and kin: the folded warning names the juror.
    warning = reading(kin, Target.BIAS_WARNING, "claude-sonnet-4-5")
    assert warning.origin is OURS
    assert isinstance(warning.value, str)
    assert "a" in warning.value.split(", and ")[1].split()


@given(bodies())
def test_every_reading_is_one_that_the_target_can_have(value: dict[str, Any]) -> None:
    jury = Jury(read(value))
    for target in Target:
        found = jury.read(target)
        assert SPANS[target].holds(found.value)
        assert found.origin is not None
        assert bool(found.skip) == (target is Target.AGREEMENT and found.value is None)


@pytest.mark.parametrize(
    ("target", "can", "cannot"),
    [
        (Target.AGREEMENT, [0, 1, 0.7, -1, None], [True, "0.7", []]),
        (Target.CONFIDENCE, ["high", "medium", "low"], ["Low", "", None, 1, True]),
        (Target.ESCALATE, [True, False], [0, 1, "no", None]),
        (Target.SAME_FAMILY, [True, False], [None, "false", 1.0]),
        (Target.BIAS_WARNING, [None, "", "any"], [False, 0, {}]),
    ],
)
def test_what_a_target_can_be(target: Target, can: list[Any], cannot: list[Any]) -> None:
    assert [value for value in can if not SPANS[target].holds(value)] == []
    assert [value for value in cannot if SPANS[target].holds(value)] == []
