"""The pace of a reviewer, each expected figure added up beside it."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from reviewdesk.domain.labels.repeats import PaceEvent, Pacing
from reviewdesk.domain.records import Pace
from tests.helpers import START

NOTHING = Pace(None, 0)


def pace(given: Iterable[PaceEvent]) -> Pace:
    """The pace of some steps, the oldest first."""
    pacing = Pacing()
    for step in given:
        pacing.add(step)
    return pacing.pace()


def steps(text: str) -> list[PaceEvent]:
    """``label@0 note@4``: kinds and their seconds; a ``-`` in front was undone."""
    found = []
    for word in text.split():
        kind, seconds = word.split("@")
        at = START + timedelta(seconds=float(seconds))
        found.append(PaceEvent(at, kind.removeprefix("-"), not kind.startswith("-")))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Dwells 10, 20 and 60: the median is 20; 3 in 90 s are 3 / 90 * 3600 = 120 in an hour.
        ("label@0 label@10 label@30 label@90", Pace(120.0, 3)),
        # The median of an even number lies between: dwells 10 and 20; 2 / 30 * 3600 = 240.
        ("label@0 label@10 label@30", Pace(240.0, 2)),
        # Without a timed label nothing is said.
        *((text, NOTHING) for text in ("", "label@0", "note@0 label@9", "defer@0")),
        ("label@0 defer@9", NOTHING),
        # What else was done on the item is part of its time: 4 + 5 + 3 + 8 = 20 seconds.
        ("label@0 note@4 tags@9 mark@12 label@20", Pace(180.0, 1)),
        # The 50 seconds on the item that came back belong to no label; the next label took 10.
        ("label@0 repeat@50 label@60", Pace(360.0, 1)),
        # The 50 seconds before a deferral belong to no label; the label took 10.
        ("label@0 defer@50 label@60", Pace(360.0, 1)),
        # A deferral will do as the beginning of the first label.
        ("defer@0 label@10", Pace(360.0, 1)),
        # 300 s are no absence, 300.001 are; the label after that is counted again: 300 and 12.
        ("label@0 label@300 label@600.001 label@612.001", Pace(2 / 312 * 3600, 2)),
        # An absence anywhere in a label's time leaves it out.
        ("label@0 note@10 note@400 label@405", NOTHING),
        # Many small gaps are work, however long they are together: 200 + 200 + 200.
        ("label@0 note@200 note@400 label@600", Pace(6.0, 1)),
        # Labelled after 10 s, taken back after 2 more, given again after 3 more: one item in 15 s.
        ("label@0 -label@10 undo@12 label@15", Pace(240.0, 1)),
        # The first label taken back leaves the next one without a beginning.
        ("-label@0 undo@2 label@15", NOTHING),
        # Undone and brought back: it stands, at the time it was given.
        ("label@0 label@10 undo@11 redo@13 label@15", Pace(480.0, 2)),
        # An undone deferral ends nothing, and a clock that was set back tells nothing.
        ("label@0 -defer@50 undo@52 label@60", Pace(60.0, 1)),
        ("label@100 label@50 label@60", Pace(360.0, 1)),
        # Labels in no time have no rate.
        ("label@0 label@0", Pace(None, 1)),
    ],
)
def test_worked_paces(text: str, expected: Pace) -> None:
    assert pace(steps(text)) == expected


KINDS = st.sampled_from(["label", "defer", "note", "tags", "mark", "reveal", "undo", "redo"])
WALKS = st.lists(st.tuples(KINDS, st.booleans(), st.integers(0, 400_000)), max_size=30)


def walk(drawn: list[tuple[str, bool, int]]) -> list[PaceEvent]:
    """Steps in the order of time, the gaps given in milliseconds."""
    at, found = START, []
    for kind, stands, gap in drawn:
        at += timedelta(milliseconds=gap)
        found.append(PaceEvent(at, kind, stands))
    return found


@given(WALKS, st.integers(-(10**9), 10**9))
def test_the_hour_of_the_day_does_not_matter(
    drawn: list[tuple[str, bool, int]], seconds: int
) -> None:
    taken = walk(drawn)
    moved = [replace(step, at=step.at + timedelta(seconds=seconds)) for step in taken]
    assert pace(moved) == pace(taken)


@given(WALKS)
def test_the_figures_stay_in_their_bounds(drawn: list[tuple[str, bool, int]]) -> None:
    taken = walk(drawn)
    found = pace(taken)
    labels = [step for step in taken if step.kind == "label" and step.stands]
    assert 0 <= found.counted <= len(labels)
    if found.per_hour is not None and found.counted:
        # What was counted fits into the time from the first step to the last.
        spent = (taken[-1].at - taken[0].at).total_seconds()
        assert found.counted / found.per_hour * 3600 <= spent * (1 + 1e-9)


@given(WALKS)
def test_a_note_within_a_gap_changes_nothing(drawn: list[tuple[str, bool, int]]) -> None:
    # Halving a gap of at most five minutes leaves two that are none longer.
    short = [(kind, stands, gap % 300_000) for kind, stands, gap in drawn]
    halved = [
        half
        for kind, stands, gap in short
        for half in (("note", True, gap // 2), (kind, stands, gap - gap // 2))
    ]
    assert pace(walk(halved)) == pace(walk(short))


WORK = st.lists(
    st.tuples(
        st.sampled_from(["label", "label", "defer", "note", "undo", "redo"]),
        st.integers(-2, 400),
        st.integers(0, 30),
    ),
    max_size=30,
)


@given(WORK)
def test_steps_and_turns_one_by_one_as_all_at_once(work: list[tuple[str, int, int]]) -> None:
    pacing, at, held = Pacing(), START, list[PaceEvent]()
    for number, (kind, gap, which) in enumerate(work):
        at += timedelta(seconds=gap)
        if kind in {"undo", "redo"} and held:
            place = which % len(held)
            held[place] = replace(held[place], stands=kind == "redo")
            pacing.turn(place, stands=kind == "redo")
        held.append(PaceEvent(at, kind))
        pacing.add(held[-1], number)
        assert pacing.pace() == pace(held)


def test_an_action_of_another_run_turns_nothing() -> None:
    pacing = Pacing()
    for number, step in enumerate(steps("label@0 label@10")):
        pacing.add(step, 2 * number)
    pacing.turn(1, stands=False)
    pacing.turn(9, stands=False)
    assert pacing.pace() == Pace(360.0, 1)
