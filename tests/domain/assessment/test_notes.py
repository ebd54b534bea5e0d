from __future__ import annotations

from typing import Any

import pytest

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.history import remarks
from tests.domain.bodies import body, juror, panel, read

FAMILIES = ("claude-4", "gpt-4o", "gemini-2.5-pro", "mistral-large", "deepseek-v3")


def told(value: Any, **defaults: Any) -> tuple[str, ...]:
    verdict = read(value, **defaults)
    return remarks(verdict, assess(verdict))


def about(word: str, value: Any, **defaults: Any) -> tuple[str, ...]:
    """The remarks that begin with one word."""
    return tuple(text for text in told(value, **defaults) if text.startswith(word))


def diverse(*scores: float, **more: Any) -> Any:
    seats = (juror(f"j{i}", score, model=FAMILIES[i % 5]) for i, score in enumerate(scores))
    return body(*seats, **more)


def test_a_panel_with_nothing_to_tell() -> None:
    # Five jurors of five families, a split, under a quorum that needs no rounding.
    assert told(diverse(0.9, 0.8, 0.85, 0.95, 0.1), threshold=0.7, quorum=0.6) == ()


def test_quorum_rounding_is_named_where_it_decides() -> None:
    # 2 of 3 is 0.6667: rounded to two places it meets 0.67, as a bare fraction it does not.
    (text,) = about("quorum", panel(0.9, 0.8, 0.1), threshold=0.7, quorum=0.67)
    assert text == "quorum rounding: 2 of 3 against 0.67 is pass as written, fail to the letter"
    assert about("quorum", panel(0.9, 0.8, 0.1), threshold=0.7, quorum=0.5) == ()
    # 1 of 3 is .33 and needs .67 either way.
    assert about("quorum", panel(0.9, 0.1, 0.1), threshold=0.7, quorum=0.67) == ()


def test_a_missing_weight_is_told_where_weights_count() -> None:
    jurors = [juror("a", score=0.9, weight=2.0), juror("b", score=0.8), juror("c", score=0.1)]
    assert about("weight", body(jurors=jurors)) == ("weight 1 assumed for b, c",)
    assert about("weight", panel(0.9, 0.8, 0.1)) == ()
    unweighted = about("weight", panel(0.9, 0.8, 0.1), strategy="weighted_average")
    assert unweighted == ("weight 1 assumed for every juror",)
    # A juror that failed has no score to weigh.
    late = [juror("a", score=0.9, weight=2.0), juror("b", status="timeout")]
    assert about("weight", body(jurors=late)) == ()


def test_unanimity_is_told_twice() -> None:
    assert about("unanimous", panel(0.8, 0.8, 0.8), threshold=0.7) == (
        "unanimous: equal scores",
        "unanimous: equal votes",
    )
    assert about("unanimous", panel(0.8, 0.9), threshold=0.7) == ("unanimous: equal votes",)
    # .69 and .71 split, and no two scores are one.
    assert about("unanimous", panel(0.69, 0.71), threshold=0.7) == ()
    assert about("unanimous", panel(0.8), threshold=0.7) == ()


def test_what_is_too_small_to_trim() -> None:
    untrimmed = ("untrimmed: one or two scores have no ends",)
    assert about("untrimmed", panel(0.9, 0.2)) == untrimmed
    assert about("untrimmed", panel(0.9, None, None)) == untrimmed
    assert about("untrimmed", panel(0.9, 0.2, 0.3)) == about("untrimmed", panel(None)) == ()


def test_a_tie_at_the_cut_is_told() -> None:
    # A fifth of five drops one at each end: of the two .2 one goes, the lone .9 ties with nobody.
    (text,) = about("trimmed (tie)", panel(0.2, 0.2, 0.5, 0.6, 0.9))
    assert text == "trimmed (tie): j0 scored as much as a juror that was kept"
    assert about("trimmed (tie)", panel(0.1, 0.2, 0.5, 0.6, 0.9)) == ()
    # The report's own choice among equals is told as well.
    own = {"method": "quantile", "dropped_low": ["j1"], "dropped_high": ["j4"]}
    (text,) = about("trimmed (tie)", panel(0.2, 0.2, 0.5, 0.6, 0.9, trim=own))
    assert "j1" in text


@pytest.mark.parametrize(
    ("scores", "breakdown"),
    [
        # A fifth of 5, 7 and 10 drops 1, 1 and 2 at each end; of 2 none, and one juror is enough.
        ((0.5,) * 5, "breakdown: tolerates 1 of 5, breaks at 2"),
        ((0.5,) * 7, "breakdown: tolerates 1 of 7, breaks at 2"),
        ((0.5,) * 10, "breakdown: tolerates 2 of 10, breaks at 3"),
        ((0.5,) * 2, "breakdown: tolerates 0 of 2, breaks at 1"),
        # A juror that failed protects nothing.
        ((0.5, 0.5, 0.5, 0.5, None), "breakdown: tolerates 1 of 4, breaks at 2"),
    ],
)
def test_how_many_jurors_the_trim_tolerates(
    scores: tuple[float | None, ...], breakdown: str
) -> None:
    assert about("breakdown", panel(*scores), strategy="trimmed_mean") == (breakdown,)
    assert about("breakdown", panel(*scores), strategy="mean") == ()


def test_a_stated_trim_has_a_breakdown_under_any_rule() -> None:
    own = {"method": "quantile", "dropped_low": ["j0", "j1"], "dropped_high": ["j3", "j4"]}
    value = panel(0.1, 0.2, 0.5, 0.6, 0.9, trim=own)
    assert about("breakdown", value, strategy="mean") == (
        "breakdown of the stated trim: tolerates 2 of 5, breaks at 3",
    )


def test_a_bribe_has_a_price_only_where_every_ballot_has_one() -> None:
    costs = (0.003, 0.001, 0.002, 0.004, 0.005)
    seats = [juror(f"j{i}", 0.5, cost_usd=cost) for i, cost in enumerate(costs)]
    # One of five is tolerated, so two are needed: the two cheapest are .001 + .002.
    (text,) = about("bribe", body(jurors=seats), strategy="trimmed_mean")
    assert text == "bribe cost: 2 jurors, at least $0.003 at the ballots' prices"
    assert about("bribe", body(jurors=seats), strategy="quorum") == ()
    seats[0].pop("cost_usd")
    assert about("bribe", body(jurors=seats), strategy="trimmed_mean") == ()


def test_panels_that_are_small_or_of_few_families() -> None:
    assert about("panel", diverse(0.9, 0.8, 0.7)) == ("panel of 3: under five jurors",)
    seats = [juror(f"j{i}", 0.5, model=FAMILIES[i % 2]) for i in range(4)]
    seats.append(juror("j4", 0.5, model="house-model"))
    assert about("panel", body(jurors=seats)) == (
        "panel of 2 known model families, 1 of 5 jurors unknown: under three",
    )
    # gemma is of the gemini family: two models, one family.
    kin = [juror("a", 0.5, model="gemma-2"), juror("b", 0.5, model="gemini-2.5-pro")]
    assert "panel of 1 known model families" in about("panel", body(jurors=kin))[1]
    assert about("panel", body()) == ()


def test_kinship_by_the_extended_list_is_told_where_the_report_denies_it() -> None:
    value = body(juror("a", 0.5, model="qwen-max"), same_family=False)
    value["generator"] = {"model": "qwen-plus"}
    (text,) = about("same family", value)
    assert text.endswith(": a")
    # Among the four families it is a mismatch, and no remark.
    value = body(juror("a", 0.5, model="claude-4"), same_family=False)
    value["generator"] = {"model": "claude-3"}
    assert about("same family", value) == ()
    assert len(assess(read(value)).mismatches) == 1


def test_a_panel_committed_after_its_first_ballot_is_told() -> None:
    late = {"committed_at": "2025-09-18T07:40:05Z"}
    # 09:40:04 at +02:00 is one second before.
    value = body(juror("a", 0.5, at="2025-09-18T09:40:04+02:00"), provenance=late)
    assert about("the panel was committed", value)
    early = {"committed_at": "2025-09-18T07:40:03Z"}
    assert not about("the panel was committed", value | {"provenance": early})
    assert not about("the panel was committed", value | {"provenance": {"committed_at": "?"}})
