from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.team.claims import labelled
from reviewdesk.domain.gates.such_items import pass_rate, such_items
from reviewdesk.domain.labels.label_columns import ESCALATED_ONLY, NO_LABEL, LabelColumns, make_rows
from reviewdesk.domain.labels.sampling import LabelledRow, RunFigures
from reviewdesk.domain.labels.summary import alone, audited, panel_intervals, split
from reviewdesk.domain.records import Calibration, Design, Run, Truth
from reviewdesk.domain.stats.calibration_page import NO_SIGNAL, of_trusted
from reviewdesk.domain.stats.correction import lang_reiczigel
from reviewdesk.domain.stats.figures import Estimate, Part, Target
from reviewdesk.domain.stats.rates import UNLABELLED, drawn_rate, midp
from reviewdesk.domain.stats.reliability import fit
from reviewdesk.domain.verdict import Decision, number
from reviewdesk.errors import UsageError
from reviewdesk.store import figures
from tests.helpers import load, open_desk, placed, report, verdict

PASS, FAIL = Decision.PASS, Decision.FAIL
FLAGGED_PASS, FLAGGED_FAIL, FLAGGED_NONE, REST_PASS, REST_FAIL, REST_NONE = range(6)


def _labelled(
    decision: Decision | None, truth: str, score: float | None = 0.8, **more: Any
) -> LabelledRow:
    side = {PASS: REST_PASS, FAIL: REST_FAIL}.get(decision, REST_NONE) if decision else REST_NONE
    place = more.pop("stratum", side), more.pop("rank", 0)
    return placed(*place, Truth(truth), score, **{"key": 1, "decision": decision} | more)


def _figures(passed: int = 8, failed: int = 2, **more: Any) -> RunFigures:
    fields: dict[str, Any] = {
        "confidence_source": "support",
        "scores_stated": False,
        "sizes": {REST_PASS: passed, REST_FAIL: failed},
    }
    return RunFigures(passed, failed, **(fields | more))


def confidence(row: LabelledRow, source: str, *, scores_stated: bool) -> float | None:
    [found] = LabelColumns.of_rows([row]).confidences(source, scores_stated=scores_stated)
    return number(float(found))


@pytest.mark.parametrize(
    ("source", "passed", "failed"),
    [
        # A score of .8 supports a pass by .8 and a fail by .2.
        ("support", 0.8, 0.2),
        ("score", 0.8, 0.8),
        ("reported", 0.6, 0.6),
        # Two of three votes.
        ("vote_share", 2 / 3, 1 / 3),
    ],
)
def test_confidence_sources(source: str, passed: float, failed: float) -> None:
    for decision, expected in ((PASS, passed), (FAIL, failed)):
        row = _labelled(decision, "pass", confidence=0.6)
        assert confidence(row, source, scores_stated=False) == pytest.approx(expected)


def test_the_source_of_confidence_is_named_refused_and_not_mixed() -> None:
    row = _labelled(PASS, "pass", 0.8, stated_score=0.9)
    assert confidence(row, "support", scores_stated=True) == 0.9
    assert confidence(row, "support", scores_stated=False) == 0.8
    assert confidence(_labelled(PASS, "pass", 0.8), "support", scores_stated=True) is None
    with pytest.raises(UsageError, match="agreement"):
        make_rows([], _figures(), "agreement")
    assert _strip().confidence_source == "support"
    asked = make_rows([_labelled(PASS, "pass")], _figures(), "vote_share").lines
    assert asked.confidence_source == "vote_share"
    # 2/3 of the votes for what was right: (1/3)².
    assert asked.labelled.brier == pytest.approx(1 / 9)


@pytest.mark.parametrize("source", ["support", "score", "reported", "vote_share"])
def test_what_is_missing_is_no_confidence(source: str) -> None:
    row = _labelled(PASS, "pass", None, passes=0, answered=0)
    assert confidence(row, source, scores_stated=False) is None


def test_what_makes_no_row_is_counted() -> None:
    labels = [
        _labelled(PASS, "pass", rank=0),
        _labelled(PASS, "unsure", rank=1),
        _labelled(PASS, "disputed", rank=2),
        _labelled(Decision.INCONCLUSIVE, "pass", rank=0),
        _labelled(None, "unsure", rank=1),
        _labelled(Decision.ERROR, "fail", rank=2),
    ]
    found = make_rows(labels, _figures(sizes={REST_PASS: 8, REST_FAIL: 2, REST_NONE: 3})).lines
    assert found.labelled.n == 1
    assert (found.unsure, found.disputed, found.no_verdict) == (2, 1, 3)


def test_rows_carry_the_draws_weights() -> None:
    # Three of eight passes from the start; the fail stands outside its prefix.
    labels = [_labelled(PASS, "pass", rank=rank) for rank in range(3)]
    labels.append(_labelled(FAIL, "fail", rank=1))
    made = make_rows(labels, _figures())
    assert made.weights == pytest.approx([8 / 3] * 3 + [0.0])
    assert made.rows.confidence.tolist() == pytest.approx([0.8] * 3 + [0.2])
    assert made.rows.weight.tolist() == [1.0] * 4


def _strip(*labels: LabelledRow, **figures: Any) -> Calibration:
    return make_rows(labels, _figures(**figures)).lines


def test_labelled_counts_each_once_and_population_what_it_stands_for() -> None:
    # Passes: one right, one wrong of 8 (4 each). Fails: one right of 2 (weighs 2).
    found = _strip(
        _labelled(PASS, "pass", rank=0),
        _labelled(PASS, "fail", rank=1),
        _labelled(FAIL, "fail", 0.3, rank=0),
    )
    assert found.design is Design.WEIGHTED
    assert found.labelled.accuracy == pytest.approx(2 / 3)
    assert found.population is not None
    # Right are 4 + 2 of the 10 that the labels stand for.
    assert found.population.accuracy == pytest.approx(0.6)
    # 8 of the 10 decided passed, in both lines.
    assert found.labelled.observed_positive_rate == 0.8
    assert found.population.observed_positive_rate == 0.8
    # Raw counts beside weighted rates: sensitivity 4/4, specificity 2/(2 + 4).
    assert (found.population.tp, found.population.tn, found.population.fp) == (1, 1, 1)
    assert found.population.specificity == pytest.approx(1 / 3)
    # Confidences .8 .8 .7 against 1, 0, 1: (4 * .04 + 4 * .64 + 2 * .09) / 10.
    assert found.population.brier == pytest.approx(0.29)
    assert found.headline is found.population


def test_a_census_reads_the_same_on_both_lines() -> None:
    found = _strip(
        _labelled(PASS, "pass", rank=0), _labelled(FAIL, "pass", rank=0), passed=1, failed=1
    )
    assert found.design is Design.CENSUS
    assert found.population == found.labelled


@pytest.mark.parametrize(
    ("labels", "sizes", "design", "warning"),
    [
        ([], {REST_PASS: 8}, Design.NONE, "no label counts"),
        (
            [_labelled(PASS, "pass", stratum=FLAGGED_PASS)],
            {FLAGGED_PASS: 3, REST_PASS: 8},
            Design.ESCALATED_ONLY,
            ESCALATED_ONLY,
        ),
        ([_labelled(PASS, "pass", rank=5)], {REST_PASS: 8}, Design.AD_HOC, "outside the draw"),
        (
            [_labelled(PASS, "pass")],
            {FLAGGED_PASS: 3, REST_PASS: 8},
            Design.PARTIAL,
            "no label says fail",
        ),
    ],
)
def test_without_every_stratum_there_is_no_population_line(
    labels: list[LabelledRow], sizes: dict[int, int], design: Design, warning: str
) -> None:
    found = _strip(*labels, sizes=sizes)
    assert (found.design, found.population) == (design, None)
    assert found.headline is found.labelled
    assert any(warning in text for text in found.warnings)


def _warned(*labels: LabelledRow, **figures: Any) -> str:
    return "\n".join(_strip(*labels, **figures).warnings)


def test_warnings_of_the_confusion() -> None:
    only_bad = _warned(_labelled(PASS, "fail"), _labelled(FAIL, "fail"))
    assert "no label says pass" in only_bad
    assert "no label says fail" not in only_bad
    both = [_labelled(PASS, "pass", rank=0), _labelled(FAIL, "fail", rank=0)]
    assert _strip(*both).warnings == ()
    # Sensitivity 1, specificity 1/3 (two of three bad ones passed): J = .33.
    weak = [_labelled(PASS, "fail", rank=1), _labelled(PASS, "fail", rank=2)]
    assert "too close to guessing to correct its pass rate: Youden's J is 0.33" in _warned(
        *both, *weak, passed=3, failed=1
    )
    # One right and one wrong of each truth: J = 0.
    wrong = [_labelled(PASS, "fail", rank=1), _labelled(FAIL, "pass", rank=1)]
    assert "no better than guessing" in _warned(*both, *wrong, passed=2, failed=2)


def test_verdicts_without_that_confidence_are_left_out_and_told() -> None:
    labels = [_labelled(PASS, "pass", rank=0), _labelled(FAIL, "fail", None, rank=0)]
    found = _strip(*labels)
    assert found.labelled.n == 1
    assert "1 labelled verdicts have no confidence" in "\n".join(found.warnings)


def test_without_labels_or_decisions_nothing_is_known() -> None:
    assert _strip(passed=0, failed=0, sizes={}).labelled.observed_positive_rate is None
    found = make_rows([], _figures(10, 0, sizes={REST_PASS: 10})).share("accuracy")
    assert (found.estimate, found.bounded, found.reason) == (None, False, NO_LABEL)


def test_blind_labels_stand_beside_all_others() -> None:
    labels = [
        _labelled(PASS, "pass", 0.9, rank=0, item=b"a"),
        _labelled(PASS, "fail", 0.7, rank=1, item=b"b"),
        _labelled(FAIL, "fail", 0.2, rank=0, item=b"c"),
    ]
    made = make_rows(labels, _figures())
    found = split(made.verdicts, made.rows, {b"a": True, b"b": False, b"c": None})
    # Blind is a alone: .9 and right. Open are b (.7 and wrong) and c (.8 and right).
    assert (found.blind.n, found.open.n, found.unsaid) == (1, 2, 1)
    assert found.blind.gap == pytest.approx(-0.1)
    assert found.open.brier == pytest.approx((0.49 + 0.04) / 2)
    assert (found.open.fp, found.open.tn) == (1, 1)
    assert found.open.corrected_rate is None


def test_labels_alone_choose_their_confidence_by_themselves() -> None:
    # The run has verdicts without a score, so that it reads vote shares; the labelled one has one.
    row = _labelled(PASS, "pass", 0.9, stated_score=0.8)
    run = _figures(confidence_source="vote_share", scores_stated=True)
    assert make_rows([row], run).lines.labelled.brier == pytest.approx(1 / 9)
    found = alone(make_rows([row], run), {})
    # The score that the report states: (1 - .8)².
    assert found.metrics.brier == pytest.approx(0.04)
    assert found.metrics.observed_positive_rate is None
    assert [gate.target for gate in found.gates] == ["ece", "brier"]
    bare = _labelled(FAIL, "fail", None, rank=0, key=2)
    both = alone(make_rows([row, bare], run), {})
    # Two of three votes for a pass: .67 for the one, .33 for the other, both right.
    assert both.metrics.brier == pytest.approx((1 / 9 + 4 / 9) / 2)
    assert alone(make_rows([row, bare], run), {}, "score").metrics.n == 1


def test_labels_alone_say_what_is_a_convention() -> None:
    found = alone(make_rows([_labelled(PASS, "fail")], _figures()), {})
    assert found.warnings == ("no label says pass: sensitivity is 0 by convention",)
    assert alone(make_rows([], _figures()), {}).metrics.n == 0


def test_the_audit_is_what_was_drawn_of_the_rest() -> None:
    labels = [
        # Flagged ones are no audit, whatever their rank.
        _labelled(PASS, "fail", stratum=FLAGGED_PASS, rank=0, key=1),
        _labelled(PASS, "pass", rank=0, key=2),
        _labelled(PASS, "unsure", rank=1, key=3),
        # An error without a score is one all the same.
        _labelled(PASS, "fail", None, rank=2, key=4),
        # Beyond the three that the audit asks for.
        _labelled(PASS, "fail", rank=3, key=5),
        # Outside its prefix: rank 0 has no label.
        _labelled(FAIL, "pass", rank=1, key=6),
    ]
    sizes = {FLAGGED_PASS: 1, REST_PASS: 8, REST_FAIL: 2}
    figures = replace(_figures(sizes=sizes), audits={REST_PASS: 3, REST_FAIL: 2})
    assert audited(make_rows(labels, figures)) == [True, False]


RATES = ("accuracy", "sensitivity", "specificity", "honest_rate")
HARD = 3
"""How many of the items are hard: nobody can say whether the panel is right."""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with closing(open_desk(tmp_path / "d.db")) as opened:
        yield opened


def labelled_run(desk: Desk) -> tuple[Run, list[int]]:
    """Sixty verdicts, half passed, of which the first forty of each stratum get a label but for
    the hard ones; return the run and these."""
    bodies = [verdict(f"v{at:02d}", *((0.9,) * 3 if at % 2 else (0.1,) * 3)) for at in range(60)]
    run = load(desk, report(*bodies))
    rows = desk.rows([*desk.queue(run, "", "draw")][:40])
    hard = [rows[2].key, rows[9].key, rows[17].key][:HARD]
    for at, row in enumerate(rows):
        if row.key not in hard:
            right = at % 7 != 0
            passed = row.decision is not None and row.decision.value == "pass"
            desk.label(row.key, Truth.PASS if passed is right else Truth.FAIL)
    return run, hard


def ends(desk: Desk, run: Run) -> dict[str, Estimate]:
    """The figures with the ends that a suite's entry about the run checks."""
    made = make_rows(labelled(desk, run), figures.run_figures(desk.conn, run.key))
    line = made.lines.headline
    through = panel_intervals(made, Target.ITEMS)
    found = such_items(made.headline, line, fit(made.headline), through)
    return {**found, "honest_rate": pass_rate(made)}


def at_most(least: float | None, most: float | None, slack: float = 1e-9) -> bool:
    return least is not None and most is not None and least <= most + slack


def test_no_answer_to_a_closed_item_lies_outside_its_ends(desk: Desk) -> None:
    run, hard = labelled_run(desk)
    for key in hard:
        desk.defer(key)
        desk.defer(key)
        desk.close_item(key)
    closed = ends(desk, run)
    for _ in hard:
        desk.undo()
    for answers in product((Truth.PASS, Truth.FAIL), repeat=HARD):
        for key, answer in zip(hard, answers, strict=True):
            desk.label(key, answer)
        for name, one in ends(desk, run).items():
            # All that agree with the panel and all that contradict it are among the answers, and
            # the ends are theirs. Kappa, Brier and gap may pass them by a little in between.
            slack = 1e-9 if name in RATES else 0.02
            assert at_most(closed[name].low, one.low, slack), (name, answers)
            assert at_most(one.high, closed[name].high, slack), (name, answers)


def test_closing_what_the_panel_gets_wrong_does_not_raise_a_lower_end(desk: Desk) -> None:
    run, hard = labelled_run(desk)
    for key in hard:
        (row,) = desk.rows([key])
        wrong = row.decision is not None and row.decision.value == "fail"
        desk.label(key, Truth.PASS if wrong else Truth.FAIL)
    honest = ends(desk, run)
    for key in hard:
        desk.label(key, Truth.UNSURE)
    evaded = ends(desk, run)
    for name in ("accuracy", "sensitivity", "specificity", "kappa"):
        assert at_most(evaded[name].low, honest[name].low), name
    for name in ("brier", "gap"):
        assert at_most(honest[name].high, evaded[name].high), name


def test_what_is_shown_of_this_run_and_of_such_items(desk: Desk) -> None:
    run, hard = labelled_run(desk)
    for key in hard:
        desk.label(key, Truth.UNSURE)
    page = calibration_page(desk, run, jurors=False)
    assert page.such.accuracy.low == pytest.approx(ends(desk, run)["accuracy"].low)


def test_only_decided_labels_inside_a_prefix_count() -> None:
    labels = [
        _labelled(PASS, "pass", stratum=FLAGGED_PASS, rank=0),
        _labelled(PASS, "unsure", stratum=FLAGGED_PASS, rank=1),
        _labelled(PASS, "fail", stratum=FLAGGED_PASS, rank=2),
        # Rank 3 has no label, so rank 4 is outside of the prefix.
        _labelled(PASS, "pass", stratum=FLAGGED_PASS, rank=4),
        _labelled(None, "pass", stratum=FLAGGED_NONE),
        _labelled(PASS, "disputed"),
    ]
    sizes = {FLAGGED_PASS: 9, FLAGGED_FAIL: 0, FLAGGED_NONE: 2, REST_PASS: 40}
    # What the judge decided neither way is no stratum of the rate; an empty one is none either.
    made = make_rows(labels, _figures(49, 0, sizes=sizes))
    found = [(one.size, one.labels, one.counted.right, one.counted.deserved) for one in made.voted]
    assert found == [(9, 2, 1, 1), (40, 0, 0, 0)]
    assert made.share("accuracy").reason == ESCALATED_ONLY


def test_the_estimate_by_hand_and_the_bounds_of_an_unlabelled_stratum() -> None:
    # Every one of 10 is known, 4 of them hits; of 30 half were seen, all hits.
    found = drawn_rate([Part(10, 10, 4), Part(30, 15, 15)])
    assert found.estimate == pytest.approx(0.25 * 0.4 + 0.75 * 1.0)
    # The census adds no width. Of the other: n of n at n = 15 * 29 / 15 = 29 have half a chance of
    # 2.5% at .05^(1/29) = .901857, and half of one verdict of 30 is taken off.
    assert found.low == pytest.approx(0.85 - 0.75 * (1 - 0.05 ** (1 / 29) + 0.5 / 30))
    assert found.high == pytest.approx(0.85)
    found = drawn_rate([Part(10, 5, 2), Part(30, 0, 0)])
    # A quarter at the mid-p ends of 2 of 5 of 10, which are those of 3.6 of n = 5 * 9 / 5 = 9, and
    # half of one verdict of 10 beyond; the others may all be misses or all be hits.
    low, high = midp(3.6, 9)
    assert found.estimate is None
    assert found.low == pytest.approx(0.25 * (low - 0.05))
    assert found.high == pytest.approx(0.25 * (high + 0.05) + 0.75)
    assert found.reason == UNLABELLED


def test_a_trusted_set_from_elsewhere() -> None:
    found = of_trusted(500, 1000, 90, 10, 80, 20)
    # (0.5 + 0.8 - 1) / 0.7, and the interval of the function that is held to its own vectors.
    assert found.estimate == pytest.approx(3 / 7)
    assert (found.low, found.high) == lang_reiczigel(500, 1000, 90, 10, 80, 20)
    for cells in ((0, 0, 80, 20), (50, 50, 50, 50)):
        nothing = of_trusted(500, 1000, *cells)
        assert (nothing.estimate, nothing.bounded, nothing.reason) == (None, False, NO_SIGNAL)
