"""The line of figures at the foot of the review."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from reviewdesk.app.controllers.state import Figures, Session
from reviewdesk.app.paint.frame import strip_lines
from reviewdesk.domain.records import Calibration, Design, View
from tests.app.appkit import open_run, report, verdict
from tests.app.reviewkit import session_of
from tests.helpers import figures_of


@pytest.fixture
def shown(tmp_path: Path) -> tuple[Session, Calibration]:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1)]))
    session, found = session_of(desk, run, View()).session, figures_of(desk, run)
    # 2 of 8 that should fail were passed.
    labelled = replace(found.labelled, n=30, accuracy=0.8, tp=20, fn=2, tn=6, fp=2,
                       specificity=0.75)  # fmt: skip
    desk.close()
    return session, replace(found, labelled=labelled, population=None, design=Design.AD_HOC)


def drawn(session: Session, found: Calibration, width: int = 100) -> list[str]:
    return [line.plain for line in strip_lines(session, Figures(found, found.labelled), "B", width)]


def test_it_holds_three_figures_and_what_they_are(shown: tuple[Session, Calibration]) -> None:
    assert drawn(*shown) == [" 30 labels · accuracy 0.800 · false passes 0.250 · out of order"]
    # What the labels are goes first, and then the line is cut.
    assert drawn(*shown, 55) == [" 30 labels · accuracy 0.800 · false passes 0.250"]
    assert len(drawn(*shown, 20)[0]) <= 20


def test_the_run_is_told_before_the_labels_alone(shown: tuple[Session, Calibration]) -> None:
    session, found = shown
    whole = replace(found.labelled, n=24, accuracy=0.7, specificity=0.5)
    found = replace(found, population=whole, design=Design.WEIGHTED)
    assert drawn(session, found) == [
        " 24 labels · accuracy 0.700 · false passes 0.500 · weighted by group"
    ]


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize(("n", "words"), [(0, " no pass or fail labels yet"), (3, " 3 labels")])
def test_nothing_is_told_before_it_means_something(
    shown: tuple[Session, Calibration], n: int, words: str, blind: bool
) -> None:
    session, found = shown
    session = replace(
        session,
        view=View(blind=blind),
        progress=replace(session.progress, verdicts=60, labelled=n),
    )
    found = replace(found, labelled=replace(found.labelled, n=n))
    assert drawn(session, found) == [f"{words} · figures after {20 - n} more labels"]
    assert drawn(session, found, 30) == [f" figures after {20 - n} more labels"]


def test_a_blind_line_is_of_the_labels_alone(shown: tuple[Session, Calibration]) -> None:
    session, found = shown
    session = replace(session, view=View(blind=True))
    whole = replace(found, population=replace(found.labelled, accuracy=0.1), design=Design.WEIGHTED)
    assert drawn(session, whole) == drawn(*shown)
