from __future__ import annotations

import math
from fractions import Fraction

import pytest
from msgspec.structs import replace

from reviewdesk.domain.labels.rows import LabelledRow, RunFigures
from reviewdesk.domain.labels.sampling import (
    LabelledVerdict,
    Stratum,
    audit,
    strata,
    upper_bound,
    weigh,
)
from reviewdesk.domain.labels.weighed_rows import make_rows
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.verdict import Decision

FLAGGED_PASS, FLAGGED_FAIL, REST_PASS, REST_FAIL, REST_NONE = 0, 1, 3, 4, 5


def rows(stratum: int, *truths: str | None) -> list[LabelledVerdict]:
    """Labels by rank; ``None`` is a verdict without one."""
    return [
        LabelledVerdict(stratum, rank, Truth(truth))
        for rank, truth in enumerate(truths)
        if truth is not None
    ]


def one(stratum: int, size: int, *truths: str | None, asked: int = 0) -> Stratum:
    (found,) = strata(rows(stratum, *truths), {stratum: size}, {stratum: asked})
    return found


def test_a_stratum_counts_its_completed_prefix() -> None:
    # Ranks 0 1 2 have labels and 3 has none: the prefix is 3, of which "unsure" does not count,
    # so two labels stand for ten. The fifth and sixth are ad hoc.
    found = one(REST_PASS, 10, "pass", "unsure", "fail", None, "pass", "fail", asked=5)
    assert (found.name, found.size, found.labelled) == ("rest/pass", 10, 5)
    assert (found.prefix, found.counted, found.unanswered) == (3, 2, 1)
    assert found.weight == 5.0
    # The audit asks for ranks 0 to 4, four of which have a label.
    assert (found.audit, found.audit_done) == (5, 4)
    assert found.missing == ""


def test_the_weights_are_those_of_the_draw() -> None:
    labelled = [
        *rows(FLAGGED_PASS, "pass", "fail"),
        *rows(REST_PASS, "pass", "disputed", "pass", "pass"),
        *rows(REST_FAIL, "fail", None, "fail"),
    ]
    sizes = {FLAGGED_PASS: 7, REST_PASS: 100, REST_FAIL: 9}
    weights = weigh(labelled, sizes).weights
    found = {stratum.name: stratum.weight for stratum in strata(labelled, sizes, {})}
    # 7/2; 100/3, for a disputed one is no answer; 9/1, for the other stands outside.
    assert found == {"flagged/pass": 3.5, "rest/pass": pytest.approx(100 / 3), "rest/fail": 9.0}
    assert [max(weights[:2]), max(weights[2:6]), max(weights[6:])] == list(found.values())


def test_a_verdict_that_lost_its_decision_completes_its_prefix_as_non_response() -> None:
    # Drawn as passes, ranks 0 to 3 have labels; rank 1 is decided neither way since. Its label
    # carries the prefix on and counts for nothing, so three labels stand for twelve.
    labelled = rows(REST_PASS, "pass", "pass", "fail", "pass")
    labelled[1] = replace(labelled[1], decided=False)
    (found,) = strata(labelled, {REST_PASS: 12}, {})
    assert (found.prefix, found.counted, found.unanswered, found.weight) == (4, 3, 1, 4.0)
    weighing = weigh(labelled, {REST_PASS: 12})
    assert weighing.weights == [4.0, 0.0, 4.0, 4.0]
    assert weighing.drawn == [True] * 4
    assert weighing.design is Design.WEIGHTED
    verdicts = [
        LabelledRow(
            place.rank, "v", b"", Decision.PASS if place.decided else None,
            0.8, None, None, 1, 1, place,
        )
        for place in labelled
    ]  # fmt: skip
    figures = RunFigures(12, 0, "support", scores_stated=False, sizes={REST_PASS: 12})
    (part,) = make_rows(verdicts, figures).pass_parts
    assert (part.size, part.labelled, part.hits) == (12, 3, 2)
    # All four labelled are no census: one of them says nothing of a decision.
    assert weigh(labelled, {REST_PASS: 4}).design is Design.WEIGHTED
    # A verdict that was drawn as undecided stays as it was.
    assert one(REST_NONE, 4, "pass").counted == 1


def test_what_is_missing_is_said() -> None:
    assert one(REST_FAIL, 8, None, "fail").missing == (
        "rest/fail has no pass or fail label in its prefix: 1 more to the next figures"
    )
    assert "1 more" in one(REST_FAIL, 8, "unsure").missing
    assert "1 more" in one(REST_FAIL, 8).missing
    # Nothing more can be labelled, and nothing counts.
    assert one(REST_FAIL, 2, "unsure", "disputed").missing == (
        "rest/fail is labelled to its end, none pass or fail: it has no weight"
    )


def test_verdicts_without_a_decision_have_no_weight_and_lack_nothing() -> None:
    found = one(REST_NONE, 4, "pass")
    assert (found.decided, found.weight, found.missing) == (False, None, "")


def test_an_empty_stratum_is_no_stratum() -> None:
    assert strata([], {REST_PASS: 0, REST_FAIL: 1}, {})[0].name == "rest/fail"


def test_the_audit_adds_up_its_strata() -> None:
    labelled = [*rows(REST_PASS, "pass", "pass", None), *rows(REST_FAIL, "fail")]
    found = strata(labelled, {REST_PASS: 30, REST_FAIL: 10}, {REST_PASS: 20, REST_FAIL: 2})
    total = audit(found, [True, True, False])
    assert (total.planned, total.done, total.counted, total.errors) == (22, 3, 3, 1)


def test_no_error_in_k_is_bounded_as_the_document_says() -> None:
    # 1 - 0.05^(1/k): the rule of three, exactly.
    assert upper_bound(0, 1) == pytest.approx(0.95)
    assert upper_bound(0, 30) == pytest.approx(1 - 0.05 ** (1 / 30))
    assert upper_bound(0, 59) == pytest.approx(0.0495, abs=1e-4)


@pytest.mark.parametrize(("errors", "k"), [(1, 10), (2, 30), (4, 30), (4, 5), (4, 2000)])
def test_errors_are_bounded_by_the_rate_that_gives_so_few_in_one_of_twenty(
    errors: int, k: int
) -> None:
    rate = Fraction(upper_bound(errors, k))
    chance = sum(math.comb(k, i) * rate**i * (1 - rate) ** (k - i) for i in range(errors + 1))
    assert float(chance) == pytest.approx(0.05, abs=1e-9)
    assert rate > Fraction(errors, k)


def test_one_error_in_ten() -> None:
    # The 95% point of Beta(2, 9), as tables of Clopper and Pearson's limits give it.
    assert upper_bound(1, 10) == pytest.approx(0.3942, abs=5e-5)


def test_all_wrong_is_bounded_by_one() -> None:
    assert upper_bound(3, 3) == 1.0


def test_only_few_errors_are_bounded() -> None:
    part = strata(rows(REST_PASS, *["pass"] * 25), {REST_PASS: 900}, {REST_PASS: 90})
    assert audit(part, [True] * 20 + [False] * 4).bound == upper_bound(4, 24)
    assert audit(part, [True] * 20 + [False] * 5).bound is None
    assert audit(part, []).bound is None


def test_a_rest_that_is_labelled_whole_needs_no_bound() -> None:
    whole = strata(
        [*rows(REST_PASS, "pass", "pass"), *rows(REST_NONE, None)],
        {REST_PASS: 2, REST_NONE: 1},
        {REST_PASS: 2, REST_NONE: 1},
    )
    assert audit(whole, [True, True]).bound is None
    unsure = strata(rows(REST_PASS, "pass", "unsure"), {REST_PASS: 2}, {REST_PASS: 2})
    assert audit(unsure, [True]).bound == pytest.approx(0.95)
