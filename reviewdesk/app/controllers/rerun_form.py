"""The state of the re-run dialog: first who is asked, by which panel; then consent to send.

It sends nothing: the dialog closes with the re-run that a person agreed to, or with ``None``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from reviewdesk.app.controllers.label_guard import LabelGuard
from reviewdesk.desk.live import rerun
from reviewdesk.domain.jury.injection import passages
from reviewdesk.domain.panel.case import outside_texts
from reviewdesk.domain.panel.rerun import RerunRequest, RerunScope, missing
from reviewdesk.domain.records import Item
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.desk.live.rerun import PreparedRerun
    from reviewdesk.domain.panel.spec import PanelSpec


class RerunForm:
    """Who may be asked again about an item, and what would be sent."""

    def __init__(
        self,
        desk: Desk,
        item: Item,
        guard: LabelGuard,
        *,
        path: str,
        named: Callable[[str], None],
        ask_path: Callable[[RerunForm, RerunRequest | None], None],
        wish: RerunRequest | None = None,
    ) -> None:
        """Ask about ``item``, with the panel file at ``path`` or, if empty, the report's panel.

        ``named`` is called with each chosen panel file that can be read, ``ask_path`` to ask for
        one; a ``wish`` prepares the consent page at once.
        """
        self.item, self.path = item, path
        self.panel: PanelSpec | None = None
        self.problem = ""
        self.masked = wish is not None and wish.masked
        self.passages = sum(len(passages(text)) for _, text in outside_texts(item.verdict.body))
        self.wishes: list[RerunRequest] = []
        self.prepared: PreparedRerun | None = None
        self.changed: Callable[[], None] = lambda: None
        """Called after another panel was chosen; the dialog that shows the form sets it."""
        self._desk, self._guard, self._named, self._ask_path = desk, guard, named, ask_path
        self._read()
        if wish is not None:
            self._prepare(wish)

    def _read(self) -> None:
        """Read the panel, or store why there is none, and list what it can be asked."""
        self.panel, self.problem = None, ""
        try:
            self.panel = rerun.panel_from(self.path) if self.path else rerun.own_panel(self.item)
        except ReviewDeskError as error:
            # The error of the report's own panel has a hint that is meant for the shell.
            reason = show_line(str(error) if self.path else error.message, 400).removesuffix(".")
            self.problem = f"{reason}; p names a panel file"
        self.wishes = _wishes(self.item, self.panel)

    def offers(self) -> list[str]:
        """Return who may be asked, in words."""
        return [_wish_text(wish, self.item) for wish in self.wishes]

    @property
    def suspicious(self) -> str:
        """How many passages speak to the judge, in words; empty if none does."""
        how = "masked for the jurors" if self.masked else "sent as they are"
        return f"{self.passages} passages speak to the judge, {how}" if self.passages else ""

    @property
    def who(self) -> str:
        """Who would be asked, in words."""
        if self.prepared is None:
            return ""
        wish = self.prepared.wish
        who = f"{_who(wish)} of {show_line(self.prepared.seats.panel.name, 80)}"
        return who + (", suspicious passages masked" if wish.masked else "")

    def choose(self, index: int) -> None:
        """Prepare the re-run of the chosen line."""
        if self.prepared is None:
            self._prepare(replace(self.wishes[index], masked=self.masked))

    def _prepare(self, wish: RerunRequest) -> None:
        """Prepare the consent page; a problem is told on the first page."""
        if self.panel is None:
            self._ask_path(self, wish)
            return
        try:
            self.prepared = rerun.prepare(self._desk, self.item.row.key, self.panel, wish)
        except ReviewDeskError as error:
            self.problem = show_line(str(error), 400)
        else:
            self._guard.hide()

    def name_panel(self) -> None:
        """Ask for the path of a panel file."""
        self._ask_path(self, None)

    def use_panel(self, path: str, wish: RerunRequest | None = None) -> None:
        """Use the panel of a file or, without a path, of the report; then prepare a ``wish``."""
        self.path = path
        self._read()
        if self.panel is not None:
            self._named(path)
        if wish is not None and self.panel is not None:
            self._prepare(wish)
        self.changed()

    def mask(self) -> None:
        """Mask the passages that address the judge, or send them unmasked again."""
        if self.passages:
            self.masked = not self.masked

    def drawn(self) -> None:
        """Start the guard's wait, because the consent page has come on screen."""
        if self.prepared is not None:
            self._guard.shown()

    def agree(self, late: float) -> bool:
        """Return True if the key of consent counts: the page was on screen long enough."""
        return self._guard.press("y", late)


def _wishes(item: Item, panel: PanelSpec | None) -> list[RerunRequest]:
    """Return what the panel can be asked, likeliest first; without one, all the report names."""
    names = list(dict.fromkeys(cast.id for cast in item.verdict.ballots))
    if panel is not None:
        known = {juror.name for juror in panel.jurors}
        names = [name for name in names if name in known]
    gone = missing(item.verdict)
    # A re-run of the missing jurors is refused unless the panel has all of them.
    first = [RerunRequest(RerunScope.MISSING)] if gone and set(gone) <= set(names) else []
    return [
        *first,
        RerunRequest(RerunScope.PANEL),
        *(RerunRequest(RerunScope.JUROR, name) for name in names),
    ]


def _wish_text(wish: RerunRequest, item: Item) -> str:
    if wish.scope is RerunScope.MISSING:
        return f"{_who(wish)}: {show_line(', '.join(missing(item.verdict)), 200)}"
    failed = wish.juror in missing(item.verdict)
    return f"{_who(wish)}{', who gave no answer' if failed else ''}"


def _who(wish: RerunRequest) -> str:
    """Return who is asked, in words."""
    if wish.scope is RerunScope.JUROR:
        return f"{show_line(str(wish.juror), 120)} alone"
    return {RerunScope.MISSING: "the missing jurors", RerunScope.PANEL: "the whole panel"}[
        wish.scope
    ]
