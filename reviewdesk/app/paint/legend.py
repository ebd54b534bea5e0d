"""The legend: every sign of the screen with its meaning, in the ink it is drawn with."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from reviewdesk.app.paint.rows import DECISIONS, DEFERRED, LABELS, LOUD, NOT_TOLD, OPEN_WITH
from reviewdesk.app.paint.styled import Lines, Piece, flow, heading, line, pad, paragraph
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.assessment.flags import SHORT, WORDS
from reviewdesk.domain.query.tokens import HELP
from reviewdesk.domain.records import Truth
from reviewdesk.domain.verdict import Decision
from reviewdesk.views import glossary
from reviewdesk.views.glossary import FLAG_TERMS

TRUTHS: dict[Truth | None, str] = {
    None: "no label",
    Truth.PASS: "pass",
    Truth.FAIL: "fail",
    Truth.UNSURE: "can't tell",
    Truth.DISPUTED: "reviewers differ",
}
CAME_OUT: dict[Decision | None, str] = {
    Decision.PASS: "the panel passes it",
    Decision.FAIL: "the panel fails it",
    Decision.INCONCLUSIVE: "no decision",
    Decision.ERROR: "the panel broke down",
    None: "none stated",
}
AGREEMENT = (
    ("0.41 low", Ink.WARN),
    "how close the jurors are, and its band: high, medium or low; no word if the measure has none",
)
FLAGS = {flag: term.text for flag, term in FLAG_TERMS.items()}
"""What each flag means in general. The jury pane gives the reason for one verdict."""
_INKS = {
    "▸": Ink.KEY, "*": Ink.NOTE, "▹ ▿": Ink.HEAD, "+": Ink.KEY, "¶": Ink.NOTE, "~": Ink.NOTE,
    "◆": Ink.WARN, "≠": Ink.WARN, "○": Ink.MUTED, "✓": Ink.PASS, "✗": Ink.FAIL, "–": Ink.MUTED,
    "⚠": Ink.WARN, "×": Ink.TEXT, "…": Ink.TEXT,
}  # fmt: skip
SIGNS: tuple[tuple[Piece, str], ...] = tuple(
    ((sign, _INKS.get(sign, Ink.STRONG)), text) for sign, text in glossary.SIGNS.items()
)
"""The signs of all panes."""

MOUSE: tuple[tuple[Piece, str], ...] = (
    (("click", Ink.KEY), "a hint at the foot does what its key does; a row shows its item"),
    (("drag", Ink.KEY), "the rule between two panes sets their widths; a text selects it"),
    (("wheel", Ink.KEY), "scrolls what is under the mouse"),
)
"""What the mouse does."""

_COLUMN = 11


def legend_lines(width: int) -> Lines:
    """Return all signs, grouped by the place where they appear, and what the mouse does."""
    return [
        heading("LABELS", width),
        *_facts(_labels(), width),
        Content(""),
        heading("DECISION AND AGREEMENT", width),
        *_facts(((DECISIONS[made], text) for made, text in CAME_OUT.items()), width),
        *_list([AGREEMENT], width),
        Content(""),
        heading("FLAGS", width),
        *_list(_flags(), width),
        Content(""),
        heading("SIGNS", width),
        *_list(SIGNS, width),
        Content(""),
        heading("FILTERS", width),
        *(
            row
            for text in HELP.splitlines()
            for row in paragraph(text, width, indent=2, first=[("  ", "")])
        ),
        Content(""),
        heading("MOUSE", width),
        *_list(MOUSE, width),
    ]


def _labels() -> Iterable[tuple[Piece, str]]:
    for truth, text in TRUTHS.items():
        mark, ink = LABELS[truth]
        yield (mark, ink), text
    yield DEFERRED, "deferred"
    yield NOT_TOLD, "labelled by another, told once you label or reveal it"
    yield OPEN_WITH, "open with another reviewer"


def _flags() -> Iterable[tuple[Piece, str]]:
    for flag, short in SHORT.items():
        yield (short, Ink.WARN if flag in LOUD else Ink.MUTED), f"{WORDS[flag]}: {FLAGS[flag]}"
    yield ("", Ink.MUTED), "A line without room for all of them names the first ones."


def _facts(signs: Iterable[tuple[Piece, str]], width: int) -> Lines:
    return flow((line("  ", sign, f" {text}") for sign, text in signs), width, 2)


def _list(signs: Iterable[tuple[Piece, str]], width: int) -> Lines:
    """Return the signs one below the other."""
    lines: Lines = []
    for (sign, ink), text in signs:
        lead = (f"  {pad(sign, _COLUMN - 2)}", ink)
        lines += paragraph(text, width, first=[lead], indent=_COLUMN)
    return lines
