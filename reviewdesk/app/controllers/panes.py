"""The controller of the review's panes: which one has the keys, and which are in view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.view import PANES
from reviewdesk.views.document import Tone


class PaneController:
    """Moves between the panes."""

    def __init__(self, core: Core) -> None:
        """Act on the panes of ``core``."""
        self._core = core
        self.verbs: dict[str, Callable[[], None]] = {
            "deeper": partial(self._shift, 1),
            "shallower": partial(self._shift, -1),
            "pane.next": partial(self._shift, 1, around=True),
            "pane.previous": partial(self._shift, -1, around=True),
            "zoom": self._zoom,
        }

    def _shift(self, by: int, *, around: bool = False) -> None:
        """Give the keys to the pane one level deeper or back."""
        panes = self._core.panes
        place = PANES.index(panes.current) + by
        name = PANES[place % len(PANES)] if around else panes.beside(by)
        if name:
            self._core.choose(name)

    def _zoom(self) -> None:
        panes = self._core.panes
        if not panes.wide and not panes.zoomed:
            self._core.say("the pane has the whole screen already", Tone.MUTED)
        else:
            self._core.arrange(replace(panes, zoomed=not panes.zoomed))

    def entered(self, name: str) -> None:
        """Give the keys to the pane that got the focus, if the panes stand side by side."""
        panes = self._core.panes
        if name in PANES and not panes.alone and name != panes.current:
            self._core.choose(name)
