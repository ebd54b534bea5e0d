"""The strip's figures by increments, against the full recomputation of the same labels."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from reviewdesk.domain.labels.bulk import live_figures
from reviewdesk.domain.labels.label_columns import LabelColumns
from reviewdesk.domain.labels.marks import TRUTHS as MARKS
from reviewdesk.domain.labels.marks import UNSEEN
from reviewdesk.domain.labels.rows import SOURCES, LabelledRow, RunFigures
from reviewdesk.domain.labels.sampling import LabelledVerdict, Prefix
from reviewdesk.domain.labels.strip import LiveFigures
from reviewdesk.domain.labels.summary import alone, summarise
from reviewdesk.domain.query.columns import CODES
from reviewdesk.domain.records import Calibration, Design, Metrics, Truth
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import UsageError

DECISIONS = (Decision.PASS, Decision.FAIL, None)
UNDECIDED = st.sampled_from([None, Decision.INCONCLUSIVE, Decision.ERROR])
STILL = st.sampled_from([True, True, True, False])
CONFIDENCES = st.one_of(
    st.none(), st.sampled_from([0.0, 0.1, 0.3, 1 - 0.7, 0.6, 0.7, 1.0]), st.floats(0, 1)
)
SCORES = st.one_of(st.floats(0, 1), CONFIDENCES)
TRUTHS = st.sampled_from([*Truth, Truth.PASS, Truth.FAIL, Truth.PASS, Truth.FAIL])
SEEN = st.sampled_from([True, True, True, False])
CHANGE = st.tuples(st.integers(0, 999), st.one_of(st.none(), TRUTHS, TRUTHS, TRUTHS), SEEN)
STEPS = st.lists(st.lists(CHANGE, min_size=1, max_size=5), max_size=25)


@st.composite
def runs(draw: st.DrawFn, *, standing: bool = False) -> tuple[RunFigures, list[LabelledRow]]:
    """A run of few verdicts, any of its strata empty, and all of them as if labelled ``pass``.

    Unless they are ``standing``, some are decided otherwise than they were drawn.
    """
    sizes = {h: draw(st.integers(0, 4)) for h in draw(st.sets(st.integers(0, 5)))}
    places = [LabelledVerdict(h, rank, Truth.PASS) for h, n in sizes.items() for rank in range(n)]
    verdicts = []
    for key, place in enumerate(places, start=1):
        votes = draw(st.integers(0, 3))
        made = DECISIONS[place.stratum % 3] or draw(UNDECIDED)
        verdicts.append(
            LabelledRow(
                key=key,
                id=f"v{key}",
                item=b"%d" % key,
                # One that was drawn as decided may have been read otherwise since.
                decision=made if standing or draw(STILL) else None,
                score=draw(SCORES),
                stated_score=draw(CONFIDENCES),
                confidence=draw(CONFIDENCES),
                passes=draw(st.integers(0, votes)),
                answered=votes,
                place=place,
            )
        )
    figures = RunFigures(
        passed=sum(verdict.decision is Decision.PASS for verdict in verdicts),
        failed=sum(verdict.decision is Decision.FAIL for verdict in verdicts),
        confidence_source=draw(st.sampled_from(SOURCES)),
        scores_stated=draw(st.booleans()),
        sizes=sizes,
    )
    return figures, verdicts


def labelled(verdict: LabelledRow, truth: Truth, *, seen: bool = True) -> LabelledRow:
    decided = verdict.decision in {Decision.PASS, Decision.FAIL}
    place = LabelledVerdict(verdict.place.stratum, verdict.place.rank, truth, decided, seen)
    fields = {name: getattr(verdict, name) for name in verdict.__struct_fields__ if name != "place"}
    return LabelledRow(**fields, place=place)


def close(found: Metrics | None, expected: Metrics | None) -> None:
    assert (found is None) == (expected is None)
    if found is None or expected is None:
        return
    one, other = asdict(found), asdict(expected)
    for name, value in other.items():
        if isinstance(value, float):
            assert math.isclose(one[name], value, rel_tol=1e-12, abs_tol=1e-12), name
        else:
            assert one[name] == value, name


def same(found: Calibration, expected: Calibration) -> None:
    close(found.labelled, expected.labelled)
    close(found.population, expected.population)
    for name in expected.__struct_fields__:
        if name not in {"labelled", "population"}:
            assert getattr(found, name) == getattr(expected, name), name


def columns(labels: Iterable[LabelledRow]) -> LabelColumns:
    """The labels as a desk reads them at once."""
    made = sorted(labels, key=lambda one: one.key)
    marks = [MARKS.index(one.place.truth) | UNSEEN * (not one.place.seen) for one in made]
    codes = [CODES["decision"].index(one.decision) if one.decision else -1 for one in made]
    found: dict[str, array[Any]] = {
        "key": array("q", [one.key for one in made]),
        "mark": array("B", marks),
    }
    for name in ("score", "stated_score", "confidence"):
        values = [getattr(one, name) for one in made]
        found[name] = array("d", [math.inf if value is None else value for value in values])
    for name in ("passes", "answered"):
        found[name] = array("i", [getattr(one, name) for one in made])
    for name in ("stratum", "rank"):
        found[name] = array("i", [getattr(one.place, name) for one in made])
    return LabelColumns.of({**found, "decision": array("b", codes)})


@given(
    runs(), st.lists(st.tuples(TRUTHS, SEEN), max_size=24), STEPS, st.sampled_from([None, *SOURCES])
)
def test_any_labels_in_any_order(
    run: tuple[RunFigures, list[LabelledRow]],
    before: list[tuple[Truth, bool]],
    steps: list[list[tuple[int, Truth | None, bool]]],
    source: str | None,
) -> None:
    figures, verdicts = run
    given = zip(verdicts[::-1], before, strict=False)
    held = {one.key: labelled(one, truth, seen=seen) for one, (truth, seen) in given}
    # Those that stand at the start are counted at once, the others one by one.
    live = live_figures(figures, columns(held.values()), source)
    same(live.calibration(), summarise(list(held.values()), figures, source))
    close(live.alone(), alone(list(held.values()), {}).metrics)
    for step in steps if verdicts else []:
        picked = [(verdicts[which % len(verdicts)], truth, seen) for which, truth, seen in step]
        changes = {
            verdict.key: None if truth is None else labelled(verdict, truth, seen=seen)
            for verdict, truth, seen in picked
        }
        live.apply(changes)
        held = {key: one for key, one in (held | changes).items() if one is not None}
        same(live.calibration(), summarise(list(held.values()), figures, source))
        close(live.alone(), alone(list(held.values()), {}).metrics)
        assert len(live) == len(held)


@given(runs(standing=True), st.randoms(use_true_random=False))
def test_a_run_that_is_labelled_to_its_end_and_back(
    run: tuple[RunFigures, list[LabelledRow]], chance: random.Random
) -> None:
    figures, verdicts = run
    order = chance.sample(verdicts, len(verdicts))
    truths = [chance.choice([Truth.PASS, Truth.FAIL]) for _ in order]
    live = LiveFigures(figures)
    every = [labelled(verdict, truth) for verdict, truth in zip(order, truths, strict=True)]
    for verdict in every:
        live.apply({verdict.key: verdict})
    found = live.calibration()
    same(found, summarise(every, figures))
    decided = figures.passed + figures.failed
    assert found.design is (Design.CENSUS if decided else Design.NONE)
    for verdict in reversed(every):
        live.apply({verdict.key: None})
    same(live.calibration(), summarise([], figures))


def test_every_design_on_the_way_through_a_draw() -> None:
    # Flagged pass: ranks 0 and 1; rest pass: ranks 0 to 2; every verdict .8 sure.
    places = [(0, 0), (0, 1), (3, 0), (3, 1), (3, 2)]
    verdicts = [
        LabelledRow(key, f"v{key}", b"", Decision.PASS, 0.8, None, None, 1, 1, place)
        for key, place in enumerate(LabelledVerdict(h, rank, Truth.PASS) for h, rank in places)
    ]
    figures = RunFigures(5, 0, "support", scores_stated=False, sizes={0: 2, 3: 3})
    live = LiveFigures(figures)
    told = [live.calibration()]
    # Behind the prefix of the rest, the flagged ones, the front of the rest, its last.
    for key in (3, 0, 1, 2, 4):
        live.apply({key: verdicts[key]})
        told.append(live.calibration())
    assert [found.design for found in told] == [
        Design.NONE,
        Design.AD_HOC,
        Design.ESCALATED_ONLY,
        Design.ESCALATED_ONLY,
        Design.WEIGHTED,
        Design.CENSUS,
    ]
    weighted = told[4].population
    assert weighted is not None
    # Two labels that stand for themselves and two for 3/2 each: (1 + 1 + 1.5 + 1.5)² / 6.5.
    assert weighted.ess == pytest.approx(25 / 6.5)
    live.apply({2: None})
    assert live.calibration().design is Design.ESCALATED_ONLY


def test_a_label_that_waits_is_counted() -> None:
    place = LabelledVerdict(3, 5, Truth.PASS)
    front = LabelledVerdict(3, 0, Truth.FAIL)
    live = LiveFigures(RunFigures(9, 0, "support", scores_stated=False, sizes={3: 9}))
    for key, spot in enumerate((place, front)):
        live.apply({key: LabelledRow(key, "v", b"", Decision.PASS, 0.8, None, None, 1, 1, spot)})
    found = live.calibration()
    assert (found.design, found.waiting, found.labelled.n) == (Design.WEIGHTED, 1, 2)
    assert found.population is not None
    assert found.population.accuracy == 0.0


def test_a_label_of_an_unseen_response_stops_the_prefix_until_one_of_a_seen_stands() -> None:
    figures = RunFigures(3, 0, "support", scores_stated=False, sizes={3: 3})
    live = LiveFigures(figures)

    def give(rank: int, *, seen: bool) -> Calibration:
        place = LabelledVerdict(3, rank, Truth.PASS, seen=seen)
        live.apply({rank: LabelledRow(rank, "v", b"", Decision.PASS, 0.8, None, None, 1, 1, place)})
        return live.calibration()

    # The first and the last count, or wait: the label between them stops the prefix at 1.
    give(0, seen=True)
    give(1, seen=False)
    found = give(2, seen=True)
    assert (found.design, found.labelled.n, found.waiting) == (Design.WEIGHTED, 3, 2)
    assert give(1, seen=True).design is Design.CENSUS
    # Taken back to one of an unseen response, it stops the prefix again.
    assert give(1, seen=False).waiting == 2
    give(0, seen=False)
    # Labels of unseen responses alone are labels, outside the draw.
    assert give(2, seen=False).design is Design.AD_HOC


def test_an_unknown_source_is_refused() -> None:
    figures = RunFigures(0, 0, "support", scores_stated=False, sizes={})
    with pytest.raises(UsageError, match="agreement"):
        LiveFigures(figures, "agreement")


def test_what_a_label_costs() -> None:
    prefix: Prefix[str] = Prefix()
    for rank in range(1, 100):
        assert prefix.give(rank, "pass") == []
    # All of them wait for the first.
    assert prefix.end == 0
    assert prefix.give(0, "pass") == [("pass", 1)] * 100
    assert prefix.end == 100
    # Another word for a label costs one out and one in, wherever it stands.
    assert prefix.give(3, "unsure") == [("pass", -1), ("unsure", 1)]
    assert prefix.take(99) == [("pass", -1)]
    assert prefix.end == 99
    # Taken back from the front, the others are passed once, and then wait outside.
    assert [len(prefix.take(rank)) for rank in range(99)] == [99] + [0] * 98
    assert (prefix.end, 0 in prefix.held, 99 in prefix.held) == (0, False, False)
