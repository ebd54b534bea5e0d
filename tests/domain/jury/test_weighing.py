"""What a label stands for: the weights of ``sampling.weigh`` and the word for the design."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.labels.draw import draw
from reviewdesk.domain.labels.sampling import FIRST_REST, LabelledVerdict, stratum, weigh
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.stats.calibration import Rows, accuracy
from reviewdesk.domain.verdict import Decision

P, F, U, D = Truth.PASS, Truth.FAIL, Truth.UNSURE, Truth.DISPUTED
FLAGGED_PASS, FLAGGED_NONE, REST_PASS, REST_FAIL, REST_NONE = 0, 2, 3, 4, 5


def _rows(h: int, *truths: Truth, start: int = 0) -> list[LabelledVerdict]:
    return [LabelledVerdict(h, start + rank, truth) for rank, truth in enumerate(truths)]


def test_a_prefix_label_stands_for_its_share_of_the_stratum() -> None:
    # 12 verdicts, 3 labelled from the start: 12/3 each.
    made = weigh(_rows(REST_PASS, P, F, P), {REST_PASS: 12})
    assert made.weights == [4.0, 4.0, 4.0]
    assert made.inclusion == [0.25] * 3


def test_unsure_and_disputed_complete_the_prefix_without_counting() -> None:
    # Ranks 0..4 are all labelled, three of them pass or fail: 12/3.
    made = weigh(_rows(REST_PASS, P, U, F, D, P), {REST_PASS: 12})
    assert made.weights == [4.0, 0.0, 4.0, 0.0, 4.0]


def test_a_label_behind_a_gap_waits_at_weight_zero() -> None:
    rows = _rows(REST_PASS, P) + _rows(REST_PASS, F, F, start=2)
    assert weigh(rows, {REST_PASS: 12}).weights == [12.0, 0.0, 0.0]
    # Filling rank 1 takes the other two in: 12/4.
    filled = [*rows, LabelledVerdict(REST_PASS, 1, P)]
    assert weigh(filled, {REST_PASS: 12}).weights == [3.0] * 4
    # Filling it with "can't tell" as well: 12/3.
    filled[-1] = LabelledVerdict(REST_PASS, 1, U)
    assert weigh(filled, {REST_PASS: 12}).weights == [4.0, 4.0, 4.0, 0.0]


def test_strata_are_weighed_apart() -> None:
    rows = _rows(FLAGGED_PASS, P, F) + _rows(REST_PASS, P)
    made = weigh(rows, {FLAGGED_PASS: 2, REST_PASS: 50, REST_FAIL: 7})
    assert made.weights == [1.0, 1.0, 50.0]
    assert made.inclusion == [1.0, 1.0, 0.02]


SIZES = {FLAGGED_PASS: 2, REST_PASS: 10, REST_FAIL: 5, REST_NONE: 3}


@pytest.mark.parametrize(
    ("rows", "design"),
    [
        ([], Design.NONE),
        # Nothing but "can't tell", or labels on what the panel left undecided.
        (_rows(REST_PASS, U, D), Design.NONE),
        (_rows(REST_NONE, P, P, P), Design.NONE),
        # Labels, none of them in a prefix.
        (_rows(REST_PASS, P, start=4), Design.AD_HOC),
        (_rows(FLAGGED_PASS, P, start=1) + _rows(REST_FAIL, F, start=2), Design.AD_HOC),
        # A rest stratum without a counting label.
        (_rows(FLAGGED_PASS, P, P), Design.ESCALATED_ONLY),
        (_rows(FLAGGED_PASS, P) + _rows(REST_PASS, P), Design.ESCALATED_ONLY),
        (_rows(FLAGGED_PASS, P) + _rows(REST_PASS, P) + _rows(REST_FAIL, F, start=1),
         Design.ESCALATED_ONLY),
        (_rows(FLAGGED_PASS, P) + _rows(REST_PASS, P) + _rows(REST_FAIL, U),
         Design.ESCALATED_ONLY),
        # Every rest stratum has one, the flagged has none.
        (_rows(REST_PASS, P) + _rows(REST_FAIL, F), Design.PARTIAL),
        # All have one; the undecided stratum need not.
        (_rows(FLAGGED_PASS, P) + _rows(REST_PASS, P) + _rows(REST_FAIL, F), Design.WEIGHTED),
        # All but one of the decided.
        (_rows(FLAGGED_PASS, P, F) + _rows(REST_PASS, *[P] * 10) + _rows(REST_FAIL, *[F] * 4),
         Design.WEIGHTED),
        # "Can't tell" is an answer but no pass or fail.
        (_rows(FLAGGED_PASS, P, F) + _rows(REST_PASS, *[P] * 10) + _rows(REST_FAIL, U, *[F] * 4),
         Design.WEIGHTED),
        (_rows(FLAGGED_PASS, P, F) + _rows(REST_PASS, *[P] * 10) + _rows(REST_FAIL, *[F] * 5),
         Design.CENSUS),
    ],
)  # fmt: skip
def test_the_word_for_the_design(rows: list[LabelledVerdict], design: Design) -> None:
    assert weigh(rows, SIZES).design is design


def test_a_census_weighs_everyone_one() -> None:
    rows = _rows(FLAGGED_PASS, P, F) + _rows(REST_PASS, F, P, F)
    assert weigh(rows, {FLAGGED_PASS: 2, REST_PASS: 3}).weights == [1.0] * 5


def test_a_run_without_a_rest_is_weighted_by_its_flagged() -> None:
    assert weigh(_rows(FLAGGED_PASS, P), {FLAGGED_PASS: 4}).design is Design.WEIGHTED


TRUTHS = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 9)), st.sampled_from(Truth), max_size=40
)


@given(TRUTHS)
def test_weights_add_up_to_the_strata_that_have_any(
    truths: dict[tuple[int, int], Truth],
) -> None:
    rows = [LabelledVerdict(h, rank, truth) for (h, rank), truth in truths.items()]
    sizes = dict.fromkeys(range(6), 10)
    made = weigh(rows, sizes)
    for h in sizes:
        inside = [w for row, w in zip(rows, made.weights, strict=True) if row.stratum == h]
        # Walk the ranks by hand until the first without a label.
        prefix: list[Truth] = []
        while (h, len(prefix)) in truths:
            prefix.append(truths[h, len(prefix)])
        counting = sum(truth in {P, F} for truth in prefix)
        assert sum(inside) == pytest.approx(10 if counting else 0)
        assert sum(w > 0 for w in inside) == counting
        for row, pi in zip(rows, made.inclusion, strict=True):
            assert row.stratum != h or pi == pytest.approx(counting / 10)
    for row, weight in zip(rows, made.weights, strict=True):
        assert weight == 0 or row.truth in {P, F}


def test_the_weighted_accuracy_is_near_the_truth_where_the_escalated_alone_are_not() -> None:
    # 2000 verdicts, one in ten flagged. The judge errs on .45 of the flagged and .08 of the rest:
    # its accuracy is about .1 * .55 + .9 * .92 = .883, among the flagged alone .55.
    chance = random.Random(20240229)  # noqa: S311 - a repeatable population, no secret
    ids = [f"v{i}" for i in range(2000)]
    flagged = [chance.random() < 0.1 for _ in ids]
    passed = [chance.random() < 0.7 for _ in ids]
    right = [chance.random() < (0.55 if is_flagged else 0.92) for is_flagged in flagged]
    strata = [
        stratum(Decision.PASS if decision else Decision.FAIL, flagged=is_flagged)
        for decision, is_flagged in zip(passed, flagged, strict=True)
    ]
    drawn = draw(ids, strata, "a seed")
    truth = sum(right) / len(right)

    def measured(wanted: list[int]) -> tuple[float, Design]:
        rows = [
            LabelledVerdict(strata[i], int(drawn.rank[i]), P if passed[i] == right[i] else F)
            for i in wanted
        ]
        made = weigh(rows, drawn.sizes)
        correct = [right[i] for i in wanted]
        found = accuracy(Rows.of([0.5] * len(wanted), correct, made.weights))
        assert found is not None
        return found, made.design

    escalated = [i for i in range(2000) if flagged[i]]
    audited = [i for i in range(2000) if flagged[i] or drawn.audit[i]]
    biased, design = measured(escalated)
    assert design is Design.ESCALATED_ONLY
    assert truth - biased > 0.2
    fair, design = measured(audited)
    assert design is Design.WEIGHTED
    # 180 audited at p = .92 have a standard error of .9 * sqrt(.92 * .08 / 180) = .018; three.
    assert abs(fair - truth) < 0.055
    every, design = measured(list(range(2000)))
    assert design is Design.CENSUS
    assert every == pytest.approx(truth, abs=1e-12)
    assert sum(s >= FIRST_REST for s in strata) == 2000 - len(escalated)
