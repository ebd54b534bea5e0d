"""What is in view and how: the panes and their widths, and how an item's texts are drawn."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core, Verb
from reviewdesk.app.controllers.state import LEAST, WIDE, Jump
from reviewdesk.app.texts.layout import FOLDS, TITLE, TOOLS
from reviewdesk.views.document import Tone
from reviewdesk.views.verdict import FIGURES, REASONS

_STEP = 4
"""The columns by which one key press widens or narrows a pane."""
JURY = FIGURES | {REASONS}
_FOLDED_TEXTS = {
    TITLE: "name", "rubric": "rubric", "input": "input", "reference": "reference", TOOLS: "tools",
}  # fmt: skip


def _shift(core: Core, by: int, *, around: bool = False) -> None:
    """Give the keys to the pane one level deeper or back."""
    if by < 0 and not around and core.session.chosen:
        core.review.choose(frozenset())
    elif name := core.panes.beside(by, around=around):
        core.choose(name)
    elif by > 0:
        _unfold_jury(core)


def _zoom(core: Core) -> None:
    panes = core.panes
    if not panes.wide and not panes.zoomed:
        core.say("the pane has the whole screen already", Tone.MUTED)
    else:
        core.arrange(replace(panes, zoomed=not panes.zoomed))


def enter_pane(core: Core, name: str) -> None:
    panes = core.panes
    if name in panes.names and not panes.alone and name != panes.current:
        core.choose(name)


def _resize(core: Core, by: int) -> None:
    """Widen or narrow the pane with the keys; the item takes from the jury, then the queue."""
    panes = core.panes
    if panes.alone:
        why = "it is zoomed" if panes.wide else f"from {WIDE} columns on panes stand side by side"
        core.say_here(f"the pane has the whole screen: {why}")
        return
    name = taken = panes.current
    columns = panes.columns
    wider = by > 0
    if name == "item":
        by = -by
        can_give = "jury" in columns and (not wider or columns["jury"] > LEAST["jury"])
        taken = "jury" if can_give else "queue"
    made = panes.sized(taken, columns[taken] + by)
    core.arrange(made)
    if made.columns == columns:
        core.say_here(f"the {name} cannot be {'wider' if wider else 'narrower'} here")
    else:
        back = core.keys.first("pane.default")
        core.say_here(f"the {name} has {made.columns[name]} columns; {back} sets all back")


def drag(core: Core, name: str, column: int) -> None:
    """Move the rule at the left of the pane ``name`` to a column of the screen."""
    panes = core.panes
    if panes.alone:
        return
    if name == "item":
        core.arrange(panes.sized("queue", column))
    elif panes.answer:
        core.arrange(panes.sized("jury", panes.width - 1 - column))


def _reset(core: Core) -> None:
    core.arrange(replace(core.panes, queue=None, jury=None))
    core.say_here("the panes have their default widths")


# texts


def _page(core: Core, by: int) -> None:
    item = core.session.item
    last = 0 if item is None else core.pages(item) - 1
    if last < 1:
        core.say_here("no text here is longer than a page")
        return
    page = max(0, min(core.reading.page + by, last))
    if item is not None and page != core.reading.page:
        core.start += 1
        core.seen.turn_to(core.seen.paged(item))
    core.reading = replace(core.reading, page=page)
    core.say_here(f"page {page + 1} of {last + 1}")


def _unfold_jury(core: Core) -> None:
    """Show every reason and figure of the jury, or fold them again."""
    if core.session.hidden:
        reveal = core.keys.first("reveal")
        core.say_here(f"the panel's answer is hidden until you label; {reveal} reveals it")
        return
    opened = core.reading.open_sections
    folds = opened >= JURY
    core.reading = replace(core.reading, open_sections=opened - JURY if folds else opened | JURY)
    core.say("the jury in short" if folds else "the jury in full", Tone.MUTED)


def _unfold_texts(core: Core) -> None:
    """Show the kinds of text that are folded in view whole, or fold all kinds again.

    What is not long here keeps folding where it is: one long input must not open every rubric.
    """
    item = core.session.item
    opened = core.reading.open_sections
    found = frozenset() if item is None else core.seen.folded(item)
    if not found and not opened & FOLDS:
        core.say_here("no text folds here")
        return
    core.reading = replace(core.reading, open_sections=opened | found if found else opened - FOLDS)
    names = " and ".join(word for name, word in _FOLDED_TEXTS.items() if name in found)
    core.say(f"shown whole where it is long: {names}" if found else "long texts fold", Tone.MUTED)


VERBS: dict[str, Verb] = {
    "deeper": partial(_shift, by=1),
    "shallower": partial(_shift, by=-1),
    "pane.next": partial(_shift, by=-1, around=True),
    "pane.previous": partial(_shift, by=1, around=True),
    "pane.wider": partial(_resize, by=_STEP),
    "pane.narrower": partial(_resize, by=-_STEP),
    "pane.default": _reset,
    "zoom": _zoom,
    "text.next": partial(_page, by=1),
    "text.previous": partial(_page, by=-1),
    "jury.whole": _unfold_jury,
    "unfold": _unfold_texts,
    "part.next": lambda core: core.requests.append(Jump(1)),
    "part.previous": lambda core: core.requests.append(Jump(-1)),
}
