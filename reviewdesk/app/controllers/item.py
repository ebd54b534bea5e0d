"""The controllers of one item: notes, tags and marks; history, other runs and copying."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from reviewdesk.app.controllers import jobs as outcomes
from reviewdesk.app.controllers.core import Core, item_to_change
from reviewdesk.app.controllers.requests import (
    Choice,
    Copy,
    DialogPage,
    FieldInput,
    NoteForm,
    PageForm,
    PromptForm,
)
from reviewdesk.app.controllers.saving import Write
from reviewdesk.app.controllers.state import ReasonsLine
from reviewdesk.app.keys import commands
from reviewdesk.desk.live import rerun_history
from reviewdesk.desk.review import edits, filters, history, items, kept
from reviewdesk.desk.review.edits import Edit
from reviewdesk.domain.panel.rerun import RerunResult, outcome
from reviewdesk.domain.query import completion
from reviewdesk.domain.records import Event, Item, Run
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.tags import normal_tags, split_tags
from reviewdesk.errors import NotFoundError, ReviewDeskError
from reviewdesk.views import events
from reviewdesk.views.comparison import comparison
from reviewdesk.views.document import Text, Tone, outside
from reviewdesk.views.json import review as shapes

Shown = Callable[[Item], Item]
REASON_KEYS = frozenset({*"123456789", "escape", "enter", "t"})
"""The keys that the line of reasons takes while it is open, by Textual's names."""


class ItemEdits:
    """Saves edits of the item on screen, or of the one that was labelled last."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def labelled(self) -> Item | None:
        """Return the item that the reviewer labelled last in this run, or say why there is none."""
        core = self._core
        run = self._core.session.run
        if (waiting := core.outbox.labelled(run.key)) is not None:
            return core.review.item(waiting.row.key)
        event = history.last_label(core.desk, run)
        if event is None or event.verdict is None:
            core.say_here("You have labelled no item of this run yet.")
        elif event.undone:
            core.say_here(f"The label on {show_line(event.verdict, 80)} was taken back.")
        else:
            try:
                key = core.desk.find(core.desk.run(run.hash), event.verdict)
                return core.review.item(key)
            except NotFoundError:
                core.say_here("The run of the item just labelled was removed.")
        return None

    def put(self, mark: str, item: Item, text: str, act: Edit, shown: Shown) -> None:
        """Save an edit of an item; ``shown`` changes the item so until it is on disk."""
        core = self._core
        name = f"{mark} {item.verdict.id}"
        saved = partial(self._saved, mark, item, text)
        if not core.outbox.put(Write(act, saved, name=name, item=item, shown=shown)):
            core.review.refresh()
            core.show(keep=True, rows=True)

    def _saved(self, mark: str, item: Item, text: str, event: object) -> None:
        """Show that something was saved; name its item unless it is the one on screen."""
        core = self._core
        current = self._core.session.item
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
            core.say(f"{name}: {text or mark + ' saved'}", Tone.NOTE)
        core.show(keep=True, rows=True)


class NoteController:
    """Writes notes, and keeps every draft of them."""

    def __init__(self, core: Core, edits: ItemEdits) -> None:
        """Act on the session of ``core``; drafts the desk has not are kept by verdict and since."""
        self._core = core
        self._edits = edits
        self._unsaved: dict[tuple[int, int], str] = {}

    def write(self, item: Item | None) -> None:
        """Open the note of an item, where its draft was left."""
        if item is None:
            return
        core = self._core
        key = item.row.key
        note = item.note or ""
        since = core.review.repeats.since(item)
        text = self._unsaved.pop((key, since), None) or kept.draft(core.desk, key, since) or note
        # Even after a crash the next start must open at the item that the draft belongs to.
        with contextlib.suppress(ReviewDeskError):
            core.review.save()

        def state(text: str) -> str:
            saved = "as saved" if note else ""
            return saved if text == note else "draft kept, not saved as a note yet"

        def changed(text: str) -> str:
            try:
                if self._keep_draft(key, "" if text == note else text, since):
                    return state(text)
            except ReviewDeskError as error:
                core.complain(error)
                return f"draft not kept: {error.message}"
            return "draft kept once another process has finished its write"

        form = NoteForm(item.verdict.id, text, changed, state(text))
        core.ask(form, partial(self._take_note, item))

    def _take_note(self, item: Item, answer: FieldInput | None) -> None:
        core = self._core
        key = item.row.key
        if answer is None:
            return
        since = core.review.repeats.since(item)
        try:
            if answer.given:
                self._save_note(item, answer.text)
                return
            draft = self._unsaved.get((key, since)) or kept.draft(core.desk, key, since)
        except ReviewDeskError:
            self._unsaved[key, since] = answer.text
            raise
        name = show_line(item.verdict.id, 80)
        write = _key_of_note(core, key)
        core.say_here(f"{name}: draft kept, {write} goes on with it" if draft else "")

    def _save_note(self, item: Item, text: str) -> None:
        core = self._core
        key = item.row.key
        whole = core.review.repeats.whole_note(key, text)

        def shown(item: Item) -> Item:
            return replace(item, note=text or None, row=replace(item.row, noted=bool(text)))

        act = edits.note(key, text) if whole is None else edits.note(key, whole, text)
        self._edits.put("note", item, "", act, shown)
        self._keep_draft(key, "", core.review.repeats.since(item))

    def _keep_draft(self, key: int, text: str, since: int) -> bool:
        """Keep an unfinished note, here while the desk cannot; return True if it is on disk."""
        on_disk = self._core.outbox.keep(("draft", key), kept.NoteDraft(key, text, since))
        if on_disk or not text:
            self._unsaved.pop((key, since), None)
        else:
            self._unsaved[key, since] = text
        return on_disk

    def write_now(self, text: str) -> None:
        if (item := item_to_change(self._core, "write about")) is not None:
            self._save_note(item, text)


def _key_of_note(core: Core, key: int) -> str:
    now = core.session.item
    in_view = now is not None and now.row.key == key
    return core.keys.first("note" if in_view else "note.labelled")


class AnnotationController:
    """Notes, tags and marks, of the item on screen or of the one that was labelled last."""

    def __init__(self, core: Core) -> None:
        """Act on the session of ``core``; unsaved texts are kept by verdict and since when."""
        self._core = core
        self._edits = ItemEdits(core)
        self._notes = NoteController(core, self._edits)
        self._tags: dict[tuple[int, int], str] = {}
        self._pressed: dict[str, float] = {}
        """When the digit of each tag was pressed last."""
        self._own: dict[str, None] | None = None
        """The reviewer's tags, read once: the counts of a large desk take long to read."""
        self.verbs: dict[str, Callable[[], None]] = {
            "note": lambda: self._notes.write(item_to_change(self._core, "write about")),
            "note.labelled": lambda: self._notes.write(self._edits.labelled()),
            "tags": lambda: self._type_tags(item_to_change(self._core, "tag")),
            "tags.labelled": lambda: self.open_reasons(self._edits.labelled()),
            "mark": self._mark,
        }
        self.commands: dict[str, Callable[[str], None]] = {
            "tag": self._tag_now,
            "note": self._notes.write_now,
        }

    # tags

    def _type_tags(self, item: Item | None) -> None:
        if item is None:
            return
        core = self._core
        start = ", ".join(item.tags) + (", " if item.tags else "")
        form = PromptForm(
            "Tags of",
            self._tags.pop((item.row.key, core.review.repeats.since(item)), start),
            check=split_tags,
            complete=commands.last_of_list(lambda: filters.known_tags(core.desk)),
            hint="What went wrong, in your own words, with commas: wrong-policy, invented-fact.",
            name=item.verdict.id,
        )
        core.ask(form, partial(self._take_tags, item, start))

    def _take_tags(self, item: Item, start: str, answer: FieldInput | None) -> None:
        if answer is None:
            return
        if answer.given:
            self._tag(item, answer.text)
        elif answer.text != start:
            self._tags[item.row.key, self._core.review.repeats.since(item)] = answer.text
            name = show_line(item.verdict.id, 80)
            write = self._core.keys.first("tags")
            self._core.say_here(f"{name}: tags not saved, {write} goes on with them")

    def _tag(self, item: Item, text: str) -> None:
        key = item.row.key
        tags = normal_tags(split_tags(text))
        whole = self._core.review.repeats.whole_tags(key, tags)
        added = None if whole is None else tags
        if self._own is not None:
            self._own |= dict.fromkeys(tags)
        self._edits.put(
            "tags", item, f"tags: {show_line(', '.join(tags)) or 'none'}",
            edits.tags(key, whole or tags, added),
            lambda item: replace(item, tags=tuple(tags)),
        )  # fmt: skip

    def _tag_now(self, text: str) -> None:
        if (item := item_to_change(self._core, "tag")) is not None:
            self._tag(item, text)

    def open_reasons(self, item: Item | None) -> None:
        """Open the line in which digits tag an item; each digit is saved at once."""
        if item is None:
            return
        core = self._core
        configured = normal_tags(core.settings.tags)
        if self._own is None:
            self._own = dict.fromkeys(filters.own_tags(core.desk))
        offered = filters.tag_digits(core.desk, configured, tuple(self._own))
        core.reasons = ReasonsLine(item.row.key, item.verdict.id, tuple(offered), tuple(item.tags))

    def press(self, key: str, late: float) -> None:
        """Act on a key of the line of reasons, of ``REASON_KEYS``."""
        core = self._core
        line = core.reasons
        if line is None or core.asking:
            return
        if key == "t":
            core.reasons = None
            self._type_tags(core.review.item(line.key))
        elif not key.isdecimal():
            core.reasons = None
            # A digit that was meant for the line must not label a moment later.
            core.guard.interrupt()
        elif int(key) <= len(line.offered):
            self._toggle(line, line.offered[int(key) - 1], core.clock() - late)

    def _toggle(self, line: ReasonsLine, tag: str, now: float) -> None:
        """Give a tag or take it away; a held key must not do both many times a second."""
        core = self._core
        held = now - self._pressed.get(tag, float("-inf")) < core.guard.interval
        self._pressed[tag] = now
        if not held:
            tags = (
                (*line.tags, tag)
                if tag not in line.tags
                else tuple(one for one in line.tags if one != tag)
            )
            self._tag(core.review.item(line.key), ", ".join(tags))
            core.reasons = replace(line, tags=tags)

    def _mark(self) -> None:
        core = self._core
        item = item_to_change(self._core, "mark")
        if item is None:
            return
        key = item.row.key
        on = not item.marked
        text = f"marked: {core.keys.first('filter')} then mark shows the marked ones"
        self._edits.put(
            "mark" if on else "unmark", item, text if on else "mark taken away",
            edits.mark(key, on),
            lambda item: replace(item, marked=on, row=replace(item.row, marked=on)),
        )  # fmt: skip


class ItemController:
    """Looks closer at the current item: reveals, compares and copies it, and shows its history."""

    def __init__(self, core: Core, use_filter: Callable[[str], None]) -> None:
        """Act on the session of ``core``; ``use_filter`` filters the queue."""
        self._core = core
        self._use_filter = use_filter
        self.verbs: dict[str, Callable[[], None]] = {
            "reveal": self._reveal,
            "history": self._history,
            "diff": self._diff,
            "copy.json": self._copy,
        }

    def _reveal(self) -> None:
        core = self._core
        item = self._core.session.item
        other = item is not None and item.row.labelled_by_other
        if item is None or not (core.session.hidden or other):
            core.say_here("Nothing is hidden here.")
            return
        key = item.row.key
        at = core.desk.clock()

        def shown(item: Item) -> Item:
            return replace(item, revealed_at=at.isoformat(timespec="milliseconds"))

        name = f"reveal {item.verdict.id}"
        core.outbox.put(
            Write(Edit("reveal", key), name=name, item=item, stands=False, shown=shown, at=at)
        )
        core.review.refresh()
        what = " and what another gave it" * other
        core.say_here(f"revealed{what}: a label on this item is not blind", Tone.NOTE)
        core.show(keep=True, rows=True)

    def _history(self) -> None:
        core = self._core
        session = self._core.session
        item = session.item
        blind = session.view.blind
        hidden = session.hidden
        mine = core.review.repeats.events(history.session_history(core.desk, None))
        past = () if item is None else item.history
        shown = [event for event in past if not hidden or event.author == core.desk.reviewer]
        if blind:
            # A re-run's answers must stay hidden from a blind reviewer like the first ones.
            mine = [event for event in mine if event.kind not in events.RERUNS]
            shown = [event for event in shown if not hidden or event.kind not in events.RERUNS]
        found = outcomes.Outcomes(core.desk).of
        title = "" if item is None else item.verdict.id
        form = _history_pages(title, shown[::-1], mine, found)
        core.ask(form, partial(self._go_to, session.run))

    def _go_to(self, run: Run, event: Event | None) -> None:
        if event is not None:
            self._core.review_run(self._core.desk.run(event.run or run.hash), event.verdict)

    def _diff(self) -> None:
        core = self._core
        item = self._core.item("compare")
        if item is None:
            return
        if core.session.hidden:
            core.say_here("hidden until the item is labelled: it tells the panel's answers")
            return
        records = rerun_history.of_item(core.desk, item)[::-1]
        found = items.other_runs(core.desk, item.row.key)
        if not records and not found:
            core.say_here("no other loaded run judged this content")
            return

        count = len(records) + len(found)
        runs = "" if records else " other runs"

        def read(place: int) -> DialogPage:
            note = f"{place + 1} of {count}{runs}"
            if place < len(records):
                made = records[place].rerun
                halt = outcome(item, made).halt if made.stopped else ""
                other = rerun_history.beside(item, records[place])
                return _comparison(item, other, note, "the same item, asked again", halt)
            one = found[place - len(records)]
            flips = items.flips(core.desk, item.run, one.run)
            summary = f"{flips.shared:,} items in both runs"
            if not core.session.view.blind:
                # That count includes verdicts without a label.
                summary += f", {flips.flipped:,} decided otherwise"
            other = core.desk.item(one.key)
            return _comparison(item, other, note, summary, more=count > 1, run=one.run)

        turns = {"n": 1, "tab": 1, "N": -1, "shift+tab": -1}
        closes = frozenset("qd")
        form = PageForm(read, count, turns=turns, closes=closes, width=112, height=40)
        core.ask(form, self._filter_flips)

    def _filter_flips(self, run: Run | None) -> None:
        if run is not None:
            self._use_filter(completion.condition("flip", run.name) or f"flip:{run.hash}")

    def _copy(self) -> None:
        core = self._core
        item = self._core.item("copy")
        if item is None:
            return
        if core.session.hidden:
            shape = shapes.content(item)
        else:
            reruns = [one.rerun for one in rerun_history.of_item(core.desk, item)]
            shape = shapes.verdict(item, reruns)
        text = json.dumps(shape, ensure_ascii=False, indent=2)
        core.requests.append(Copy(text))
        path = kept.keep_copy(text, "copied.json")
        also = "" if path is None else f"; also in {path}".replace(str(Path.home()), "~", 1)
        core.say(f"copied, {len(text):,} characters of JSON{also}", Tone.NOTE)


def _history_pages(
    name: str,
    item: Sequence[Event],
    mine: Sequence[Event],
    found: Callable[[Event], RerunResult | None],
) -> PageForm:
    """Return two lists of events, newest first: those of the item, and the reviewer's own work.

    The answer is the chosen event.
    """

    def line(one: Event) -> Choice:
        when, who = events.given(one)
        about = outside(one.verdict or "", 80)
        text = (when, "  ", *events.event(one, found(one)), "  ", about, "  ", who)
        return Choice(text, one if one.verdict is not None else None)

    def page(at: int) -> DialogPage:
        keys = ("enter", "goes there"), ("tab", ("my work", "the item")[at]), ("j k", "move")
        choices = [line(one) for one in (item, mine)[at]]
        title = ("History of", "My work")[at]
        about = "" if at else name
        return DialogPage(title, (*keys, ("esc", "closes")), about, "newest first", choices=choices)

    turns = {"tab": 1, "shift+tab": 1}
    closes = frozenset({"q", "at"})
    return PageForm(page, 2, 0 if item else 1, turns, closes, width=96, height=40)


def _comparison(
    item: Item, other: Item, note: str, summary: str, halt: str = "", *,
    more: bool = True, run: Run | None = None,
) -> DialogPage:  # fmt: skip
    """Return the page that compares an item with another; ``f`` answers the run that it is of."""
    keys = [("f", "lists what flipped")] * (run is not None) + [("n", "next")] * more
    lead = (
        Text(f"{halt} · " if halt else "", Tone.WARN),
        "with ",
        outside(other.run.name, 60),
        Text(f"   {summary}", Tone.MUTED),
    )
    return DialogPage(
        "Compare",
        (*keys, ("j k", "scroll"), ("esc", "closes")),
        item.verdict.id,
        note,
        lead,
        comparison(item, other),
        answers={} if run is None else {"f": run},
    )
