"""Labels of an item or a selection, deferrals, adjudications; undo and redo of every action.

Each is one event of the desk. Its mark is shown once it is on disk; until then it is counted as
being saved. While any items are selected, a label is given to all of them.
"""

import contextlib
import math
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.core import READ_ONLY, REVIEW, Core, Verb
from reviewdesk.app.controllers.item import open_reasons
from reviewdesk.app.controllers.jobs import UNDO, Report, Write
from reviewdesk.app.controllers.queue import use
from reviewdesk.app.controllers.state import (
    DialogPage,
    FieldInput,
    PageForm,
    PromptForm,
    choice,
    one_page,
    question_form,
)
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import edits, repeats
from reviewdesk.desk.review.edits import Edit, closing, may_close
from reviewdesk.desk.team import agreement
from reviewdesk.domain.query.places import place_of
from reviewdesk.domain.records import Event, Item, Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import DeskError, NotFoundError, ReviewDeskError
from reviewdesk.settings import Feedback
from reviewdesk.views.document import Tone
from reviewdesk.views.queue import turned
from reviewdesk.views.words import TRUTHS, decided, plural

CLOSING = (
    "It then counts as wrong in the lower end of each interval that gates use, and as right in "
    "the upper one."
)
"""The effect of closing an item, in words."""
MOST = 1000
"""The most verdicts that are labelled together, so that the desk is locked for a moment only."""
BECAUSE = "label.because"
"""The action that labels fail and asks for the reasons."""
REASONS_MEANT = 1.0
"""Seconds after a refused label with reasons in which a digit gives no other label."""
NO_RESPONSE = "The item has no response to judge"
_GIVEN = (Truth.PASS, Truth.FAIL, Truth.UNSURE)
PARTS = {
    "output": "enough of the response",
    "alternative": "enough of response B",
    "input": "the start of the input",
}
"""What must have been on screen, by the part of an item."""


def _truth(action: str) -> Truth:
    return Truth.FAIL if action == BECAUSE else Truth(action.removeprefix("label."))


def confirm(core: Core, name: str) -> None:
    """Ask before giving a label that was chosen by name instead of by its key."""
    truth = _truth(name)
    if core.session.chosen:
        _ask_for_selected(core, truth)
        return
    item = core.item("label")
    if item is not None and _was_read(core, item, name):
        question = f"Label {show_line(item.verdict.id, 80)} {TRUTHS[truth]}?"
        give = partial(_give, truth=truth, because=name == BECAUSE)
        core.ask_yes(question, "u takes it back.", partial(_if_still_there, core, item, give))


def _if_still_there(core: Core, item: Item, act: Callable[[Core, Item], None]) -> None:
    now = core.session.item
    if now is not None and now.row.key == item.row.key:
        act(core, now)


# one item


def _press(core: Core, truth: Truth, *, because: bool = False) -> None:
    """Label what is selected, else the item, if the key counts and the response was read."""
    if core.session.chosen:
        _ask_for_selected(core, truth)
        return
    item = core.item("label")
    if item is None:
        return
    if not core.guard.press(truth, core.late) and core.panes.readable:
        core.say_here(f"{TRUTHS[truth]} ignored: too soon", Tone.WARN)
        if because:
            # A digit right after it is meant for its reasons, and must not label.
            core.guard.stray()
        return
    core.reasons = None
    if _was_read(core, item, BECAUSE if because else f"label.{truth}", core.clock() - core.late):
        _give(core, item, truth, because=because)
    elif because:
        # A digit typed for its reasons is the key of another label.
        core.guard.bar((Truth.PASS, Truth.UNSURE), REASONS_MEANT)


def _was_read(core: Core, item: Item, name: str, at: float = math.inf) -> bool:
    """Return True if a label may be given: the item is open and its response was on screen.

    It was on screen before ``at``, the time at which the key was pressed. Else open it or scroll
    there, and say which key gives the label. A desk that cannot be written takes no label.
    """
    unseen = core.seen.unseen(item, at)
    if core.desk.read_only:
        core.say(READ_ONLY, Tone.FAIL)
        return False
    key = core.keys.first(name)
    truth = _truth(name)
    press = f"Press {key}" if key else "Choose it again"
    again = f"{press} to label it {TRUTHS[truth]}."
    if not core.panes.readable:
        core.choose_pane("item")
        core.say_here(f"The item is open. {again}", Tone.TEXT)
    elif unseen is not None:
        if core.panes.alone:
            core.choose_pane("item")
        core.seen.turn_to(unseen)
        core.guard.hide()
        # Of a pair, the next press may have to show the other response first.
        read = f"You had not seen {PARTS[unseen.part]} yet. {press} once you have read it."
        core.say_here(read, Tone.WARN)
    elif not item.verdict.has_response and core.without_response != item.item_hash:
        core.without_response = item.item_hash
        core.say_here(f"{NO_RESPONSE}. {again}", Tone.WARN)
    else:
        return True
    return False


def _give(core: Core, item: Item, truth: Truth, *, because: bool = False) -> None:
    """Save a label of the current item, and go on to the next one."""
    session = core.session
    seen = core.review.exposure
    tells = session.feedback is Feedback.AFTER
    found = item.assessment

    def saved() -> None:
        if tells or not session.view.blind:
            seen.labelled(item)
        if tells and session.view.blind:
            score = "" if found.score is None else f" {found.score:.2f}"
            votes = f"({found.votes.passes} of {found.votes.answered} pass)"
            said = f"{decided(found.decision)}{score} {votes}"
            core.say(f"{show_line(item.verdict.id)}: the panel said {said}", Tone.NOTE)

    core.say("")
    key = item.row.key
    came_back = core.review.repeats
    blind = _is_blind(core, item)
    view = core.review.place()
    if (again := came_back.of(key)) is not None:
        look = came_back.is_blind(session, item)
        unseen = blind and again.blind
        act = repeats.second_label(key, truth, view, blind=look, unseen=unseen)
    else:
        more = came_back.facts(session, item)
        if core.outbox.count:
            # Which item is to come back depends on the labels that are not in the log yet.
            more.pop("again", None)
        facts = {"blind": blind, "revealed_at": item.revealed_at, "seen": True, **more}
        known = {name: value for name, value in facts.items() if value is not None}
        act = Edit("label", key, known, truth, view=view)
    _decide(core, item, act, TRUTHS[truth], saved)
    if because or (truth is Truth.FAIL and core.settings.tags_after_fail):
        open_reasons(core, item)


def _decide(
    core: Core, item: Item, act: Edit, word: str, saved: Callable[[], None] = lambda: None
) -> None:
    """Save a decision on an item, and go on; report it only once it is on disk."""
    name = f"{word} {item.verdict.id}"

    def on_disk(_event: object) -> None:
        core.count(name)
        saved()

    review = core.review
    # What others have open is read before the labels, as a label comes before it is given up.
    review.claims.read(core.session.run)
    with core.desk.one_moment():
        act = replace(act, claim=review.ahead() if review.claims.active else None)
        write = Write(act, on_disk, name=name, item=item, labels=True, decides=True)
        is_saved = core.outbox.put(write)
        core.leave_jury()
        try:
            review.go_on()
        finally:
            if is_saved:
                held = core.desk.recent[-1].held
                review.claims.took(core.session, held)
                review.labelled(item, act)
                if act.claim is not None and held is None:
                    _follow_claims(core)  # another reviewer got the next item first
                core.recalibrate(core.desk.recent)
            core.show(rows=not is_saved, changed=is_saved)


def _is_blind(core: Core, item: Item) -> bool:
    blind = core.review.exposure.is_blind(core.session, item)
    return blind and not edits.was_seen(core.desk, item.row.key)


def _defer(core: Core) -> None:
    item = core.item_to_change("defer")
    if item is None:
        return
    if not may_close(core.desk, item):
        _put_off(core, item)
        return

    def close(core: Core, item: Item) -> None:
        act = closing(item.row.key, blind=_is_blind(core, item), view=core.review.place())
        core.say(f"closed {show_line(item.verdict.id)} without an answer")
        _decide(core, item, act, "close")

    def answered(closes: bool | None) -> None:
        if closes is not None:
            _if_still_there(core, item, close if closes else _put_off)

    question = f"{show_line(item.verdict.id, 80)} was deferred twice. Close it without an answer?"
    core.ask(question_form(question, f"{CLOSING} With n it is deferred again."), answered)


def _put_off(core: Core, item: Item) -> None:
    def saved(_event: object) -> None:
        core.last_saved = "saved ✓ defer"

    act = Edit("defer", item.row.key)
    core.outbox.put(Write(act, saved, name=f"defer {item.verdict.id}", item=item, decides=True))
    core.review.refresh()
    core.say(f"deferred {show_line(item.verdict.id)}: it comes back last")
    core.review.next_undecided()
    core.show(rows=True)


# the selection


def _select(core: Core) -> None:
    item = core.item("select")
    if item is None:
        return
    chosen = core.session.chosen
    key = core.last_selected = item.row.key
    readable = core.panes.readable and item.verdict.has_response
    if key not in chosen and readable and core.seen.unseen(item) is None:
        core.read_selected.add(key)
    _choose(core, chosen ^ {key})
    if core.review.step(1):
        core.show()


def _select_range(core: Core) -> None:
    session = core.session
    last = place_of(session.keys, core.last_selected)
    if last is None or session.index is None or not session.chosen:
        key = core.keys.first("select")
        core.say_here(f"select the first item with {key}, and then go to the last one")
        return
    first, end = sorted((last, session.index))
    _choose(core, session.chosen.union(session.keys[first : end + 1]))


def _select_all(core: Core) -> None:
    """Select all of the queue, or none if all are selected."""
    session = core.session
    whole = len(session.chosen) == len(session.keys)
    # A selection that is too large is refused by its size.
    _choose(core, frozenset() if whole else frozenset(session.keys[: MOST + 1]))


def _choose(core: Core, keys: frozenset[int]) -> None:
    if len(keys) > MOST:
        text = f"at most {MOST:,} can be labelled together: filter the queue first"
        core.say(text, Tone.WARN)
        return
    core.review.choose(keys)
    core.read_selected &= keys
    to, every, none = map(core.keys.first, ("select.range", "select.all", "shallower"))
    more = f"{to} to here, {every} all shown, {none} none"
    core.say(f"{len(keys):,} selected: {more}" if keys else "nothing is selected")


# the label of the selection


def _ask_for_selected(core: Core, truth: Truth) -> None:
    if core.desk.read_only:
        core.say(READ_ONLY, Tone.FAIL)
        return
    # An item that came back is labelled again by itself.
    keys = [key for key in core.session.keys if key in core.session.chosen]
    keys = [key for key in keys if core.review.repeats.of(key) is None]
    if not keys:
        core.say("the selected items came back: label each by itself", Tone.WARN)
        return
    had = sum(row.decided for row in core.review.rows(keys))
    unread = len(keys) - len(core.read_selected.intersection(keys))
    undo = core.keys.first("undo")
    reasons = (
        f"{plural(had, 'of them has', 'of them have')} a label already." * bool(had),
        f"{plural(unread, 'was', 'were')} not read, and the labels say so." * bool(unread),
        f"{undo} takes all back at once.",
    )
    question = f"Label {plural(len(keys), 'verdict')} {TRUTHS[truth]}?"
    given = partial(_label_selected, core, truth, keys)
    core.ask_yes(question, " ".join(filter(None, reasons)), given)


def _label_selected(core: Core, truth: Truth, keys: list[int]) -> None:
    """Save the labels as one action; that of an item not read by itself does not count as blind."""
    session = core.session
    edits = []
    for key in keys:
        read = key in core.read_selected
        facts: dict[str, object] = {"blind": False, "seen": read, "together": len(keys)}
        if session.view.blind:
            facts["told"] = session.feedback is Feedback.AFTER
            if read:
                facts["blind"] = _is_blind(core, core.review.item(key))
        edits.append(Edit("label", key, facts, truth))
    act = replace(edits[0], view=core.review.view(), others=tuple(edits[1:]))
    text = f"{TRUTHS[truth]}, {len(keys):,} verdicts"
    write = Write(
        act, lambda _event: core.count(text), name=text, item=core.review.item(keys[0]),
        labels=True, decides=True, skips=frozenset(keys),
    )  # fmt: skip
    core.review.choose(frozenset())
    core.read_selected.clear()
    core.outbox.put(write)
    core.review.refresh()
    here = core.session.item
    if here is None or here.row.key in keys or here.row.decided:
        core.review.next_undecided()
    core.recalibrate()
    core.show(rows=True)
    core.say(f"{text}; {core.keys.first('undo')} takes them back")


# several reviewers


def _follow_claims(core: Core) -> None:
    """Claim the item that stays in view; name those who have the rest of a finished queue."""
    session = core.session
    claims = core.review.claims
    claims.follow(session, partial(_lost, core))
    if not core.session.done or core.notices[REVIEW].text:
        return
    keys = core.session.keys
    rest = {show_line(who, 40) for key, who in claims.open_with.items() if key in keys}
    if rest and core.session.progress.left:
        names = ", ".join(sorted(rest))
        text = f"the others are open with {names}: {core.keys.first('next')} looks again"
        core.say(text, Tone.NOTE, where=REVIEW)


def poll(core: Core) -> None:
    """Claim the item that stayed in view; show what others wrote and have open."""
    core.outbox.resume()
    try:
        if core.desk.changed():
            core.follow()
        _follow_claims(core)
        if core.review.claims.read(core.session.run):
            core.refresh()
    except ReviewDeskError as error:
        core.complain(error, where=REVIEW)


def _lost(core: Core, key: int) -> None:
    """Go on to another item if somebody else has or has labelled the offered one."""
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
    """For an item on which people differ, ask which label it deserved, and why."""
    item = core.item_to_change("adjudicate")
    if item is None:
        return
    said = agreement.opinions(core.desk, item.row.key)
    if len(set(said.values())) < 2:
        core.say_here("nothing to adjudicate: no two people gave this item different labels")
        return
    name = show_line(item.verdict.id, 60)
    given = ", ".join(f"{show_line(who, 24)} {TRUTHS[word]}" for who, word in said.items())

    def chosen(place: int | None) -> None:
        if place is not None:
            form = PromptForm("Why, for", hint="enter alone gives no reason", name=name)
            core.ask(form, partial(settle, _GIVEN[place]))

    def settle(truth: Truth, answer: FieldInput | None) -> None:
        """Save an adjudication as one event, unless the reason was left with escape."""
        if answer is None or not answer.given:
            core.say_here("nothing was adjudicated")
            return
        mark = f"adjudicate {TRUTHS[truth]} {item.verdict.id}"

        def saved(_event: object) -> None:
            core.count(mark)
            core.recalibrate()

        act = agreement.adjudication(core.desk, item.row.key, truth, answer.text or None)
        core.outbox.put(Write(act, saved, name=mark, item=item))
        core.refresh()
        core.say(f"{mark}: every label is kept; {core.keys.first('undo')} takes it back")

    title = f"What did {name} deserve? {given}."
    lines = [f"{core.keys.first(f'label.{truth}')}  {TRUTHS[truth]}" for truth in _GIVEN]
    keys = {key: at for at, word in enumerate(_GIVEN) for key in core.keys.keys(f"label.{word}")}
    core.ask(choice(title, lines, keys), chosen)


def _show_agreement(core: Core) -> None:
    """Read the agreement of people in the background; open it unless a dialog is open by then."""
    from reviewdesk.views import team as views

    session = core.session

    def read(desk: Desk, _report: Report) -> PageForm:
        page = agreement.team_page(desk, session.run)
        found = agreement.disagreements(desk, session.run)
        wanted = [("enter", "shows the disputed")] * bool(page.disputed)
        shown = DialogPage(
            f"Reviewers of {show_line(session.run.name, 60)}",
            (*wanted, ("j k", "scroll"), ("esc", "closes")),
            document=views.team(page, found, blind=session.view.blind, double=desk.double or 0),
            answers={"enter": True} if page.disputed else {},
            width=112,
        )
        return one_page(shown)

    def there(found: PageForm) -> None:
        if not core.asking:
            core.ask(found, lambda wanted: use(core, "label:disputed") if wanted else None)

    core.background("agreement", read, there, fault="no agreement")


# undo and redo

_WAIT = "Wait for its end, or stop it with :stop; the next u or U continues it."


def _undo(core: Core, word: str) -> None:
    """Undo or redo the write that is being saved, else the newest action of the desk."""
    # Its ticks would bring back the tags that are undone.
    core.reasons = None
    write = core.outbox.bring_back() if word == "redo" else core.outbox.take_back()
    if write is not None and write.item is not None:
        item = write.item
        if item.run.key != core.session.run.key:
            core.review_run(item.run, item.verdict.id)
        else:
            core.review.goto(item.row.key)
        core.review.refresh()
        core.show(rows=True)
        core.say(f"{word}: {show_line(write.name)}, before it was saved", Tone.NOTE)
        return
    if core.jobs.runs(UNDO):
        raise DeskError("an import is being taken back or brought back", _WAIT)
    shown = core.shown

    def saved(event: Event | None) -> None:
        if event is None:
            core.say(f"Nothing to {word}.", Tone.MUTED)
        elif edits.is_import(core.desk, event):
            _turn_import(core, word, shown, event)
        else:
            _told(core, word, shown, event)

    if not core.outbox.put(Write(edits.Turn(word), saved, name=word, stands=False)):
        core.say(f"{word}: waits for another process to finish its write", Tone.NOTE)


def _turn_import(core: Core, word: str, shown: object, begun: Event) -> None:
    """Undo or redo the rest of an import in the background."""

    def ended(event: object, error: ReviewDeskError | None) -> None:
        if isinstance(event, Event):
            _told(core, word, shown, event)
        elif error is not None:
            core.complain(error)
            core.follow()

    work = lambda desk, report: edits.rest(desk, begun, report)  # noqa: E731
    core.jobs.start(UNDO, work, ended, what=f"the {word} of an import")
    back = "back" if word == "undo" else "in again"
    core.say(f"{word}: the labels of an import are taken {back} in the background", Tone.NOTE)
    core.follow()


def _told(core: Core, word: str, shown: object, event: Event) -> None:
    """Name the action undone or redone; go to its item if ``shown`` is still in view."""
    here = event.run in {None, core.session.run.hash, core.session.run.name}
    if core.shown == shown and not here:
        with contextlib.suppress(NotFoundError):
            core.review_run(core.desk.run(event.run), event.verdict)
    elif core.shown == shown and event.verdict is not None:
        core.review.goto(core.desk.find(core.session.run, event.verdict))
    core.review.refresh()
    # The screen stays here if the event's run was removed: the same id here is another item.
    here = event.run in {None, core.session.run.hash, core.session.run.name}
    away = "" if here else ", in a run that was removed"
    event = core.review.repeats.event(event)
    what = show_line(turned(event) or event.kind)
    if event.verdict and event.detail.get("count", 1) == 1:
        what += f" on {show_line(event.verdict, 80)}"
    if event.run and not event.verdict:
        what += f" in {show_line(event.run)}"
    core.say(f"{word}: {what}{away}", Tone.NOTE)
    core.last_saved = f"saved ✓ {word}"
    core.recalibrate()
    core.show(rows=True)


VERBS: dict[str, Verb] = {
    **{f"label.{truth}": partial(_press, truth=truth) for truth in _GIVEN},
    BECAUSE: partial(_press, truth=Truth.FAIL, because=True),
    "defer": _defer,
    "select": _select,
    "select.range": _select_range,
    "select.all": _select_all,
    "adjudicate": _adjudicate,
    "team": _show_agreement,
    "undo": partial(_undo, word="undo"),
    "redo": partial(_undo, word="redo"),
}
