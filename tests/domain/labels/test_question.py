"""Questions: how they are read, what is drawn next, and which labels count."""

from collections.abc import Mapping

import pytest

from reviewdesk.domain.labels.answers import BLOCK, answer
from reviewdesk.domain.labels.question import Given, Reply, RunAnswer, RunQuestion, parse_question
from reviewdesk.domain.labels.rows import LabelledRow, RunFigures
from reviewdesk.domain.labels.sampling import LabelledVerdict
from reviewdesk.domain.records import Truth
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import UsageError

PLACE = tuple[int, int]
SIZES = {0: 30, 1: 20, 3: 60, 5: 8}
"""Flagged passes and fails, passes of the rest, and eight verdicts that nobody decided."""
FIGURES = RunFigures(90, 20, "support", False, SIZES)
QUESTION = RunQuestion("accuracy", ">=", 0.8, guesses={0: 0.7, 1: 0.7, 3: 0.95})


def row(place: PLACE, truth: Truth) -> LabelledRow:
    h, rank = place
    decision = Decision.FAIL if h % 3 == 1 else Decision.PASS
    of = LabelledVerdict(h, rank, truth)
    score = 0.2 if decision is Decision.FAIL else 0.9
    return LabelledRow(0, f"{h}/{rank}", b"", decision, score, None, None, 1, 1, of)


def right(place: PLACE) -> Truth:
    return Truth.FAIL if place[0] % 3 == 1 else Truth.PASS


def ask(
    labels: Mapping[PLACE, Truth],
    *,
    first: Mapping[PLACE, Truth] | None = None,
    before: frozenset[PLACE] = frozenset(),
    question: RunQuestion = QUESTION,
) -> RunAnswer:
    given = [
        Given(place, row(place, truth), (first or {}).get(place, truth), place in before)
        for place, truth in labels.items()
    ]
    return answer(question, "seed", FIGURES, given)


def label(count: int, question: RunQuestion = QUESTION) -> dict[PLACE, Truth]:
    """Label so many contents in the order drawn, all as the panel decided."""
    made: dict[PLACE, Truth] = {}
    while len(made) < count:
        for place in ask(made, question=question).pending[: count - len(made)]:
            made[place] = right(place)
    return made


@pytest.mark.parametrize(
    ("text", "figure", "op", "limit"),
    [
        ("accuracy >= 0.9", "accuracy", ">=", 0.9),
        ("Pass rate<=40%", "pass_rate", "<=", 0.4),
        ("pass_rate >= .5", "pass_rate", ">=", 0.5),
        ("brier <= 0.2", "brier", "<=", 0.2),
    ],
)
def test_questions_are_read(text: str, figure: str, op: str, limit: float) -> None:
    found = parse_question(text)
    assert (found.figure, found.op, found.limit) == (figure, op, limit)
    again = RunQuestion.from_detail(found.detail(), at="", event=0, closed=False)
    assert again == found


@pytest.mark.parametrize(
    ("text", "width", "says"),
    [
        ("accuracy", None, "neither a limit nor a width"),
        ("kappa >= 0.5", None, "no figure 'kappa'"),
        ("accuracy > 0.9", None, "cannot read"),
        ("accuracy >= 1.2", None, "1.2 is not between 0 and 1"),
        ("accuracy >= 0.9.1", None, "cannot read the number"),
        ("accuracy", 1.5, "1.5 is not between 0 and 1"),
    ],
)
def test_questions_that_cannot_be_asked(text: str, width: float | None, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_question(text, width)


def test_a_block_is_drawn_and_each_stratum_follows_its_own_order() -> None:
    found = ask({})
    assert len(found.pending) == BLOCK
    assert found.drawn == found.pending
    for h in SIZES:
        ranks = [rank for at, rank in found.drawn if at == h]
        assert ranks == list(range(len(ranks)))
    # Verdicts that nobody decided are not asked about.
    assert all(h != 5 for h, _ in label(110))


def test_labels_out_of_turn_wait_for_those_before_them() -> None:
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


def test_the_question_is_answered_and_one_may_stop() -> None:
    found = ask(label(10))
    assert (found.reply, found.safe) == (Reply.NOT_YET, False)
    found = ask(label(70))
    assert (found.reply, found.safe, found.more) == (Reply.YES, True, 0)
    assert found.look.low >= 0.8
    no = ask(label(70), question=RunQuestion("accuracy", "<=", 0.5, guesses=QUESTION.guesses))
    assert no.reply is Reply.NO or no.drawn != ask(label(70)).drawn


def test_an_interval_as_narrow_as_asked_is_safe_to_stop_at() -> None:
    question = RunQuestion("accuracy", width=0.2, guesses=QUESTION.guesses)
    found = ask(label(80, question), question=question)
    assert found.look.high - found.look.low <= 0.2
    assert (found.safe, found.reply) == (True, Reply.YES)


def test_the_census_answers_every_question() -> None:
    found = ask(label(110))
    assert found.look.labels == 110
    assert found.pending == ()
    assert (found.look.low, found.look.high) == (1.0, 1.0)


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
    assert (found.look.labels, found.waiting) == (5, 0)


def test_the_brier_score_is_asked_about_like_a_rate() -> None:
    question = RunQuestion("brier", "<=", 0.2, guesses={0: 0.1, 1: 0.1, 3: 0.05})
    found = ask(label(90, question), question=question)
    # Confidence .9 and .8, always right: .01 and .04.
    assert found.look.estimate == pytest.approx((90 * 0.01 + 20 * 0.04) / 110, abs=0.02)
    assert found.reply is Reply.YES
