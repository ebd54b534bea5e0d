"""The controller of claims: those of the review in view, and with whom items are open."""

from __future__ import annotations

from reviewdesk.app.controllers.core import REVIEW, Core
from reviewdesk.app.controllers.session import Page
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views.document import Tone


class ClaimController:
    """Keeps the claims of the review in view, and says with whom its items are open."""

    def __init__(self, core: Core) -> None:
        """Act on ``core``."""
        self._core = core

    def follow(self, *, rested: bool = False) -> None:
        """Claim what is in view after an event."""
        core, review = self._core, self._core.review
        review.claims.follow(core.session, core.outbox.skips, self._lost, rested=rested)

        if core.session.page is Page.DONE and not core.notices[REVIEW].text:
            self._say_rest()

    def _say_rest(self) -> None:
        """Say on the page of a finished queue that the rest is open with others."""
        core, keys = self._core, self._core.session.keys
        rest = {key: who for key, who in core.review.claims.open_with.items() if key in keys}
        if rest and core.session.progress.left:
            names = ", ".join(sorted({show_line(who, 40) for who in rest.values()}))
            text = f"what is left is open with {names}: {core.keys.first('next')} looks again"
            core.say(text, Tone.NOTE, where=REVIEW)

    def poll(self) -> None:
        """Claim what has stayed in view, and show what others wrote, and what they have open."""
        core = self._core
        core.outbox.resume()
        try:
            if core.desk.changed():
                core.follow()
            self.follow(rested=True)
            if core.review.claims.read(core.session.run):
                core.review.refresh()
                core.show(keep=True, rows=True)
        except ReviewDeskError as error:
            core.complain(error, where=REVIEW)

    def _lost(self, key: int) -> None:
        """Go on to another item if somebody else has, or has labelled, the one that was offered."""
        core, held = self._core, self._core.review.claims
        held.read(core.session.run)
        item, name = core.session.item, held.open_with.get(key)
        if item is None or item.row.key != key:
            return
        what = "was labelled meanwhile" if name is None else f"is open with {show_line(name, 40)}"
        if held.offered == key and not held.pressed and not core.asking and core.page is None:
            core.review.next_undecided()
            core.show(rows=True)
            core.say_here(f"{show_line(item.verdict.id, 60)} {what}: this is next")
            return
        core.review.refresh()
        core.show(keep=True, rows=True)
        core.say_here(f"this item {what}; both labels would be kept", Tone.NOTE)
