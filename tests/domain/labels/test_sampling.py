import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from reviewdesk.domain.labels import draw as drawing
from reviewdesk.domain.labels.label_columns import LabelColumns, make_rows
from reviewdesk.domain.labels.sampling import (
    AUDIT_SHARE,
    FIRST_REST,
    STRATA,
    LabelledRow,
    RunFigures,
    Stratum,
    audit,
    audit_shares,
    stratum,
    upper_bound,
)
from reviewdesk.domain.labels.summary import strata
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.verdict import Decision
from tests.helpers import placed

SIZES = st.dictionaries(st.integers(0, 5), st.one_of(st.integers(0, 40), st.integers(0, 3000)))
RUNS = st.lists(st.integers(0, 5), max_size=150)


def reached(
    labelled: list[LabelledRow], sizes: dict[int, int], audits: dict[int, int]
) -> tuple[Stratum, ...]:
    figures = RunFigures(0, 0, "support", scores_stated=False, sizes=sizes, audits=audits)
    return strata(make_rows(labelled, figures))


@dataclass
class Lists:
    """A draw as plain lists."""

    rank: list[int]
    audit: list[bool]
    order: list[int]
    mixed: list[int]
    sizes: dict[int, int]
    audited: dict[int, int]


def draw(ids: list[str], strata: list[int], seed: str, share: float = AUDIT_SHARE) -> Lists:
    """The draw under test."""
    made = drawing.draw(iter(ids), strata, seed, share)
    return Lists(
        made.rank.tolist(), made.audit.tolist(), made.order.tolist(), made.mixed.tolist(),
        made.sizes, made.audited,
    )  # fmt: skip


def slow_draw(ids: list[str], strata: list[int], seed: str, share: float) -> Lists:
    """The draw, one verdict after another."""
    mixed = sorted(range(len(ids)), key=lambda i: hashlib.sha256((seed + ids[i]).encode()).digest())
    sizes: dict[int, int] = {}
    rank = [0] * len(ids)
    for i in mixed:
        rank[i] = sizes.get(strata[i], 0)
        sizes[strata[i]] = rank[i] + 1
    audited = audit_shares(sizes, share)
    audit = [strata[i] in audited and rank[i] < audited[strata[i]] for i in range(len(ids))]
    flagged = [i for i in mixed if strata[i] < FIRST_REST]
    checked = [i for i in mixed if audit[i]]
    left = [i for i in mixed if strata[i] >= FIRST_REST and not audit[i]]
    spread = [((k + 0.5) / len(flagged), 0, i) for k, i in enumerate(flagged)]
    spread += [((k + 0.5) / len(checked), 1, i) for k, i in enumerate(checked)]
    queue = [i for _, _, i in sorted(spread)] + left
    places = [[order.index(i) for i in range(len(ids))] for order in (queue, mixed)]
    return Lists(rank, audit, places[0], places[1], sizes, audited)


@pytest.mark.parametrize(
    ("decision", "flagged", "name"),
    [
        (Decision.PASS, True, "flagged/pass"),
        (Decision.FAIL, True, "flagged/fail"),
        (Decision.INCONCLUSIVE, True, "flagged/none"),
        (Decision.PASS, False, "rest/pass"),
        (Decision.FAIL, False, "rest/fail"),
        (Decision.ERROR, False, "rest/none"),
        (None, False, "rest/none"),
    ],
)
def test_strata(decision: Decision | None, flagged: bool, name: str) -> None:
    assert STRATA[stratum(decision, flagged=flagged)] == name


@pytest.mark.parametrize(
    ("rest", "share", "size"),
    [
        # At least thirty, at most all, else a tenth rounded up.
        *((rest, AUDIT_SHARE, size) for rest, size in {
            0: 0, 1: 1, 29: 29, 30: 30, 31: 30, 300: 30, 301: 31, 400: 40, 1000: 100, 1001: 101,
        }.items()),
        # .07 * 800 is 56.00000000000001 in binary, and still fifty-six.
        (800, 0.07, 56),
        (801, 0.07, 57),
        (100, 0.0, 30),
        (100, 0.5, 50),
        (100, 1.0, 100),
        (29, 1.0, 29),
        (0, 1.0, 0),
    ],
)  # fmt: skip
def test_audit_size(rest: int, share: float, size: int) -> None:
    assert sum(audit_shares({REST_PASS: rest}, share).values()) == size


@pytest.mark.parametrize(
    ("sizes", "shares"),
    [
        # Flagged strata are no part of it.
        ({0: 50, 1: 20}, {}),
        ({0: 50, 3: 0}, {}),
        ({0: 50, 3: 1}, {3: 1}),
        ({3: 20, 4: 9}, {3: 20, 4: 9}),
        # 30 of 60 + 40: 18 and 12.
        ({3: 60, 4: 40}, {3: 18, 4: 12}),
        # 100 of 1000: 60.3, 30.1 and 9.6 floor to 99; the largest remainder gets the last.
        ({3: 603, 4: 301, 5: 96}, {3: 60, 4: 30, 5: 10}),
        # 30 of 29 + 2 = 31: 28.06 and 1.94.
        ({3: 29, 4: 2}, {3: 28, 4: 2}),
        # 101 of 1002: 100.80 and 0.10 twice floor to 100; the minimum of one each makes it 102,
        # and the largest gives one back.
        ({3: 1000, 4: 1, 5: 1}, {3: 99, 4: 1, 5: 1}),
        ({3: 1, 4: 1000, 5: 1}, {3: 1, 4: 99, 5: 1}),
        # 30 of 204: 15.00, 14.85 and .15 -> 15, 14 and 1: exact.
        ({3: 102, 4: 101, 5: 1}, {3: 15, 4: 14, 5: 1}),
    ],
)
def test_audit_shares(sizes: dict[int, int], shares: dict[int, int]) -> None:
    assert audit_shares(sizes) == shares


@given(SIZES)
def test_shares_sum_to_the_audit_and_fit_their_strata(sizes: dict[int, int]) -> None:
    shares = audit_shares(sizes)
    rest = {h: n for h, n in sizes.items() if h >= FIRST_REST and n}
    total = sum(rest.values())
    assert shares.keys() == rest.keys()
    assert all(1 <= shares[h] <= n for h, n in rest.items())
    # The audit is all of the rest or thirty and more, so that one for each of three fits in it.
    wanted = min(total, max(30, -(-total // 10)))
    assert sum(shares.values()) == wanted
    for h, n in rest.items():
        # Rounding moves a share by less than one, and so does each minimum of the two others, which
        # the largest gives.
        assert abs(shares[h] - wanted * n / total) < 2


@given(RUNS, st.text(max_size=5), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
@example([], "seed", AUDIT_SHARE)
def test_it_equals_draw_of_one_verdict_after_another(strata: Any, seed: str, share: float) -> None:
    ids = [f"v{i}" for i in range(len(strata))]
    assert draw(ids, strata, seed, share) == slow_draw(ids, strata, seed, share)


FLAGGED_PASS, FLAGGED_FAIL, REST_PASS, REST_FAIL, REST_NONE = 0, 1, 3, 4, 5


def rows(stratum: int, *truths: str | None) -> list[LabelledRow]:
    """Labels by rank; ``None`` is a verdict without one."""
    return [
        placed(stratum, rank, Truth(truth))
        for rank, truth in enumerate(truths)
        if truth is not None
    ]


def one(stratum: int, size: int, *truths: str | None, asked: int = 0) -> Stratum:
    (found,) = reached(rows(stratum, *truths), {stratum: size}, {stratum: asked})
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
    weights = LabelColumns.of_rows(labelled).weigh(sizes).weights
    found = {stratum.name: stratum.weight for stratum in reached(labelled, sizes, {})}
    # 7/2; 100/3, for a disputed one is no answer; 9/1, for the other stands outside.
    assert found == {"flagged/pass": 3.5, "rest/pass": pytest.approx(100 / 3), "rest/fail": 9.0}
    assert [max(weights[:2]), max(weights[2:6]), max(weights[6:])] == list(found.values())


def test_a_verdict_that_lost_its_decision_completes_its_prefix_as_non_response() -> None:
    # Drawn as passes, ranks 0 to 3 have labels; rank 1 is decided neither way since. Its label
    # carries the prefix on and counts for nothing, so three labels stand for twelve.
    labelled = rows(REST_PASS, "pass", "pass", "fail", "pass")
    labelled[1] = replace(labelled[1], decision=None)
    (found,) = reached(labelled, {REST_PASS: 12}, {})
    assert (found.prefix, found.counted, found.unanswered, found.weight) == (4, 3, 1, 4.0)
    columns = LabelColumns.of_rows(labelled)
    weighing = columns.weigh({REST_PASS: 12})
    assert weighing.weights.tolist() == [4.0, 0.0, 4.0, 4.0]
    assert weighing.drawn.tolist() == [True] * 4
    assert weighing.design is Design.WEIGHTED
    figures = RunFigures(12, 0, "support", scores_stated=False, sizes={REST_PASS: 12})
    (panel,) = make_rows(labelled, figures).voted
    assert (panel.size, panel.labels, panel.counted.deserved) == (12, 3, 2)
    # All four labelled are no census: one of them says nothing of a decision.
    assert columns.weigh({REST_PASS: 4}).design is Design.WEIGHTED
    # A verdict that was drawn as undecided stays as it was.
    assert one(REST_NONE, 4, "pass").counted == 1


def test_what_is_missing_is_said() -> None:
    assert one(REST_FAIL, 8, None, "fail").missing == (
        "rest/fail has no pass or fail label in order: 1 more to the next figures"
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


def test_the_audit_adds_up_its_strata_and_leaves_out_empty_ones() -> None:
    assert reached([], {REST_PASS: 0, REST_FAIL: 1}, {})[0].name == "rest/fail"
    labelled = [*rows(REST_PASS, "pass", "pass", None), *rows(REST_FAIL, "fail")]
    found = reached(labelled, {REST_PASS: 30, REST_FAIL: 10}, {REST_PASS: 20, REST_FAIL: 2})
    total = audit(found, [True, True, False])
    assert (total.planned, total.done, total.counted, total.errors) == (22, 3, 3, 1)


def test_no_error_and_nothing_but_errors_are_bounded_as_the_document_says() -> None:
    assert upper_bound(3, 3) == 1.0
    # 1 - 0.05^(1/k): the rule of three, exactly.
    assert upper_bound(0, 1) == pytest.approx(0.95)
    assert upper_bound(0, 30) == pytest.approx(1 - 0.05 ** (1 / 30))
    assert upper_bound(0, 59) == pytest.approx(0.0495, abs=1e-4)


@pytest.mark.parametrize(("errors", "k"), [(1, 10), (2, 30), (4, 30), (4, 5), (4, 2000)])
def test_errors_are_bounded_by_rate_that_gives_so_few_in_one_of_twenty(errors: int, k: int) -> None:
    rate = Fraction(upper_bound(errors, k))
    chance = sum(math.comb(k, i) * rate**i * (1 - rate) ** (k - i) for i in range(errors + 1))
    assert float(chance) == pytest.approx(0.05, abs=1e-9)
    assert rate > Fraction(errors, k)


def test_only_few_errors_of_a_rest_not_labelled_whole_are_bounded() -> None:
    part = reached(rows(REST_PASS, *["pass"] * 25), {REST_PASS: 900}, {REST_PASS: 90})
    assert audit(part, [True] * 20 + [False] * 4).bound == upper_bound(4, 24)
    assert audit(part, [True] * 20 + [False] * 5).bound is None
    assert audit(part, []).bound is None
    whole = reached(
        [*rows(REST_PASS, "pass", "pass"), *rows(REST_NONE, None)],
        {REST_PASS: 2, REST_NONE: 1},
        {REST_PASS: 2, REST_NONE: 1},
    )
    assert audit(whole, [True, True]).bound is None
    unsure = reached(rows(REST_PASS, "pass", "unsure"), {REST_PASS: 2}, {REST_PASS: 2})
    assert audit(unsure, [True]).bound == pytest.approx(0.95)
