"""What a reviewer adds to an item beside its label: notes, tags, reasons, marks and reveals."""

import contextlib
from collections.abc import Callable

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core, Verb
from reviewdesk.app.controllers.jobs import Write
from reviewdesk.app.controllers.state import FieldInput, PromptForm, ReasonsLine
from reviewdesk.app.keys.commands import last_of_list
from reviewdesk.desk.review import edits, filters, items
from reviewdesk.desk.review.edits import Edit
from reviewdesk.domain.records import Item
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.tags import normal_tags, split_tags
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views.document import Tone

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
            core.saved = f"saved ✓ {mark}"
            core.say_here(text, Tone.NOTE)
        else:
            name = show_line(item.verdict.id, 80)
            core.saved = f"saved ✓ {mark} {name}"
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
    whole = core.review.repeats.whole_note(key, text)

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
    whole = core.review.repeats.whole_tags(key, tags)
    act = edits.tags(key, whole or tags, None if whole is None else tags)
    if core.own_tags is not None:
        core.own_tags |= dict.fromkeys(tags)
    told = f"tags: {show_line(', '.join(tags)) or 'none'}"
    _put(core, "tags", item, told, act, lambda item: replace(item, tags=tuple(tags)))


def open_reasons(core: Core, item: Item | None) -> None:
    """Open the line in which digits tag an item; each digit is saved at once."""
    if item is None:
        return
    if core.own_tags is None:
        core.own_tags = dict.fromkeys(filters.own_tags(core.desk))
    offered = filters.tag_digits(core.desk, normal_tags(core.settings.tags), tuple(core.own_tags))
    core.reasons = ReasonsLine(item.row.key, item.verdict.id, tuple(offered), tuple(item.tags))


def press_reason(core: Core, key: str, late: float) -> None:
    line = core.reasons
    if line is None or core.asking:
        return
    if key == "t":
        core.reasons = None
        _type_tags(core, core.review.item(line.key))
    elif not key.isdecimal():
        core.reasons = None
        # A digit that was meant for the line must not label a moment later.
        core.guard.interrupt()
    elif int(key) <= len(line.offered):
        tag = line.offered[int(key) - 1]
        now = core.clock() - late
        # A held key must not give a tag and take it away many times a second.
        held = now - core.tagged.get(tag, float("-inf")) < core.guard.interval
        core.tagged[tag] = now
        if not held:
            tags = [one for one in line.tags if one != tag] + [tag] * (tag not in line.tags)
            _tag(core, core.review.item(line.key), ", ".join(tags))
            core.reasons = replace(line, tags=tuple(tags))


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


VERBS: dict[str, Verb] = {
    "note": lambda core: _write_note(core, core.item_to_change("write about")),
    "note.labelled": lambda core: _write_note(core, _labelled(core)),
    "tags": lambda core: _type_tags(core, core.item_to_change("tag")),
    "tags.labelled": lambda core: open_reasons(core, _labelled(core)),
    "mark": _mark,
    "reveal": _reveal,
}
