"""The strip's figures from columns, against those of the same labels one by one."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from reviewdesk.domain.labels.label_columns import LabelColumns, make_rows, weigh
from reviewdesk.domain.labels.sampling import SOURCES, UNSEEN, LabelledRow, RunFigures
from reviewdesk.domain.labels.sampling import TRUTHS as MARKS
from reviewdesk.domain.labels.summary import alone
from reviewdesk.domain.query.words import CODES
from reviewdesk.domain.records import Calibration, Design, Metrics, Truth
from reviewdesk.domain.stats.calibration import measure
from reviewdesk.domain.verdict import Decision
from tests.helpers import placed

UNDECIDED = st.sampled_from([None, Decision.INCONCLUSIVE, Decision.ERROR])
STILL = st.sampled_from([True, True, True, False])
CONFIDENCES = st.one_of(
    st.none(), st.sampled_from([0.0, 0.1, 0.3, 1 - 0.7, 0.6, 0.7, 1.0]), st.floats(0, 1)
)
SCORES = st.one_of(st.floats(0, 1), CONFIDENCES)
TRUTHS = st.sampled_from([*Truth, Truth.PASS, Truth.FAIL, Truth.PASS, Truth.FAIL])
SEEN = st.sampled_from([True, True, True, False])
CHANGE = st.tuples(st.integers(0, 999), st.one_of(st.none(), TRUTHS, TRUTHS, TRUTHS), SEEN)


@st.composite
def runs(draw: st.DrawFn, *, standing: bool = False) -> tuple[RunFigures, list[LabelledRow]]:
    """A run of few verdicts, any of its strata empty, and all of them as if labelled ``pass``.

    Unless they are ``standing``, some are decided otherwise than they were drawn.
    """
    sizes = {h: draw(st.integers(0, 4)) for h in draw(st.sets(st.integers(0, 5)))}
    places = [(h, rank) for h, n in sizes.items() for rank in range(n)]
    verdicts = []
    for key, (h, rank) in enumerate(places, start=1):
        votes = draw(st.integers(0, 3))
        made = (Decision.PASS, Decision.FAIL, None)[h % 3] or draw(UNDECIDED)
        verdicts.append(
            placed(
                h, rank, Truth.PASS, draw(SCORES), key=key, item=b"%d" % key,
                # One that was drawn as decided may have been read otherwise since.
                decision=made if standing or draw(STILL) else None,
                stated_score=draw(CONFIDENCES), confidence=draw(CONFIDENCES),
                passes=draw(st.integers(0, votes)), answered=votes,
            )
        )  # fmt: skip
    figures = RunFigures(
        passed=sum(verdict.decision is Decision.PASS for verdict in verdicts),
        failed=sum(verdict.decision is Decision.FAIL for verdict in verdicts),
        confidence_source=draw(st.sampled_from(SOURCES)),
        scores_stated=draw(st.booleans()),
        sizes=sizes,
    )
    return figures, verdicts


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
    return LabelColumns.of(arrays(labels))


def arrays(labels: Iterable[LabelledRow]) -> dict[str, array[Any]]:
    """The labels as a desk reads them at once."""
    made = sorted(labels, key=lambda one: one.key)
    marks = [MARKS.index(one.truth) | UNSEEN * (not one.seen) for one in made]
    codes = [CODES["decision"].index(one.decision) if one.decision else -1 for one in made]
    found: dict[str, array[Any]] = {
        "key": array("q", [one.key for one in made]),
        "mark": array("B", marks),
    }
    for name in ("score", "stated_score", "confidence"):
        values = [getattr(one, name) for one in made]
        found[name] = array("d", [math.inf if value is None else value for value in values])
    for name in ("passes", "answered", "stratum", "rank"):
        found[name] = array("i", [getattr(one, name) for one in made])
    return {**found, "decision": array("b", codes)}


def lines(figures: RunFigures, labels: Iterable[LabelledRow]) -> Calibration:
    return weigh(columns(labels), figures).lines


@given(runs(), st.lists(st.tuples(TRUTHS, SEEN), max_size=24), st.sampled_from([None, *SOURCES]))
def test_any_labels(run: Any, given: list[tuple[Truth, bool]], source: str | None) -> None:
    figures, verdicts = run
    pairs = zip(verdicts[::-1], given, strict=False)
    held = [replace(one, truth=truth, seen=seen) for one, (truth, seen) in pairs]
    found = columns(held)
    made = make_rows(held, figures, source)
    same(weigh(found, figures, source).lines, made.lines)
    close(measure(found.own_rows()[0]), alone(made, {}).metrics)


@given(runs(), st.lists(st.lists(CHANGE, min_size=1, max_size=5), max_size=25))
def test_columns_that_follow_the_marks_are_those_that_are_read_anew(run: Any, steps: Any) -> None:
    _, verdicts = run
    held: dict[int, LabelledRow] = {}
    followed = LabelColumns.of_rows(())
    for step in steps if verdicts else []:
        for which, truth, seen in step:
            verdict = verdicts[which % len(verdicts)]
            held.pop(verdict.key, None)
            if truth is not None:
                held[verdict.key] = replace(verdict, truth=truth, seen=seen)
        anew = columns(held.values())
        marks = bytearray(len(verdicts))
        for key, mark in zip(anew.key.tolist(), anew.mark.tolist(), strict=True):
            marks[key - 1] = mark

        def read(fresh: bytearray, held: dict[int, LabelledRow] = held) -> dict[str, array[Any]]:
            return arrays(held[place + 1] for place, mark in enumerate(fresh) if mark)

        followed = followed.following(marks, 1, read)
        for name in {*anew.__dataclass_fields__} - {"content"}:
            np.testing.assert_array_equal(getattr(followed, name), getattr(anew, name), name)


def test_a_label_of_an_unseen_response_stops_the_prefix_until_one_of_a_seen_stands() -> None:
    figures = RunFigures(3, 0, "support", scores_stated=False, sizes={3: 3})

    def given(*seen: bool) -> Calibration:
        return lines(
            figures, [placed(3, rank, Truth.PASS, seen=one) for rank, one in enumerate(seen)]
        )

    # The first and the last count, or wait: the label between them stops the prefix at 1.
    found = given(True, False, True)
    assert (found.design, found.labelled.n, found.waiting) == (Design.WEIGHTED, 3, 2)
    assert given(True, True, True).design is Design.CENSUS
    # Labels of unseen responses alone are labels, outside the draw.
    assert given(False, False, False).design is Design.AD_HOC
