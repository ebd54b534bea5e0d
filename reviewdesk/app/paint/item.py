"""Painters for the item pane: the texts, checks, labels and note of one item."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from reviewdesk.app.paint.document import section_lines
from reviewdesk.app.paint.long_text import BESIDE, beside, column, section
from reviewdesk.app.paint.styled import Lines, paragraph
from reviewdesk.app.texts.find import highlight
from reviewdesk.app.texts.pages import page_count
from reviewdesk.app.texts.reading import ReadingOptions
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.records import Item
from reviewdesk.views import verdict
from reviewdesk.views.document import Section

_USUAL = ReadingOptions()


def item_lines(item: Item, width: int, *, hidden: bool, reading: ReadingOptions = _USUAL) -> Lines:
    """Return the whole pane; ``hidden`` leaves out what a blind session must not show.

    No line is wider than the width, unless ``reading`` leaves long lines whole.
    """
    over = () if hidden else verdict.headline(item)
    lines = [
        *section_lines(Section("", over), width),
        *section_lines(Section("", verdict.title(item, blind=hidden)), width),
        *_texts(item, width, reading),
    ]
    for one in (*verdict.checks(item), *verdict.review(item, blind=hidden)):
        lines += [Content(""), *section_lines(one, width)]
    return highlight(lines, reading.find)


def pages(item: Item) -> int:
    """Return how many pages the longest text of the item has."""
    return max(map(page_count, verdict.texts(item).values()), default=page_count(""))


def _texts(item: Item, width: int, reading: ReadingOptions) -> Lines:
    """Return every text under its title. Two responses stand side by side where they fit."""
    texts = verdict.texts(item)
    pair = "output" in texts and "alternative" in texts
    together = pair and reading.beside and reading.wrap and width >= BESIDE
    lines: Lines = []
    for key, title in verdict.TEXTS.items():
        name, text = title.upper(), texts.get(key)
        if key == "output" and together:
            lines += _pair(texts, width, reading)
        elif text is not None and not (key == "alternative" and together):
            note = verdict.SIDE_NOTE if key == "alternative" else ""
            lines += [Content(""), *section(name, text, width, reading, note)]
        elif key == "output":
            lines += [Content(""), *section(name, "", width, reading, verdict.NO_RESPONSE)]
    return lines


def _pair(texts: Mapping[str, str], width: int, reading: ReadingOptions) -> Lines:
    left, right = (
        section(verdict.TEXTS[key].upper(), texts[key], column(width), reading)
        for key in ("output", "alternative")
    )
    note = paragraph(verdict.SIDE_NOTE, width, Ink.MUTED)
    return [Content(""), *note, *beside(left, right, width)]
