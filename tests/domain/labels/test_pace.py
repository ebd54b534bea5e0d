"""The pace of a reviewer, each expected figure added up beside it."""

from datetime import timedelta

import pytest

from reviewdesk.domain.labels.repeats import Pacing
from reviewdesk.domain.records import Pace
from tests.helpers import START

NOTHING = Pace(None, 0)


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
    """``label@0 note@4``: kinds and their seconds; a ``-`` in front was undone."""
    pacing = Pacing()
    for action, word in enumerate(text.split()):
        kind, seconds = word.split("@")
        at = START + timedelta(seconds=float(seconds))
        pacing.add(at, kind.removeprefix("-"), action)
        pacing.turn(action, stands=False)
        pacing.turn(action, stands=not kind.startswith("-"))
    assert pacing.pace() == expected
