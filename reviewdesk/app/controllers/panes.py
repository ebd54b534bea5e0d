"""The controller of the review's panes: which one has the keys, which are in view, how wide."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.view import LEAST, WIDE, Panes
from reviewdesk.views.document import Tone

_STEP = 4
"""The columns by which one key press widens or narrows a pane."""


class PaneController:
    """Moves between the panes, and changes their widths."""

    def __init__(self, core: Core, unfold: Callable[[], None]) -> None:
        """Act on the panes of ``core``; ``unfold`` opens what the last of them folds."""
        self._core, self._unfold = core, unfold
        self.verbs: dict[str, Callable[[], None]] = {
            "deeper": partial(self._shift, 1),
            "shallower": partial(self._shift, -1),
            "pane.next": partial(self._shift, 1, around=True),
            "pane.previous": partial(self._shift, -1, around=True),
            "pane.wider": partial(self._resize, _STEP),
            "pane.narrower": partial(self._resize, -_STEP),
            "pane.default": self._reset,
            "zoom": self._zoom,
        }

    def _shift(self, by: int, *, around: bool = False) -> None:
        """Give the keys to the pane one level deeper or back."""
        panes = self._core.panes
        if by < 0 and not around and self._core.session.chosen:
            self._core.review.choose(frozenset())
        elif name := panes.beside(by, around=around):
            self._core.choose(name)
        elif by > 0:
            self._unfold()

    def _zoom(self) -> None:
        panes = self._core.panes
        if not panes.wide and not panes.zoomed:
            self._core.say("the pane has the whole screen already", Tone.MUTED)
        else:
            self._core.arrange(replace(panes, zoomed=not panes.zoomed))

    def entered(self, name: str) -> None:
        """Give the keys to the pane that got the focus, if the panes stand side by side."""
        panes = self._core.panes
        if name in panes.names and not panes.alone and name != panes.current:
            self._core.choose(name)

    # the widths

    def _resize(self, by: int) -> None:
        """Widen or narrow the pane with the keys; the item takes from the jury, then the queue."""
        core, panes = self._core, self._core.panes
        if panes.alone:
            why = (
                "it is zoomed" if panes.wide else f"from {WIDE} columns on panes stand side by side"
            )
            core.say_here(f"the pane has the whole screen: {why}")
            return
        name, columns = panes.current, panes.columns
        if name == "item":
            can_give = "jury" in columns and (by < 0 or columns["jury"] > LEAST["jury"])
            made = self._sized(panes, "jury" if can_give else "queue", -by)
        else:
            made = self._sized(panes, name, by)
        core.arrange(made)
        if made.columns == columns:
            core.say_here(f"the {name} cannot be {'wider' if by > 0 else 'narrower'} here")
        else:
            back = core.keys.first("pane.default")
            core.say_here(f"the {name} has {made.columns[name]} columns; {back} sets all back")

    def _sized(self, panes: Panes, name: str, by: int) -> Panes:
        return panes.sized(name, panes.columns[name] + by)

    def drag(self, name: str, column: int) -> None:
        """Move the rule at the left of the pane ``name`` to a column of the screen."""
        panes = self._core.panes
        if panes.alone:
            return
        if name == "item":
            self._core.arrange(panes.sized("queue", column))
        elif panes.answer:
            self._core.arrange(panes.sized("jury", panes.width - 1 - column))

    def _reset(self) -> None:
        """Give every pane its default width."""
        self._core.arrange(replace(self._core.panes, queue=None, jury=None))
        self._core.say_here("the panes have their default widths")
