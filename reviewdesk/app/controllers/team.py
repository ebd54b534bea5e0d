"""What several reviewers do: open items, agreement and adjudication."""

from __future__ import annotations

from functools import partial

from reviewdesk.app.controllers.core import REVIEW, Core, Verb
from reviewdesk.app.controllers.jobs import TEAM, Report
from reviewdesk.app.controllers.labels import WORDS
from reviewdesk.app.controllers.queue import use
from reviewdesk.app.controllers.saving import Write
from reviewdesk.app.controllers.state import (
    DialogPage,
    FieldInput,
    Page,
    PageForm,
    PromptForm,
    choice,
    one_page,
)
from reviewdesk.desk import Desk
from reviewdesk.desk.team import agreement
from reviewdesk.domain.records import Item, Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views.document import Tone


def follow_claims(core: Core, *, rested: bool = False) -> None:
    """Claim what is in view after an event; say with whom the rest of a finished queue is open."""
    session = core.session
    claims = core.review.claims
    claims.follow(session, core.outbox.skips, partial(_lost, core), rested=rested)
    if core.session.page is not Page.DONE or core.notices[REVIEW].text:
        return
    keys = core.session.keys
    rest = {show_line(who, 40) for key, who in claims.open_with.items() if key in keys}
    if rest and core.session.progress.left:
        names = ", ".join(sorted(rest))
        text = f"what is left is open with {names}: {core.keys.first('next')} looks again"
        core.say(text, Tone.NOTE, where=REVIEW)


def poll(core: Core) -> None:
    """Claim what has stayed in view, and show what others wrote, and what they have open."""
    core.outbox.resume()
    try:
        if core.desk.changed():
            core.follow()
        follow_claims(core, rested=True)
        if core.review.claims.read(core.session.run):
            core.refresh()
    except ReviewDeskError as error:
        core.complain(error, where=REVIEW)


def _lost(core: Core, key: int) -> None:
    """Go on to another item if somebody else has, or has labelled, the one that was offered."""
    held = core.review.claims
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
    core.refresh()
    core.say_here(f"this item {what}; both labels would be kept", Tone.NOTE)


def _adjudicate(core: Core) -> None:
    """Ask what an item deserved on which people differ, and why."""
    item = core.item_to_change("adjudicate")
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
            core.ask(form, partial(_settle, core, item, [*WORDS][place]))

    core.ask(choice(f"What did {name} deserve? {given}", [*WORDS.values()]), chosen)


def _settle(core: Core, item: Item, truth: Truth, answer: FieldInput | None) -> None:
    """Save an adjudication as one event, unless the reason was left with escape."""
    if answer is None or not answer.given:
        core.say_here("nothing was adjudicated")
        return
    name = f"adjudicate {WORDS[truth]} {item.verdict.id}"

    def saved(_event: object) -> None:
        core.count(name)
        core.recalibrate()

    act = agreement.adjudication(core.desk, item.row.key, truth, answer.text or None)
    core.outbox.put(Write(act, saved, name=name, item=item))
    core.refresh()
    core.say(f"{name}: every label is kept; {core.keys.first('undo')} takes it back")


def show_agreement(core: Core, _argument: str = "") -> None:
    """Read how far people agree in the background; open it unless a dialog is open by then."""
    from reviewdesk.views import team as views

    session = core.session

    def read(desk: Desk, _report: Report) -> PageForm:
        page = agreement.team_page(desk, session.run)
        found = agreement.disagreements(desk, session.run)
        wanted = [("enter", "shows the disputed")] * bool(page.disputed)
        shown = DialogPage(
            f"Reviewers of {show_line(session.run.name, 60)}",
            (*wanted, ("j k", "scroll"), ("esc", "closes")),
            document=views.team(page, found, blind=session.view.blind),
            answers={"enter": True} if page.disputed else {},
        )
        return one_page(shown, width=112, height=44)

    def there(found: PageForm | None) -> None:
        if found is not None and not core.asking:
            core.ask(found, lambda wanted: use(core, "label:disputed") if wanted else None)

    core.background(TEAM, read, there, fault="no agreement")


VERBS: dict[str, Verb] = {"adjudicate": _adjudicate, "team": show_agreement}
COMMANDS = {"team": show_agreement}
