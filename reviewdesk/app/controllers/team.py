"""The controllers of what several reviewers do: open items, agreement and adjudication."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reviewdesk.app.controllers.core import REVIEW, Core, item_to_change
from reviewdesk.app.controllers.jobs import TEAM, Job, Report
from reviewdesk.app.controllers.labels import WORDS
from reviewdesk.app.controllers.requests import (
    DialogPage,
    FieldInput,
    PageForm,
    PromptForm,
    choice,
    one_page,
)
from reviewdesk.app.controllers.saving import Write
from reviewdesk.app.controllers.state import Page
from reviewdesk.desk import Desk
from reviewdesk.desk.team import agreement
from reviewdesk.domain.records import Item, Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views.document import Tone


class ClaimController:
    """Keeps the claims of the review in view, and says with whom its items are open."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def follow(self, *, rested: bool = False) -> None:
        """Claim what is in view after an event."""
        core = self._core
        review = self._core.review
        review.claims.follow(core.session, core.outbox.skips, self._lost, rested=rested)

        if core.session.page is Page.DONE and not core.notices[REVIEW].text:
            self._say_rest()

    def _say_rest(self) -> None:
        """Say on the page of a finished queue that the rest is open with others."""
        core = self._core
        keys = self._core.session.keys
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
        core = self._core
        held = self._core.review.claims
        held.read(core.session.run)
        item = core.session.item
        name = held.open_with.get(key)
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


class TeamController:
    """Shows how far the reviewers of a run agree, and adjudicates where they differ."""

    def __init__(self, core: Core, use_filter: Callable[[str], None]) -> None:
        """Act on ``core``; ``use_filter`` shows the verdicts of a filter."""
        self._core = core
        self._use_filter = use_filter
        self.verbs: dict[str, Callable[[], None]] = {
            "adjudicate": self._adjudicate,
            "team": self._show,
        }
        self.commands: dict[str, Callable[[str], None]] = {"team": lambda _: self._show()}

    # what settles an item

    def _adjudicate(self) -> None:
        """Ask what an item deserved on which people differ, and why."""
        core = self._core
        item = item_to_change(self._core, "adjudicate")
        if item is None:
            return
        said = agreement.opinions(core.desk, item.row.key)
        if len(set(said.values())) < 2:
            core.say_here("nothing to adjudicate: no two people gave this item different labels")
            return
        name = show_line(item.verdict.id, 60)
        given = ", ".join(f"{show_line(who, 24)} {WORDS[word]}" for who, word in said.items())

        def chosen(place: int | None) -> None:
            if place is not None:
                form = PromptForm("Why, for", hint="enter alone gives no reason", name=name)
                core.ask(form, partial(self._settle, item, [*WORDS][place]))

        core.ask(choice(f"What did {name} deserve? {given}", [*WORDS.values()]), chosen)

    def _settle(self, item: Item, truth: Truth, answer: FieldInput | None) -> None:
        """Save an adjudication as one event, unless the reason was left with escape."""
        core = self._core
        if answer is None or not answer.given:
            core.say_here("nothing was adjudicated")
            return
        act = agreement.adjudication(core.desk, item.row.key, truth, answer.text or None)
        name = f"adjudicate {WORDS[truth]} {item.verdict.id}"

        def saved(_event: object) -> None:
            core.count(name)
            core.recalibrate()

        core.outbox.put(Write(act, saved, name=name, item=item))
        core.review.refresh()
        core.show(keep=True, rows=True)
        core.say(f"{name}: every label is kept; {core.keys.first('undo')} takes it back")

    # how far people agree

    def _show(self) -> None:
        """Read the page in the background, and open it unless a dialog was opened meanwhile."""
        from reviewdesk.desk.team import agreement
        from reviewdesk.views import team as views

        core = self._core
        session = self._core.session

        def read(desk: Desk, _report: Report) -> PageForm:
            page = agreement.team_page(desk, session.run)
            found = agreement.disagreements(desk, session.run)
            document = views.team(page, found, blind=session.view.blind)
            wanted = [("enter", "shows the disputed")] * bool(page.disputed)
            shown = DialogPage(
                f"Reviewers of {show_line(session.run.name, 60)}",
                (*wanted, ("j k", "scroll"), ("esc", "closes")),
                document=document,
                answers={"enter": True} if page.disputed else {},
            )
            return one_page(shown, width=112, height=44)

        def ended(found: object, error: ReviewDeskError | None) -> None:
            if error is not None:
                core.complain(error)
            elif isinstance(found, PageForm) and not core.asking:
                core.ask(found, self._closed)

        core.jobs.runner.start(Job(TEAM, read, ended, fault="no agreement"))

    def _closed(self, wanted: bool | None) -> None:
        if wanted:
            self._use_filter("label:disputed")
