"""Questions: how they are read, what is drawn next, and which labels count."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from reviewdesk.domain.labels.confidence_sequence import BLOCK, answer
from reviewdesk.domain.labels.question import (
    Given,
    QuestionItems,
    Reply,
    RunAnswer,
    RunQuestion,
    parse_question,
    with_raters,
)
from reviewdesk.domain.labels.sampling import LabelledRow, RunFigures
from reviewdesk.domain.records import Truth
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import UsageError
from tests.helpers import placed

PLACE = tuple[int, int]
SIZES = {0: 30, 1: 20, 3: 60, 5: 8}
"""Flagged passes and fails, passes of the rest, and eight verdicts that nobody decided."""
FIGURES = RunFigures(90, 20, "support", False, SIZES)
QUESTION = RunQuestion("accuracy", ">=", 0.8, guesses={0: 0.7, 1: 0.7, 3: 0.95})


def row(place: PLACE, truth: Truth) -> LabelledRow:
    h, rank = place
    decision = Decision.FAIL if h % 3 == 1 else Decision.PASS
    score = 0.2 if decision is Decision.FAIL else 0.9
    return placed(h, rank, truth, score, id=f"{h}/{rank}", decision=decision)


def right(place: PLACE) -> Truth:
    return Truth.FAIL if place[0] % 3 == 1 else Truth.PASS


def ask(
    labels: Mapping[PLACE, Truth],
    *,
    first: Mapping[PLACE, Truth] | None = None,
    before: frozenset[PLACE] = frozenset(),
    question: RunQuestion = QUESTION,
    items: QuestionItems | None = None,
) -> RunAnswer:
    given = [
        Given(place, row(place, truth), (first or {}).get(place, truth), place in before)
        for place, truth in labels.items()
    ]
    return answer([(question, given)], "seed", FIGURES, items)


def label(count: int, question: RunQuestion = QUESTION) -> dict[PLACE, Truth]:
    """Label so many contents in the order drawn, all as the panel decided."""
    made: dict[PLACE, Truth] = {}
    while len(made) < count:
        for place in ask(made, question=question).pending[: count - len(made)]:
            made[place] = right(place)
    return made


def test_a_figure_that_is_asked_about_again_keeps_what_the_bets_won() -> None:
    labels = label(30)
    before = ask(labels)
    now = [Given(place, row(place, truth), truth, before=True) for place, truth in labels.items()]
    then = [replace(one, before=False) for one in now]
    again = replace(QUESTION, limit=0.7, turn=1)
    found = answer([(QUESTION, then), (again, now)], "seed", FIGURES)
    # Nothing is bet since: each total has the wealth that it had, and the same labels are known.
    assert (found.known, found.look.labels) == (30, 0)
    assert (found.look.low, found.look.high) == (before.look.now_low, before.look.now_high)
    # Begun anew, the question would know no more than that 30 of the 110 are right.
    assert answer([(again, now)], "seed", FIGURES).look.low == pytest.approx(30 / 110)
    # Its draw takes other random numbers than those that decided which labels are known.
    assert found.drawn != answer([(replace(again, turn=0), now)], "seed", FIGURES).drawn


@pytest.mark.parametrize(
    ("text", "figure", "op", "limit"),
    [
        ("accuracy >= 0.9", "accuracy", ">=", 0.9),
        ("Pass rate<=40%", "pass_rate", "<=", 0.4),
        ("pass_rate >= .5", "pass_rate", ">=", 0.5),
        ("brier <= 0.2", "brier", "<=", 0.2),
        ("accuracy of gpt-4 >= 0.9", "accuracy", ">=", 0.9),
        ("accuracy of a less b >= -2%", "accuracy", ">=", -0.02),
    ],
)
def test_questions_are_read(text: str, figure: str, op: str, limit: float) -> None:
    found = parse_question(text)
    assert (found.figure, found.op, found.limit) == (figure, op, limit)
    if found.of:
        found = with_raters(found, ("gpt-4", "a", "b"))
    assert RunQuestion.from_detail(found.detail(), at="", event=0, closed=False) == found


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("accuracy of b >= .5", ("b",)),
        ("accuracy of panel >= .5", ()),
        ("accuracy of panel less b >= 0", ("panel", "b")),
        ("accuracy of a less b less b >= 0", ("a less b", "b")),
        ("accuracy of a less b <= .5", ("a less b",)),
    ],
)
def test_whom_a_question_is_about(text: str, of: tuple[str, ...]) -> None:
    assert with_raters(parse_question(text), ("a", "a less b", "b")).of == of


@pytest.mark.parametrize(
    ("text", "width", "says"),
    [
        ("accuracy", None, "neither a limit nor a width"),
        ("kappa >= 0.5", None, "no figure 'kappa'"),
        ("accuracy > 0.9", None, "cannot read"),
        ("accuracy >= 1.2", None, "1.2 is not between 0 and 1"),
        ("accuracy >= 0.9.1", None, "cannot read the number"),
        ("accuracy", 1.5, "1.5 is not between 0 and 1"),
        ("accuracy >= -0.1", None, "-0.1 is not between 0 and 1"),
        ("brier of gpt-4 <= 0.1", None, "of jurors only the accuracy"),
        ("accuracy of c >= .5", None, "no juror 'c'"),
        ("accuracy of b less b >= 0", None, "no juror 'b less b'"),
        ("accuracy of b >= -.5", None, "-0.5 is not between 0 and 1"),
    ],
)
def test_questions_that_cannot_be_asked(text: str, width: float | None, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        with_raters(parse_question(text, width), ("a", "b"))


def test_a_block_is_drawn_in_its_own_order_and_labels_out_of_turn_wait() -> None:
    found = ask({})
    assert len(found.pending) == BLOCK
    assert found.drawn == found.pending
    for h in SIZES:
        ranks = [rank for at, rank in found.drawn if at == h]
        assert ranks == list(range(len(ranks)))
    # Verdicts that nobody decided are not asked about.
    assert all(h != 5 for h, _ in label(110))
    drawn = ask({}).drawn
    found = ask({place: right(place) for place in drawn[1:4]})
    assert (found.look.labels, found.waiting) == (0, 3)
    assert found.pending[0] == drawn[0]
    found = ask({place: right(place) for place in drawn[:4]})
    assert (found.look.labels, found.waiting) == (4, 0)
    # A label of a content that was not drawn yet counts once the draw reaches it.
    assert ask({(3, 55): Truth.PASS}).look.labels == 0


def test_a_corrected_label_changes_the_figures_and_not_the_draw() -> None:
    labels = label(40)
    drawn = ask(labels).drawn
    place = drawn[0]
    changed = {**labels, place: Truth.FAIL if right(place) is Truth.PASS else Truth.PASS}
    found = ask(changed, first={place: right(place)})
    assert found.drawn == drawn
    assert found.look.labels == 40
    assert found.look.high < 1.0 or found.look.low < ask(labels).look.low


def test_the_question_is_answered_one_may_stop_and_the_census_answers_all() -> None:
    found = ask(label(10))
    assert (found.reply, found.safe) == (Reply.NOT_YET, False)
    found = ask(label(70))
    assert (found.reply, found.safe, found.more) == (Reply.YES, True, 0)
    assert found.look.low >= 0.8
    assert ask(label(70), question=replace(QUESTION, op="<=", limit=0.5)).reply is Reply.NO
    found = ask(label(110))
    assert found.look.labels == 110
    assert found.pending == ()
    assert (found.look.low, found.look.high) == (1.0, 1.0)


def test_a_width_and_the_brier_score_are_asked_about_like_the_limit_of_a_rate() -> None:
    question = RunQuestion("accuracy", width=0.2, guesses=QUESTION.guesses)
    found = ask(label(80, question), question=question)
    assert found.look.high - found.look.low <= 0.2
    assert (found.safe, found.reply) == (True, Reply.YES)
    question = RunQuestion("brier", "<=", 0.2, guesses={0: 0.1, 1: 0.1, 3: 0.05})
    found = ask(label(90, question), question=question)
    # Confidence .9 and .8, always right: .01 and .04.
    assert found.look.estimate == pytest.approx((90 * 0.01 + 20 * 0.04) / 110, abs=0.02)
    assert found.reply is Reply.YES


def test_labels_from_before_the_question_are_known_and_not_drawn_again() -> None:
    known = frozenset({(0, 0), (3, 0), (3, 1)})
    found = ask(dict.fromkeys(known, Truth.PASS), before=known)
    assert found.known == 3
    assert not known & set(found.drawn)
    assert found.look.labels == 0
    assert found.look.low == pytest.approx(3 / 110)


def test_closing_counts_what_was_passed_over_against_both_ends() -> None:
    drawn = ask({}).drawn
    labels = {place: right(place) for place in drawn[1:5]}
    closed = RunQuestion("accuracy", ">=", 0.8, guesses=QUESTION.guesses, closed=True)
    found = ask(labels, question=closed)
    # The first has no label: it counts both ways, and not as a label.
    assert (found.look.labels, found.waiting) == (4, 0)
    assert found.look.high - found.look.low == pytest.approx(1 - 4 / 110, abs=1e-9)


DIFFER = QuestionItems({0: {2: True, 7: False}, 5: {1: True, 3: True}}, 40, {0: 0.5, 5: 0.5})
"""Two raters differ on 4 of 40 items; on three of them the first passes."""


def test_a_difference_is_known_where_two_raters_agree() -> None:
    question = RunQuestion("accuracy", ">=", 0.0, of=("a", "b"))
    found = ask({(0, 0): Truth.PASS}, question=question, items=DIFFER)
    assert sorted(found.drawn) == [(0, 2), (0, 7), (5, 1), (5, 3)]
    # A label where they agree does not count; without one, 4 of 40 may go either way.
    assert (found.look.labels, found.look.low, found.look.high) == (0, -0.1, 0.1)
    labels = {(0, 2): Truth.PASS, (0, 7): Truth.PASS, (5, 1): Truth.PASS, (5, 3): Truth.UNSURE}
    found = ask(labels, question=question, items=DIFFER)
    # The first is right on two and wrong on one; nobody can tell of the fourth.
    assert (found.look.now_low, found.look.now_high) == pytest.approx((0.0, 2 / 40))
    assert (found.reply, found.safe, found.pending) == (Reply.YES, True, ())
    # A limit beyond the share on which they differ is refused without a label.
    assert ask({}, question=replace(question, limit=0.2), items=DIFFER).reply is Reply.NO


def test_a_juror_is_asked_about_where_it_voted() -> None:
    question = RunQuestion("accuracy", width=0.5, of=("a",))
    labels = dict.fromkeys([(0, 2), (0, 7), (5, 1), (3, 0)], Truth.PASS)
    before = frozenset({(0, 2), (3, 0)})
    found = ask(labels, question=question, items=DIFFER, before=before)
    # Right on 0/2, known before, and on 5/1; wrong on 0/7; without a vote on 3/0.
    assert found.known == 1
    assert set(found.drawn) == {(0, 7), (5, 1), (5, 3)}
    labels[5, 3] = Truth.FAIL
    found = ask(labels, question=question, items=DIFFER, before=before)
    assert (found.look.now_low, found.look.now_high) == (0.5, 0.5)
