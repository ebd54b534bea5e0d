"""The controllers of one item: notes, tags and marks; history, other runs and copying."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from reviewdesk.app.controllers import rerun_history as outcomes
from reviewdesk.app.controllers.core import Core, item_to_change
from reviewdesk.app.controllers.requests import (
    Copy,
    DiffForm,
    DiffPage,
    FieldInput,
    HistoryForm,
    PromptForm,
    TagsForm,
)
from reviewdesk.app.controllers.work.edits import ItemEdits
from reviewdesk.app.controllers.work.notes import NoteController
from reviewdesk.app.controllers.work.outbox import Write
from reviewdesk.app.keys import commands
from reviewdesk.desk.live import rerun_history
from reviewdesk.desk.review import clipboard, edits, history, marks, other_runs
from reviewdesk.desk.review.edits import Edit
from reviewdesk.domain.panel import rerun_result
from reviewdesk.domain.query import completion
from reviewdesk.domain.records import Event, Item, Run
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.tags import normal_tags, split_tags
from reviewdesk.views import events
from reviewdesk.views.document import Tone
from reviewdesk.views.json import review as shapes


class AnnotationController:
    """Notes, tags and marks, of the item on screen or of the one that was labelled last."""

    def __init__(self, core: Core) -> None:
        """Act on the session of ``core``; unsaved texts are kept by verdict and since when."""
        self._core, self._edits = core, ItemEdits(core)
        self._notes = NoteController(core, self._edits)
        self._tags: dict[tuple[int, int], str] = {}
        self._own: dict[str, None] | None = None
        """The reviewer's tags, read once: the counts of a large desk take long to read."""

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, by action id."""
        return {
            "note": lambda: self._notes.write(item_to_change(self._core, "write about")),
            "note.labelled": lambda: self._notes.write(self._edits.labelled()),
            "tags": lambda: self._type_tags(item_to_change(self._core, "tag")),
            "tags.labelled": lambda: self.offer_tags(self._edits.labelled()),
            "mark": self._mark,
        }

    @property
    def commands(self) -> dict[str, Callable[[str], None]]:
        """The methods that carry out this controller's commands, by command name."""
        return {"tag": self._tag_now, "note": self._notes.write_now}

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
            complete=commands.last_of_list(lambda: marks.known_tags(core.desk)),
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
            name, write = show_line(item.verdict.id, 80), self._core.keys.first("tags")
            self._core.say_here(f"{name}: tags not saved, {write} goes on with them")

    def _tag(self, item: Item, text: str) -> None:
        key, tags = item.row.key, normal_tags(split_tags(text))
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

    def offer_tags(self, item: Item | None) -> None:
        """Open the line in which digits tag an item; each digit is saved at once."""
        if item is None:
            return
        core, key = self._core, item.row.key
        configured = normal_tags(core.settings.tags)
        if self._own is None:
            self._own = dict.fromkeys(marks.own_tags(core.desk))
        offered = marks.tag_digits(core.desk, configured, tuple(self._own))
        pressed = dict.fromkeys(range(len(offered)), float("-inf"))
        tags = list(item.tags)

        def toggle(place: int, late: float) -> Sequence[str]:
            now = core.clock() - late
            # A held key must not give and take away the tag many times a second.
            held, pressed[place] = now - pressed[place] < core.guard.interval, now
            if not held:
                tag = offered[place]
                wanted = [*tags, tag] if tag not in tags else [t for t in tags if t != tag]
                self._tag(item, ", ".join(wanted))
                tags[:] = wanted
            return tuple(tags)

        def closed(typing: bool | None) -> None:
            if typing:
                self._type_tags(core.review.item(key))

        core.ask(TagsForm(item.verdict.id, offered, item.tags, toggle), closed)

    def labelled_fail(self, item: Item) -> None:
        """Offer tags for an item that was just labelled fail, if the settings ask for it."""
        if self._core.settings.tags_after_fail:
            self.offer_tags(item)

    def _mark(self) -> None:
        core, item = self._core, item_to_change(self._core, "mark")
        if item is None:
            return
        key, on = item.row.key, not item.marked
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
        self._core, self._use_filter = core, use_filter

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, by action id."""
        return {
            "reveal": self._reveal,
            "history": self._history,
            "diff": self._diff,
            "copy.json": self._copy,
        }

    def _reveal(self) -> None:
        core, item = self._core, self._core.session.item
        other = item is not None and item.row.labelled_by_other
        if item is None or not (core.session.hidden or other):
            core.say_here("Nothing is hidden here.")
            return
        key, at = item.row.key, core.desk.clock()

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
        core, session = self._core, self._core.session
        item, blind, hidden = session.item, session.view.blind, session.hidden
        mine = core.review.repeats.events(history.session_history(core.desk, None))
        past = () if item is None else item.history
        shown = [event for event in past if not hidden or event.author == core.desk.reviewer]
        if blind:
            # A re-run's answers must stay hidden from a blind reviewer like the first ones.
            mine = [event for event in mine if event.kind not in events.RERUNS]
            shown = [event for event in shown if not hidden or event.kind not in events.RERUNS]
        title = "" if item is None else item.verdict.id
        form = HistoryForm(title, shown[::-1], mine, outcomes.Outcomes(core.desk).of)
        core.ask(form, partial(self._go_to, session.run))

    def _go_to(self, run: Run, event: Event | None) -> None:
        if event is not None:
            self._core.review_run(self._core.desk.run(event.run or run.hash), event.verdict)

    def _diff(self) -> None:
        core, item = self._core, self._core.item("compare")
        if item is None:
            return
        if core.session.hidden:
            core.say_here("hidden until the item is labelled: it tells the panel's answers")
            return
        records = rerun_history.of_item(core.desk, item)[::-1]
        found = other_runs.other_runs(core.desk, item.row.key)
        if not records and not found:
            core.say_here("no other loaded run judged this content")
            return

        def read(place: int) -> DiffPage:
            if place < len(records):
                made = records[place].rerun
                halt = rerun_result.outcome(item, made).halt if made.stopped else ""
                return DiffPage(rerun_history.beside(item, records[place]), halt)
            other = found[place - len(records)]
            flips = other_runs.flips(core.desk, item.run, other.run)
            return DiffPage(core.desk.item(other.key), flips=flips)

        count, blind = len(records) + len(found), core.session.view.blind
        core.ask(DiffForm(item, count, bool(records), blind, read), self._filter_flips)

    def _filter_flips(self, run: Run | None) -> None:
        """Filter the queue to the verdicts that the other run decided differently."""
        if run is not None:
            self._use_filter(completion.condition("flip", run.name) or f"flip:{run.hash}")

    def _copy(self) -> None:
        core, item = self._core, self._core.item("copy")
        if item is None:
            return
        if core.session.hidden:
            shape = shapes.content(item)
        else:
            reruns = [one.rerun for one in rerun_history.of_item(core.desk, item)]
            shape = shapes.verdict(item, reruns)
        text = json.dumps(shape, ensure_ascii=False, indent=2)
        core.requests.append(Copy(text))
        path = clipboard.keep_copy(text, "copied.json")
        also = "" if path is None else f"; also in {path}".replace(str(Path.home()), "~", 1)
        core.say(f"copied, {len(text):,} characters of JSON{also}", Tone.NOTE)
