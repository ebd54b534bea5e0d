"""The legend leaves out nothing that painters draw; the line of figures at the foot."""

import ast
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

import reviewdesk
from reviewdesk.app.controllers.state import Session
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.frame import strip_lines
from reviewdesk.app.widgets.queue_list import DECISIONS, label_mark, legend
from reviewdesk.desk.figures.strip import Strip
from reviewdesk.domain.assessment.result import MEANINGS, SHORT, WORDS, Flag
from reviewdesk.domain.records import Calibration, Design, QueueRow, Truth, View
from reviewdesk.domain.verdict import Band, Decision
from reviewdesk.views.words import TRUTHS
from tests.app.appkit import open_run, report, verdict
from tests.app.reviewkit import session_of
from tests.helpers import figures_of

PAINTERS = ("app/widgets/queue_list", "app/paint/frame", "views/jury", "views/verdict")
PLAIN = set("─−→")
"""What needs no legend: rules, the minus sign, and what becomes of a decision."""


def drawn(width: int = 100) -> str:
    return "\n".join(content.plain for content in document_lines(legend(), width))


def signs_of(name: str) -> set[str]:
    """Every character beyond ASCII in the strings that a painter draws."""
    tree = ast.parse((Path(reviewdesk.__path__[0]) / f"{name}.py").read_text("utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        char
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
        for char in node.value
        if not char.isascii()
    }


def test_every_flag_decision_and_band_is_there_with_its_meaning() -> None:
    assert set(MEANINGS) == set(WORDS) == set(SHORT) == set(Flag)
    for flag, short in SHORT.items():
        assert f"{short:<10}{WORDS[flag]}: {MEANINGS[flag]}" in drawn()
    assert set(DECISIONS) == {None, *Decision}
    for word, _, said in DECISIONS.values():
        assert f"{word:<10}{said}" in drawn()
    assert all(band.value in drawn() for band in Band)


@pytest.mark.parametrize(("label", "deferred"), [*product([None, *Truth], [False, True])])
def test_every_label_mark_is_there(label: Truth | None, deferred: bool) -> None:
    row = QueueRow(1, "id", "test", None, None, None, None, Flag(0), "", False, label, deferred)
    mark, _ = label_mark(row)
    said = "deferred" if label is None and deferred else TRUTHS[label] if label else "no label"
    assert f"{mark:<10}{said}" in drawn().splitlines()


@pytest.mark.parametrize("name", PAINTERS)
def test_every_sign_of_the_painters_is_there(name: str) -> None:
    found = signs_of(name) - PLAIN
    assert found
    assert found <= set(drawn())


@pytest.mark.parametrize("width", [*range(1, 90), 100, 139, 160])
def test_it_folds_at_every_width_and_loses_no_word_from_36_on(width: int) -> None:
    lines = document_lines(legend(), width)
    assert max(cell_len(content.plain) for content in lines) <= width
    if width >= 36:
        assert drawn(width).replace("─", "").split() == drawn(300).replace("─", "").split()


@pytest.fixture
def shown(tmp_path: Path) -> tuple[Session, Calibration]:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1)]))
    session, found = session_of(desk, run, View()).session, figures_of(desk, run)
    # 2 of 8 that should fail were passed.
    labelled = replace(found.labelled, n=30, accuracy=0.8, tp=20, fn=2, tn=6, fp=2,
                       specificity=0.75)  # fmt: skip
    desk.close()
    return session, replace(found, labelled=labelled, population=None, design=Design.AD_HOC)


def strip_drawn(session: Session, found: Calibration, width: int = 100) -> list[str]:
    return [line.plain for line in strip_lines(session, Strip(found, found.labelled), "B", width)]


def test_it_holds_three_figures_of_the_run_before_those_of_the_labels_alone(
    shown: tuple[Session, Calibration],
) -> None:
    assert strip_drawn(*shown) == [
        " 30 labels · accuracy 0.800 · false passes 0.250 · out of order"
    ]
    # What the labels are goes first, then whole figures from the end.
    assert strip_drawn(*shown, 55) == [" 30 labels · accuracy 0.800 · false passes 0.250"]
    assert strip_drawn(*shown, 42) == [" 30 labels · accuracy 0.800"]
    assert strip_drawn(*shown, 20) == [" 30 labels"]
    session, found = shown
    whole = replace(found.labelled, n=24, accuracy=0.7, specificity=0.5)
    found = replace(found, population=whole, design=Design.WEIGHTED)
    assert strip_drawn(session, found) == [
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
    assert strip_drawn(session, found) == [f"{words} · figures after {20 - n} more labels"]
    assert strip_drawn(session, found, 30) == [f" figures after {20 - n} more labels"]


def test_a_blind_line_is_of_the_labels_alone(shown: tuple[Session, Calibration]) -> None:
    session, found = shown
    session = replace(session, view=View(blind=True))
    whole = replace(found, population=replace(found.labelled, accuracy=0.1), design=Design.WEIGHTED)
    assert strip_drawn(session, whole) == [f"{strip_drawn(*shown, 55)[0]} · labels alone"]
