"""Which figures the strip keeps where it is narrow."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from reviewdesk.app.controllers.state import Figures, Session
from reviewdesk.app.paint.frame import strip_lines
from reviewdesk.domain.records import Calibration, Design, View
from tests.app.appkit import open_run, report, verdict
from tests.app.reviewkit import session_of

# A name takes 12 columns, "n 30" 5 with the space before it, "ECE 0.100" 10, "Brier 0.200" 12,
# "gap -0.050" 11, "acc 0.800" 10, "corrected 0.700" 16, its interval 15 and "· census" 9. A second
# space before each of the six figures and the design adds 7.
CORRECTED = [
    (107, ("ECE", "Brier", "gap", "acc", "corrected 0.700 [0.600, 0.750]")),
    (100, ("ECE", "Brier", "gap", "acc", "corrected 0.700 [0.600, 0.750]")),
    (99, ("ECE", "Brier", "acc", "corrected 0.700 [0.600, 0.750]")),
    (89, ("ECE", "Brier", "acc", "corrected 0.700 [0.600, 0.750]")),
    (88, ("ECE", "Brier", "acc", "corrected 0.700")),
    (74, ("ECE", "Brier", "acc", "corrected 0.700")),
    (73, ("ECE", "Brier", "corrected 0.700")),
    (64, ("ECE", "Brier", "corrected 0.700")),
    (63, ("ECE", "Brier")),
    (48, ("ECE", "Brier")),
    (47, ("ECE",)),
    (36, ("ECE",)),
    (35, ()),
]
# Without a corrected rate: 12 + 5 + 10 + 12 + 11 + 10 + 9.
PLAIN = [(69, ("ECE", "Brier", "gap", "acc")), (68, ("ECE", "Brier")), (47, ("ECE",)), (35, ())]
KNOWN = ("ECE", "Brier", "gap", "acc", "corrected", "[0.600, 0.750]")


@pytest.fixture
def shown(tmp_path: Path) -> tuple[Session, Calibration]:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1)]))
    session, found = session_of(desk, run, View()).session, desk.calibration(run)
    labelled = replace(
        found.labelled, n=30, ece=0.1, brier=0.2, gap=-0.05, accuracy=0.8,
        corrected_rate=0.7, corrected_rate_low=0.6, corrected_rate_high=0.75, corrected_status=None,
    )  # fmt: skip
    desk.close()
    return session, replace(found, labelled=labelled, population=None, design=Design.CENSUS)


def held(line: str, kept: tuple[str, ...]) -> None:
    assert line.startswith(" labelled")
    assert "n 30" in line
    assert all(text in line for text in kept)
    said = " ".join(kept)
    assert not [text for text in KNOWN if text not in said and text in line]
    assert line.endswith("· census")


@pytest.mark.parametrize(("width", "kept"), CORRECTED)
def test_the_corrected_rate_outlives_all_but_the_errors(
    shown: tuple[Session, Calibration], width: int, kept: tuple[str, ...]
) -> None:
    first, _ = strip_lines(shown[0], Figures(shown[1]), "B", width)
    held(first.plain, kept)
    assert len(first.plain) <= width


@pytest.mark.parametrize(("width", "kept"), PLAIN)
def test_without_a_corrected_rate_there_is_no_word_of_one(
    shown: tuple[Session, Calibration], width: int, kept: tuple[str, ...]
) -> None:
    session, found = shown
    bare = replace(
        found.labelled, corrected_rate=None, corrected_rate_low=None, corrected_rate_high=None
    )
    first, _ = strip_lines(session, Figures(replace(found, labelled=bare)), "B", width)
    held(first.plain, kept)


def test_each_line_names_its_own_design_and_what_it_leaves_out(
    shown: tuple[Session, Calibration],
) -> None:
    session, found = shown
    found = replace(found, population=found.labelled, design=Design.WEIGHTED, rowless=3, waiting=5)
    first, second = (one.plain for one in strip_lines(session, Figures(found), "B", 160))
    assert "· unweighted" in first
    assert "(+3 without a row)" in first
    assert "(+5 wait for the draw)" in second
    assert "· weighted" in second
