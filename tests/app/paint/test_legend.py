"""The legend leaves nothing out that the painters draw."""

import ast
from itertools import product
from pathlib import Path

import pytest
from rich.cells import cell_len

import reviewdesk
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.widgets.queue_list import (
    CAME_OUT,
    DECISIONS,
    FLAGS,
    SIGNS,
    TRUTHS,
    label_mark,
    legend,
)
from reviewdesk.domain.assessment.result import SHORT, WORDS, Flag
from reviewdesk.domain.records import QueueRow, Truth
from reviewdesk.domain.verdict import Band, Decision

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


def test_every_flag_is_there_with_its_meaning() -> None:
    assert set(FLAGS) == set(WORDS) == set(SHORT) == set(Flag)
    for flag, short in SHORT.items():
        assert f"{short:<10}{WORDS[flag]}: {FLAGS[flag]}" in drawn()


@pytest.mark.parametrize(("label", "deferred"), [*product([None, *Truth], [False, True])])
def test_every_label_mark_is_there_in_its_ink(label: Truth | None, deferred: bool) -> None:
    row = QueueRow(1, "id", "test", None, None, None, None, Flag(0), "", False, label, deferred)
    mark, ink = label_mark(row)
    said = "deferred" if label is None and deferred else TRUTHS[label]
    wanted = f"  {mark} {said}"
    lines = [content.pad_left(2) for content in document_lines(legend(), 200)]
    [line] = [content for content in lines if wanted in content.plain]
    at = line.plain.index(wanted) + 2
    assert (at, at + len(mark), str(ink)) in [tuple(span) for span in line.spans]


def test_every_decision_and_band_is_there() -> None:
    assert set(CAME_OUT) == set(DECISIONS) == {None, *Decision}
    for made, said in CAME_OUT.items():
        assert f"{DECISIONS[made][0]} {said}" in drawn()
    assert all(band.value in drawn() for band in Band)


@pytest.mark.parametrize("name", PAINTERS)
def test_every_sign_of_the_painters_is_there(name: str) -> None:
    found = signs_of(name) - PLAIN
    assert found
    assert found <= set(drawn())


def test_signs_are_named_once() -> None:
    names = [sign for (sign, _), _ in SIGNS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("width", [*range(1, 90), 100, 139, 160])
def test_it_folds_at_every_width_and_loses_no_word_from_36_on(width: int) -> None:
    lines = document_lines(legend(), width)
    assert max(cell_len(content.plain) for content in lines) <= width
    if width >= 36:
        assert drawn(width).replace("─", "").split() == drawn(300).replace("─", "").split()
