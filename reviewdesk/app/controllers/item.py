"""Actions on one item: what a reviewer adds, its history, other runs, copies, panes and texts."""

import contextlib
import json
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core, Verb
from reviewdesk.app.controllers.jobs import Write
from reviewdesk.app.controllers.queue import choose_row, use
from reviewdesk.app.controllers.state import (
    FOLDS,
    LEAST,
    MOVES_AND_CLOSES,
    SCROLLS_AND_CLOSES,
    WIDE,
    Choice,
    DialogPage,
    FieldInput,
    PageForm,
    PromptForm,
    ReasonsLine,
    one_page,
)
from reviewdesk.app.keys.commands import last_of_list
from reviewdesk.desk.review import edits, filters, items
from reviewdesk.desk.review.edits import Edit
from reviewdesk.domain.query.filter import condition
from reviewdesk.domain.records import Item
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.tags import normal_tags, split_tags
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views import queue
from reviewdesk.views.document import Document, Paragraph, Section, Tone, outside
from reviewdesk.views.verdict import FIGURES, REASONS, WHAT_IF

REASON_KEYS = frozenset({*"123456789", "escape", "enter", "t"})
"""The keys that the line of reasons takes while it is open, by Textual's names."""


def _labelled(core: Core) -> Item | None:
    """Return the item that the reviewer labelled last in this run, or say that there is none."""
    run = core.session.run
    if (waiting := core.outbox.labelled(run.key)) is not None:
        return core.review.item(waiting.row.key)
    event = items.last_label(core.desk, run)
    if event is None or event.verdict is None or event.undone:
        core.say_here("You have no label in this run yet.")
        return None
    return core.review.item(core.desk.find(core.desk.run(run.hash), event.verdict))


def _put(
    core: Core, mark: str, item: Item, text: str, act: Edit, shown: Callable[[Item], Item]
) -> None:
    """Save an edit of an item; ``shown`` changes the item so until it is on disk."""

    def saved(event: object) -> None:
        """Show that the edit was saved; name its item unless that is on screen."""
        current = core.session.item
        core.review.refresh()
        if event is None:
            core.say_here("the tags are as they were")
            return
        if current is not None and current.row.key == item.row.key:
            core.last_saved = f"saved ✓ {mark}"
            core.say_here(text, Tone.NOTE)
        else:
            name = show_line(item.verdict.id, 80)
            core.last_saved = f"saved ✓ {mark} {name}"
            # The line of reasons has a tick, and what the panel said stays in view beside it.
            if core.reasons is None or mark != "tags":
                core.say(f"{name}: {text or mark + ' saved'}", Tone.NOTE)
        core.show(keep=True, rows=True)

    write = Write(act, saved, name=f"{mark} {item.verdict.id}", item=item, shown=shown)
    if not core.outbox.put(write):
        core.refresh()


# notes


def _write_note(core: Core, item: Item | None) -> None:
    if item is None:
        return
    key = item.row.key
    note = item.note or ""
    place = key, core.review.repeats.since(item)
    text = core.drafts.pop(place, None) or edits.draft(core.desk, *place) or note
    # Even after a crash the next start must open at the item that the draft belongs to.
    with contextlib.suppress(ReviewDeskError):
        core.review.save()

    def state(text: str) -> str:
        saved = "as saved" if note else ""
        return saved if text == note else "draft kept, not saved as a note yet"

    def changed(text: str) -> str:
        try:
            if _keep_draft(core, place, "" if text == note else text):
                return state(text)
        except ReviewDeskError as error:
            core.complain(error)
            return f"draft not kept: {error.message}"
        return "draft kept once another process has finished its write"

    name = item.verdict.id
    form = PromptForm("Note on", text, name=name, lines=6, changed=changed, note=state(text))

    def take(answer: FieldInput | None) -> None:
        if answer is None:
            return
        try:
            if answer.given and answer.text != note:
                _save_note(core, item, answer.text)
                return
            draft = core.drafts.get(place) or edits.draft(core.desk, *place)
        except ReviewDeskError:
            core.drafts[place] = answer.text
            raise
        now = core.session.item
        write = core.keys.first("note" if now and now.row.key == key else "note.labelled")
        kept = f"{show_line(name, 80)}: draft kept, {write} continues it"
        core.say_here(kept if draft else "")

    core.ask(form, take)


def _save_note(core: Core, item: Item, text: str) -> None:
    key = item.row.key
    earlier = core.review.repeats.earlier(key, "note")
    whole = None if earlier is None else "\n\n".join(filter(None, (*earlier, text)))

    def shown(item: Item) -> Item:
        return replace(item, note=text or None, row=replace(item.row, noted=bool(text)))

    act = edits.note(key, text) if whole is None else edits.note(key, whole, text)
    _put(core, "note", item, "", act, shown)
    _keep_draft(core, (key, core.review.repeats.since(item)), "")


def _keep_draft(core: Core, place: tuple[int, int], text: str) -> bool:
    """Keep an unfinished note, here while the desk cannot; return True if it is on disk."""
    key, since = place
    on_disk = core.outbox.keep(("draft", key), edits.NoteDraft(key, text, since))
    if on_disk or not text:
        core.drafts.pop(place, None)
    else:
        core.drafts[place] = text
    return on_disk


# tags


def _type_tags(core: Core, item: Item | None) -> None:
    if item is None:
        return
    start = ", ".join(item.tags) + (", " if item.tags else "")
    place = item.row.key, core.review.repeats.since(item)

    def take(answer: FieldInput | None) -> None:
        if answer is not None and answer.given:
            _tag(core, item, answer.text)
        elif answer is not None and answer.text != start:
            core.unsaved_tags[place] = answer.text
            name = show_line(item.verdict.id, 80)
            core.say_here(f"{name}: tags not saved, {core.keys.first('tags')} continues them")

    form = PromptForm(
        "Tags of",
        core.unsaved_tags.pop(place, start),
        check=split_tags,
        complete=last_of_list(lambda: filters.known_tags(core.desk)),
        hint="What went wrong, in your own words, with commas: wrong-policy, invented-fact.",
        name=item.verdict.id,
    )
    core.ask(form, take)


def _tag(core: Core, item: Item, text: str) -> None:
    key = item.row.key
    tags = normal_tags(split_tags(text))
    earlier = core.review.repeats.earlier(key, "tags")
    whole = dict.fromkeys(chain(*(earlier or ()), tags))
    act = edits.tags(key, list(whole), None if earlier is None else tags)
    if core.own_tags is not None:
        core.own_tags |= dict.fromkeys(tags)
    told = f"tags: {show_line(', '.join(tags)) or 'none'}"
    _put(core, "tags", item, told, act, lambda item: replace(item, tags=tuple(tags)))
    if core.reasons is not None and core.reasons.key == key:
        open_reasons(core, replace(item, tags=tuple(tags)))


def open_reasons(core: Core, item: Item | None) -> None:
    """Open the line in which digits tag an item; each digit is saved at once."""
    if item is None:
        return
    if core.own_tags is None:
        core.own_tags = dict.fromkeys(filters.own_tags(core.desk))
    offered = filters.tag_digits(core.desk, normal_tags(core.settings.tags), tuple(core.own_tags))
    core.reasons = ReasonsLine(item.row.key, item.verdict.id, tuple(offered), tuple(item.tags))


def press_reason(core: Core, key: str) -> None:
    line = core.reasons
    if line is None or core.asking:
        return
    if key == "t":
        _type_tags(core, core.review.item(line.key))
    elif not key.isdecimal():
        core.reasons = None
        # A digit that was meant for the line must not label a moment later.
        core.guard.hide()
    elif int(key) <= len(line.offered):
        tag = line.offered[int(key) - 1]
        now = core.clock() - core.late
        # A held key must not give a tag and take it away many times a second.
        held = now - core.tagged.get(tag, float("-inf")) < core.guard.interval
        core.tagged[tag] = now
        if not held:
            tags = [one for one in line.tags if one != tag] + [tag] * (tag not in line.tags)
            _tag(core, core.review.item(line.key), ", ".join(tags))


# marks and reveals


def _mark(core: Core) -> None:
    item = core.item_to_change("mark")
    if item is None:
        return
    on = not item.row.marked
    text = f"marked: {core.keys.first('filter')} then mark shows the marked ones"

    def shown(item: Item) -> Item:
        return replace(item, row=replace(item.row, marked=on))

    act = edits.mark(item.row.key, on)
    _put(core, "mark" if on else "unmark", item, text if on else "mark removed", act, shown)


def _reveal(core: Core) -> None:
    item = core.session.item
    other = item is not None and item.row.labelled_by_other
    if item is None or not (core.session.hidden or other):
        core.say_here("Nothing is hidden here.")
        return
    at = core.desk.clock()

    def shown(item: Item) -> Item:
        return replace(item, revealed_at=at.isoformat(timespec="milliseconds"))

    name = f"reveal {item.verdict.id}"
    act = Edit("reveal", item.row.key)
    core.outbox.put(Write(act, name=name, item=item, stands=False, shown=shown, at=at))
    core.review.refresh()
    what = " and what another gave it" * other
    core.say_here(f"revealed{what}: a label on this item is not blind", Tone.NOTE)
    core.show(keep=True, rows=True)


# its history, other runs, a copy


def _history(core: Core) -> None:
    session = core.session
    item = core.item("look back at")
    if item is None:
        return
    past = item.history
    if session.hidden:
        # What others wrote, and a re-run's answers, may tell of the panel's.
        mine = [one for one in past if one.author == core.desk.reviewer]
        past = tuple(one for one in mine if one.kind not in queue.RERUNS)
    choices = []
    for one in past[::-1]:
        when, who = queue.given(one)
        choices.append(Choice((when, "  ", *queue.event(one), "  ", who), one))
    closes = frozenset({"q", "at"})
    page = DialogPage(
        "History of", MOVES_AND_CLOSES, item.verdict.id, "newest first", choices=choices,
        closes=closes, width=96,
    )  # fmt: skip
    core.ask(one_page(page), lambda _: None)


def _diff(core: Core) -> None:
    """Compare the item with other runs of the same content."""
    from reviewdesk.views.comparison import comparison

    item = core.item_with_answer("compare")
    if item is None:
        return
    found = items.other_runs(core.desk, item.row.key)
    if not found:
        core.say_here("no other loaded run judged this content")
        return
    count = len(found)

    def read(place: int) -> DialogPage:
        other = core.desk.item(found[place])
        lead = Paragraph(("with ", outside(other.run.name, 60)))
        following = (("n", "next"),) if count > 1 else ()
        return DialogPage(
            "Compare",
            (("f", "lists what flipped"), *following, *SCROLLS_AND_CLOSES),
            item.verdict.id,
            f"{place + 1} of {count} other runs",
            Document((Section("", (lead,)), *comparison(item, other).sections)),
            answers={"f": condition("flip", other.run.name) or f"flip:{other.run.hash}"},
            closes=frozenset("qd"),
            width=112,
        )

    turns = {"n": 1, "tab": 1, "N": -1, "shift+tab": -1}
    form = PageForm(read, count, turns=turns)
    core.ask(form, lambda wanted: use(core, wanted) if wanted else None)


def _copy(core: Core) -> None:
    from reviewdesk.views.json import review as shapes

    item = core.item("copy")
    if item is None:
        return
    if core.session.hidden:
        shape = shapes.content(item)
    else:
        reruns = items.of_item(core.desk, item)
        shape = shapes.verdict(item, reruns)
    text = json.dumps(shape, ensure_ascii=False, indent=2)
    core.request("copy", text)
    path = edits.keep_copy(text)
    also = "" if path is None else f"; also in {path}".replace(str(Path.home()), "~", 1)
    core.say(f"copied, {len(text):,} characters of JSON{also}", Tone.NOTE)


def _rerun(core: Core) -> None:
    # It imports what asks the jurors, which is slow.
    from reviewdesk.app.controllers import rerun

    rerun.open_dialog(core)


# panes

_STEP = 4
"""The columns by which one key press widens or narrows a pane."""
JURY = FIGURES | {REASONS}
_ALONE = f"one pane has the screen: it is zoomed, or there are under {WIDE} columns"


def _shift(core: Core, by: int, *, around: bool = False) -> None:
    if by < 0 and not around and core.session.chosen:
        core.review.choose(frozenset())
    elif name := core.panes.beside(by, around=around):
        core.choose_pane(name)
        index = core.session.index
        if by > 0 and not around and core.session.item is None and index is not None:
            choose_row(core, index)
    elif by > 0:
        _unfold_jury(core)


def _zoom(core: Core) -> None:
    panes = core.panes
    if not panes.wide and not panes.zoomed:
        core.say_here(_ALONE)
    else:
        core.arrange(replace(panes, zoomed=not panes.zoomed))


def _resize(core: Core, by: int) -> None:
    """Widen or narrow the pane with the keys; the item takes from the jury, then the queue."""
    panes = core.panes
    if panes.alone:
        core.say_here(_ALONE)
        return
    name = taken = panes.current
    columns = panes.columns
    if name == "item":
        can_give = "jury" in columns and (by < 0 or columns["jury"] > LEAST["jury"])
        by = -by
        taken = "jury" if can_give else "queue"
    core.arrange(panes.sized(taken, columns[taken] + by))


def drag(core: Core, name: str, column: int) -> None:
    """Move the rule at the left of the pane ``name`` to a column of the screen."""
    panes = core.panes
    if panes.alone:
        return
    if name == "item":
        core.arrange(panes.sized("queue", column))
    elif panes.answer:
        core.arrange(panes.sized("jury", panes.width - 1 - column))


# texts


def _unfold_jury(core: Core) -> None:
    """Show every reason and figure of the jury, or fold them again where they are in view."""
    if core.session.hidden:
        reveal = core.keys.first("reveal")
        core.say_here(f"the panel's answer is hidden until you label; {reveal} reveals it")
        return
    opened = core.reading.open_sections
    beside = not core.panes.alone or core.panes.current == "jury"
    folds = beside and opened >= JURY
    if not beside:
        core.choose_pane("jury")
    core.reading = replace(core.reading, open_sections=opened - JURY if folds else opened | JURY)
    core.say_here("the jury in short" if folds else "the jury in full")


def what_if(core: Core) -> None:
    """Show what other rules decide of the item, or fold it again."""
    if core.item_with_answer("apply other rules to") is None:
        return
    opened = core.reading.open_sections
    folds = WHAT_IF in opened and core.panes.current == "jury"
    opened = opened - {WHAT_IF} if folds else opened | {WHAT_IF}
    core.reading = replace(core.reading, open_sections=opened)
    if not folds:
        core.choose_pane("jury")
        core.request("jump", WHAT_IF.upper())


def _unfold_texts(core: Core) -> None:
    """Show folded kinds of text whole, on this and other items; if none is folded, fold all."""
    item = core.session.item
    opened = core.reading.open_sections
    found = frozenset() if item is None else core.seen.folded(item)
    if not found and not opened & FOLDS:
        core.say_here("no text folds here")
        return
    core.reading = replace(core.reading, open_sections=opened | found if found else opened - FOLDS)
    core.say_here("long texts are shown whole" if found else "long texts fold")


VERBS: dict[str, Verb] = {
    "note": lambda core: _write_note(core, core.item_to_change("write about")),
    "note.labelled": lambda core: _write_note(core, _labelled(core)),
    "tags": lambda core: _type_tags(core, core.item_to_change("tag")),
    "tags.labelled": lambda core: open_reasons(core, _labelled(core)),
    "mark": _mark,
    "reveal": _reveal,
    "history": _history,
    "diff": _diff,
    "copy.json": _copy,
    "rerun": _rerun,
    "deeper": partial(_shift, by=1),
    "shallower": partial(_shift, by=-1),
    "pane.next": partial(_shift, by=-1, around=True),
    "pane.previous": partial(_shift, by=1, around=True),
    "pane.wider": partial(_resize, by=_STEP),
    "pane.narrower": partial(_resize, by=-_STEP),
    "pane.default": lambda core: core.arrange(replace(core.panes, queue=None, jury=None)),
    "zoom": _zoom,
    "jury.whole": _unfold_jury,
    "unfold": _unfold_texts,
    "part.next": lambda core: core.request("jump", 1),
    "part.previous": lambda core: core.request("jump", -1),
}
