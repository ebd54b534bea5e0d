"""The queue: reading it, moves, filter, order, blind review, search; edits not yet saved."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core, Verb
from reviewdesk.app.controllers.jobs import QUEUE, Report, Write
from reviewdesk.app.controllers.state import PromptForm, SearchHits, effective_order, uses_hidden
from reviewdesk.app.keys.commands import argument_completers
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import filters, queue, unsaved
from reviewdesk.domain.query.filter import (
    HELP,
    complete_order,
    parse_filter,
    parse_order,
    search_words,
)
from reviewdesk.domain.records import View
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import NotFoundError, ReviewDeskError
from reviewdesk.views.document import Tone
from reviewdesk.views.queue import kept_back
from reviewdesk.views.words import plural

# moves


def _next(core: Core) -> None:
    core.review.next_undecided()
    core.show()


def _back(core: Core) -> None:
    if core.review.back():
        core.show()
    else:
        core.say_here("No item was seen before this one.")


def _blocker(core: Core) -> None:
    """Go to the item that most labels wait behind; from there, to the next such item."""
    item = core.session.item
    found = core.figures.blockers
    if not found:
        core.say_here("No labels wait behind an undecided item.")
        return
    keys = [one.key for one in found]
    here = None if item is None else item.row.key
    at = keys.index(here) + 1 if here in keys else 0
    core.review.goto(keys[at % len(keys)])
    core.show()


def step(core: Core, by: int) -> None:
    if core.review.step(by):
        core.show()


def choose_row(core: Core, index: int) -> None:
    """Show the item in a row of the queue; the row of the current item opens it."""
    if index == core.session.index and core.session.item and core.panes.alone:
        core.choose_pane("item")
        return
    core.review.show(index)
    core.show()


def _jump(core: Core, target: str) -> None:
    """Go to a row of the queue by its number, or to a verdict by its id or a part of it."""
    keys = core.session.keys
    if target.isdecimal() and 0 < int(target) <= len(keys):
        core.review.show(int(target) - 1)
    else:
        try:
            core.review.goto(core.desk.find(core.session.run, target))
        except NotFoundError as error:
            text = target.replace('"', "")
            near = core.desk.queue(core.session.run, f'id~"{text}"')
            if len(near) != 1:
                rows = (
                    f"The queue has {len(keys):,} rows; {len(near):,} ids have {target!r} in them."
                )
                raise NotFoundError(error.message, rows) from error
            core.review.goto(near[0])
    core.show()


# filter, order, blind


def _filter(core: Core) -> None:
    form = PromptForm(
        "Filter the queue",
        core.session.view.filter,
        check=lambda text: parse_filter(filters.expand(core.desk, text)),
        complete=argument_completers(core.desk, core.session)["filter"],
        rule=HELP,
        replaces=True,
    )
    run = core.session.run
    # The columns that most filters need are read while the filter is typed.
    read = lambda desk, _: desk.columns.read(desk, run, queue.USUAL)  # noqa: E731
    core.background("columns", read)
    core.ask_text(form, partial(use, core), past="filter")


def use(core: Core, text: str) -> None:
    """Filter the queue by ``text``, in which ``@NAME`` stands for a saved filter."""
    text = filters.expand(core.desk, text)
    parse_filter(text)
    core.go(None)
    _requery(core, replace(core.session.view, filter=text))


def _order(core: Core) -> None:
    form = PromptForm(
        "Order the queue", check=parse_order, complete=complete_order, hint="- in front descends"
    )
    core.ask_text(form, partial(_use_order, core))


def _use_order(core: Core, order: str) -> None:
    parse_order(order)
    _requery(core, replace(core.session.view, order=order))


def _requery(core: Core, view: View) -> None:
    """Change the queue; ask first, once, if a blind session would follow a hidden fact."""
    if not view.blind or core.follows_hidden or not uses_hidden(view.filter, view.order):
        _apply(core, view)
        return

    def answered() -> None:
        core.follows_hidden = True
        _apply(core, view)

    question = "This filter or order follows what blind review hides. Use it?"
    reason = "Labels given under it are recorded as not blind."
    core.ask_yes(question, reason, answered, "kept as it was")


def _apply(core: Core, view: View) -> None:
    """Begin or end blind review at once; read the queue of another filter in the background."""
    if view.blind is not core.session.view.blind:
        try:
            core.review.set_blind(view.blind)
        finally:
            core.show(rows=True)
        seen = core.review.exposure.seen(core.session.keys)
        core.say(mode_notice(view.blind, seen), Tone.NOTE)
        core.recalibrate()
    else:
        core.say("reading the queue …", Tone.MUTED)
        _read(core, view)


def _read(core: Core, view: View) -> None:
    """Read the queue of a view in the background."""
    run = core.session.run

    def work(desk: Desk, _report: Report) -> "tuple[array[int], int]":
        keys = desk.queue(run, view.filter, effective_order(view))
        return keys, queue.kept_back(desk, run, view.filter)

    def ended(found: Any, error: ReviewDeskError | None) -> None:
        session = core.session
        if error is not None:
            core.complain(error)
        if error or session.run.hash != run.hash or session.view.blind is not view.blind:
            return
        keys, left_out = found
        try:
            core.review.arrive(view, keys)
        finally:
            # The queue may have changed although saving the view failed. It is drawn anew, because
            # a label key must mean the item on screen.
            core.show(rows=True)
        # How many there are stands above the list and the item.
        core.say_here(kept_back(left_out))

    core.jobs.start(QUEUE, work, ended, fault="no queue")


def mode_notice(blind: bool, seen: int) -> str:
    """Return the notice for a switch to open or blind review, after ``seen`` items were seen."""
    if not blind:
        return "open: the panel's answers are in view"
    if not seen:
        return "blind: the panel's answers are hidden until you label"
    items = plural(seen, "item")
    return f"blind: hidden until you label; labels on {items} seen before are not blind"


# search


def _search(core: Core) -> None:
    found = core.session.found
    form = PromptForm(
        "Search",
        found.text if found else "",
        hint='all of these words or their beginnings; "quoted words" together',
        replaces=True,
    )
    core.ask_text(form, partial(_find, core), past="find")


def _find(core: Core, text: str) -> None:
    """Search for ``text``, and go to the first hit at or after the current row."""
    session = core.session
    if not text:
        core.review.found(None)
        core.say("no search text was given", Tone.MUTED)
        core.show(keep=True)
        return
    core.say("searching …", Tone.MUTED)

    def work(desk: Desk, _report: Report) -> SearchHits:
        keys = filters.find(desk, session.run, text, blind=session.view.blind)
        share = filters.indexed(desk, session.run)
        words = tuple(search_words(text))
        return SearchHits(text, words, keys, array("q"), share).placed(session.keys)

    def there(found: SearchHits) -> None:
        core.review.found(found, session.keys)
        _turn(core, 0)

    core.background("search", work, there, fault="nothing searched")


def _turn(core: Core, by: int) -> None:
    session = core.session
    found = session.found
    if found is None:
        key = core.keys.first("search")
        core.say(f"no search yet: {key} searches", Tone.MUTED)
        return
    if not found.places:
        core.say(_search_notice(found, None), Tone.WARN)
        core.show(keep=True)
        return
    here = -1 if session.index is None else session.index
    place = bisect_left(found.places, here) if by <= 0 else bisect_right(found.places, here)
    place = (place - 1 if by < 0 else place) % len(found.places)
    core.review.show(found.places[place])
    core.show(seek=True)
    core.say_here(_search_notice(found, place), Tone.NOTE)


def _search_notice(found: SearchHits, place: int | None) -> str:
    """Return the search notice: the hits, the current one, and how much of the run is indexed."""
    text = show_line(found.text, 80)
    outside = len(found.keys) - len(found.places)
    more = f" · {outside:,} outside this filter" if outside else ""
    if found.share < 1:
        more += f" · {found.share:.0%} of the run is indexed so far"
    if place is None:
        return f"nothing found for {text}{more}"
    return f"{place + 1:,} of {len(found.places):,} with {text}{more}"


# edits that are not saved

_NAMED = 5


def flush(core: Core, seconds: float) -> list[str]:
    """Try for so long to save the waiting writes; return what to say of those that are left.

    Edits are in a file until they are saved.
    """
    outbox = core.outbox
    core.safely(core.review.claims.release)
    whole = outbox.drain(0)
    if not whole:
        found = ((write.at or core.desk.clock(), write.act) for write in outbox.waiting)
        edits = [(at, act) for at, act in found if unsaved.can_keep(act)]
        if edits and core.kept_file is None:
            try:
                core.kept_file = unsaved.keep(core.desk, edits)
            except ReviewDeskError as error:
                outbox.error = error
        whole = outbox.drain(seconds)
    if whole and core.kept_file is not None:
        unsaved.delete(core.kept_file)
    names: dict[bool, list[str]] = {True: [], False: []}
    for one in outbox.waiting:
        can = unsaved.can_keep(one.act)
        if one.name or can:
            kept = can and core.kept_file is not None
            names[kept].append(one.name or "an unfinished note")
    said = []
    for kept, what in ((True, f"kept in {core.kept_file}"), (False, "lost")):
        if names[kept]:
            said.append(f"not saved but {what}: {_listed(names[kept])}. {outbox.error}")
    if names[True]:
        said.append("They are offered when the desk is opened on the screen next.")
    return said


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def offer_unsaved(core: Core) -> None:
    """Ask whether to save the edits kept for the reviewer; after a no they stay kept."""
    found = () if core.desk.read_only else tuple(unsaved.waiting(core.desk))
    edits = [edit for file in found for edit in file.edits]
    if not edits:
        return
    count = "1 kept change" if len(edits) == 1 else f"{len(edits):,} kept changes"
    of = f"{count} of {edits[0].at:%Y-%m-%d %H:%M}"

    def saved(left_out: int) -> None:
        core.follow()
        less = f"; {left_out:,} left out, as you labelled since" if left_out else ""
        core.say(f"saved: {of}{less}", Tone.NOTE)

    def save() -> None:
        act = partial(unsaved.save, files=found)
        core.outbox.put(Write(act, saved, name=count, stands=False))

    what = _listed([edit.text for edit in edits])
    where = show_line(" and ".join(str(file.path) for file in found))
    reason = f"{what}: not saved when the app ended. With no they stay in {where}."
    core.ask_yes(f"Save {of}?", reason, save)


VERBS: dict[str, Verb] = {
    "next": _next,
    "back": _back,
    "item.next": lambda core: step(core, 1),
    "item.previous": lambda core: step(core, -1),
    "filter": _filter,
    "order": _order,
    "blind": lambda core: _requery(
        core, replace(core.session.view, blind=not core.session.view.blind)
    ),
    "blocker": _blocker,
    "search": _search,
    "search.next": lambda core: _turn(core, 1),
    "search.previous": lambda core: _turn(core, -1),
}
COMMANDS = {"filter": use, "order": _use_order, "go": _jump}
