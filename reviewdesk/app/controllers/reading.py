"""The controller of how an item's texts are drawn, which never changes what they say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.requests import Jump, Sideways
from reviewdesk.app.texts.reading import FOLDS, TITLE
from reviewdesk.domain.records import Item
from reviewdesk.views.document import Tone
from reviewdesk.views.verdict import FIGURES, REASONS

_FOLDED_TEXTS = {TITLE: "name", "rubric": "rubric", "input": "input", "reference": "reference"}
_SIDEWAYS = 8
"""Columns by which one key press scrolls unwrapped lines."""


class ReadingController:
    """Turns the pages of long texts, and the options of how texts are drawn."""

    def __init__(self, core: Core, pages: Callable[[Item], int]) -> None:
        """Act on the texts of ``core``; ``pages`` counts the pages of an item's longest text."""
        self._core, self._pages = core, pages

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, by action id."""
        core, toggle = self._core, self._toggle
        sideways = f"{core.keys.first('left')} {core.keys.first('right')} move sideways"
        beside, below = "side by side where there is room", "below each other"
        texts, two = "texts are", "two responses stand"
        return {
            "text.next": partial(self._page, 1),
            "text.previous": partial(self._page, -1),
            "wrap": partial(
                toggle, "wrap", "lines are wrapped", f"lines are not wrapped: {sideways}"
            ),
            "plain": partial(
                toggle, "plain", f"{texts} shown exactly as they are", f"{texts} formatted"
            ),
            "beside": partial(toggle, "beside", f"{two} {beside}", f"{two} {below}"),
            "jury.reasons": partial(
                self._unfold,
                frozenset({REASONS}),
                "the jurors' reasons are shown in full",
                "the jurors' reasons are cut where room is short",
            ),
            "jury.figures": partial(
                self._unfold, FIGURES, "the jury's figures are shown", "the jury's figures fold"
            ),
            "unfold": self._unfold_texts,
            "part.next": lambda: core.requests.append(Jump(1)),
            "part.previous": lambda: core.requests.append(Jump(-1)),
            "left": lambda: core.requests.append(Sideways(-_SIDEWAYS)),
            "right": lambda: core.requests.append(Sideways(_SIDEWAYS)),
        }

    def _page(self, by: int) -> None:
        core, item = self._core, self._core.session.item
        last = 0 if item is None else self._pages(item) - 1
        if last < 1:
            core.say_here("no text here is longer than a page")
            return
        page = max(0, min(core.reading.page + by, last))
        if item is not None and page != core.reading.page:
            core.start += 1
            core.seen.turn_to(core.seen.paged(item))
        core.reading = replace(core.reading, page=page)
        core.say_here(f"page {page + 1} of {last + 1}")

    def _unfold(self, names: frozenset[str], on: str, off: str) -> None:
        """Open parts of the jury's pane, or fold them if they are open, and say which."""
        core = self._core
        if core.session.hidden:
            reveal = core.keys.first("reveal")
            core.say_here(f"the panel's answer is hidden until you label; {reveal} reveals it")
            return
        opened = core.reading.open_sections
        folds = names <= opened
        kept = opened - names if folds else opened | names
        core.reading = replace(core.reading, open_sections=kept)
        core.say(off if folds else on, Tone.MUTED)

    def _unfold_texts(self) -> None:
        """Show the kinds of text that are folded in view whole, or fold all kinds again.

        What is not long here keeps folding where it is: one long input must not open every rubric.
        """
        core, item = self._core, self._core.session.item
        opened = core.reading.open_sections
        found = frozenset() if item is None else core.seen.folded(item)
        if not found and not opened & FOLDS:
            core.say_here("no text folds here")
            return
        core.reading = replace(
            core.reading, open_sections=opened | found if found else opened - FOLDS
        )
        names = " and ".join(word for name, word in _FOLDED_TEXTS.items() if name in found)
        core.say(
            f"shown whole where it is long: {names}" if found else "long texts fold", Tone.MUTED
        )

    def _toggle(self, name: str, on: str, off: str) -> None:
        """Turn one reading option on or off, and say which."""
        core = self._core
        turned = not getattr(core.reading, name)
        option: dict[str, Any] = {name: turned}
        core.reading = replace(core.reading, **option)
        core.say(on if turned else off, Tone.MUTED)
