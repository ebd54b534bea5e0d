"""What a label stands for: the weights of ``LabelColumns.weigh`` and the word for the design."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.labels.label_columns import LabelColumns
from reviewdesk.domain.labels.sampling import LabelledRow
from reviewdesk.domain.records import Design, Truth
from tests.helpers import placed

P, F, U, D = Truth.PASS, Truth.FAIL, Truth.UNSURE, Truth.DISPUTED
FLAGGED_PASS, FLAGGED_NONE, REST_PASS, REST_FAIL, REST_NONE = 0, 2, 3, 4, 5


def _rows(h: int, *truths: Truth, start: int = 0) -> list[LabelledRow]:
    return [placed(h, start + rank, truth) for rank, truth in enumerate(truths)]


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
def test_the_word_for_the_design(rows: list[LabelledRow], design: Design) -> None:
    assert LabelColumns.of_rows(rows).weigh(SIZES).design is design


def test_a_run_without_a_rest_is_weighted_by_its_flagged() -> None:
    columns = LabelColumns.of_rows(_rows(FLAGGED_PASS, P))
    assert columns.weigh({FLAGGED_PASS: 4}).design is Design.WEIGHTED


TRUTHS = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 9)), st.sampled_from(Truth), max_size=40
)


@given(TRUTHS)
def test_weights_add_up_to_the_strata_that_have_any(truths: dict[tuple[int, int], Truth]) -> None:
    rows = [placed(h, rank, truth) for (h, rank), truth in truths.items()]
    sizes = dict.fromkeys(range(6), 10)
    made = LabelColumns.of_rows(rows).weigh(sizes)
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
    for row, weight, pi in zip(rows, made.weights, made.inclusion, strict=True):
        assert weight == 0 or (row.truth in {P, F} and weight == pytest.approx(1 / pi))
