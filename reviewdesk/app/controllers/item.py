"""The controller of one item: notes, tags, marks, history, other runs, and copying."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.requests import (
    Copy,
    DiffForm,
    DiffPage,
    FieldInput,
    HistoryForm,
    NoteForm,
    PromptForm,
)
from reviewdesk.app.controllers.rerun_history import Outcomes
from reviewdesk.app.keys.commands import last_of_list
from reviewdesk.desk.live import rerun_history
from reviewdesk.desk.review import drafts, history, marks, other_runs, repeats
from reviewdesk.desk.review.clipboard import keep_copy
from reviewdesk.domain.panel.rerun_result import outcome
from reviewdesk.domain.query.completion import condition
from reviewdesk.domain.records import Event, Run
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.tags import split_tags
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views.document import Tone
from reviewdesk.views.events import RERUNS
from reviewdesk.views.json import review as shapes


class ItemController:
    """Acts on the current item."""

    def __init__(self, core: Core, use_filter: Callable[[str], None]) -> None:
        """Act on the session of ``core``; ``use_filter`` filters the queue."""
        self._core, self._use_filter = core, use_filter
        self._tags: dict[int, str] = {}
        self._unsaved: dict[int, str] = {}
        """Notes that the desk could not save, by verdict key, so that no typed text is lost."""

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, by action id."""
        return {
            "note": self._note,
            "tags": self._ask_tags,
            "mark": self._mark,
            "reveal": self._reveal,
            "history": self._history,
            "diff": self._diff,
            "copy.json": self._copy,
        }

    @property
    def commands(self) -> dict[str, Callable[[str], None]]:
        """The methods that carry out this controller's commands, by command name."""
        return {"tag": self._tag_now, "note": self._note_now}

    def _saved(self, mark: str, text: str = "") -> None:
        core = self._core
        core.review.refresh()
        core.saved = f"saved ✓ {mark}"
        core.say_here(text, Tone.NOTE)
        core.show(keep=True, rows=True)

    # notes and tags

    def _note(self) -> None:
        core, item = self._core, self._core.item("write about")
        if item is None:
            return
        key, note = item.row.key, item.note or ""
        draft = self._unsaved.pop(key, None) or drafts.draft(core.desk, key)
        # Even after a crash the next start must open at the item that the draft belongs to.
        with contextlib.suppress(ReviewDeskError):
            core.review.save()

        def changed(text: str) -> None:
            core.safely(drafts.keep, core.desk, key, "" if text == note else text)

        core.ask(NoteForm(note if draft is None else draft, changed), partial(self._take_note, key))

    def _take_note(self, key: int, answer: FieldInput | None) -> None:
        core = self._core
        if answer is None:
            return
        try:
            if answer.given:
                self._save_note(key, answer.text)
                return
            kept = drafts.draft(core.desk, key)
        except ReviewDeskError:
            self._unsaved[key] = answer.text
            raise
        core.say_here(f"draft kept: {core.keys.first('note')} goes on with it" if kept else "")

    def _save_note(self, key: int, text: str) -> None:
        whole = self._core.review.repeats.whole_note(key, text)
        if whole is None:
            self._core.desk.note(key, text)
        else:
            repeats.note(self._core.desk, key, whole, text)
        drafts.keep(self._core.desk, key, "")
        self._saved("note")

    def _note_now(self, text: str) -> None:
        if (item := self._core.item("write about")) is not None:
            self._save_note(item.row.key, text)

    def _ask_tags(self) -> None:
        core, item = self._core, self._core.item("tag")
        if item is None:
            return
        start = ", ".join(item.tags) + (", " if item.tags else "")
        form = PromptForm(
            "Tags, with commas",
            self._tags.pop(item.row.key, start),
            check=split_tags,
            complete=last_of_list(lambda: marks.known_tags(core.desk)),
            hint="what went wrong, in your own words: wrong-policy, invented-fact, tone",
        )
        core.ask(form, partial(self._take_tags, item.row.key))

    def _take_tags(self, key: int, answer: FieldInput | None) -> None:
        if answer is None:
            return
        if answer.given:
            self._tag(key, answer.text)
        else:
            self._tags[key] = answer.text

    def _tag(self, key: int, text: str) -> None:
        core, tags = self._core, split_tags(text)
        whole = core.review.repeats.whole_tags(key, tags)
        if marks.tag(core.desk, key, whole or tags, added=None if whole is None else tags) is None:
            core.review.refresh()
            core.say_here("the tags are as they were")
        else:
            self._saved("tags", f"tags: {show_line(', '.join(tags)) or 'none'}")

    def _tag_now(self, text: str) -> None:
        if (item := self._core.item("tag")) is not None:
            self._tag(item.row.key, text)

    def _mark(self) -> None:
        core, item = self._core, self._core.item("mark")
        if item is None:
            return
        marks.mark(core.desk, item.row.key, not item.marked)
        if item.marked:
            self._saved("unmark", "mark taken away")
        else:
            key = core.keys.first("filter")
            self._saved("mark", f"marked: {key} then mark shows the marked ones")

    def _reveal(self) -> None:
        core, item = self._core, self._core.session.item
        if item is None or not core.session.hidden:
            core.say_here("Nothing is hidden here.")
            return
        core.desk.reveal(item.row.key)
        core.review.refresh()
        core.say_here("revealed: a label on this item is not blind", Tone.NOTE)
        core.show(keep=True, rows=True)

    # looking closer

    def _history(self) -> None:
        core, session = self._core, self._core.session
        item, blind, hidden = session.item, session.view.blind, session.hidden
        mine = core.review.repeats.events(history.session_history(core.desk, None))
        past = () if item is None else item.history
        shown = [event for event in past if not hidden or event.author == core.desk.reviewer]
        if blind:
            # A re-run's answers must stay hidden from a blind reviewer like the first ones.
            mine = [event for event in mine if event.kind not in RERUNS]
            shown = [event for event in shown if not hidden or event.kind not in RERUNS]
        title = "" if item is None else item.verdict.id
        form = HistoryForm(title, shown[::-1], mine, Outcomes(core.desk).of)
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
                halt = outcome(item, made).halt if made.stopped else ""
                return DiffPage(rerun_history.beside(item, records[place]), halt)
            other = found[place - len(records)]
            flips = other_runs.flips(core.desk, item.run, other.run)
            return DiffPage(core.desk.item(other.key), flips=flips)

        count, blind = len(records) + len(found), core.session.view.blind
        core.ask(DiffForm(item, count, bool(records), blind, read), self._filter_flips)

    def _filter_flips(self, run: Run | None) -> None:
        """Filter the queue to the verdicts that the other run decided differently."""
        if run is not None:
            self._use_filter(condition("flip", run.name) or f"flip:{run.hash}")

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
        where = str(keep_copy(text, "copied.json")).replace(str(Path.home()), "~", 1)
        core.say(f"copied, {len(text):,} characters of JSON; also in {where}", Tone.NOTE)
