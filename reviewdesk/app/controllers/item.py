"""The controller of one item: notes, tags, marks, history, other runs and copying."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reviewdesk.app.controllers.rerun_result import Outcomes, outcome
from reviewdesk.app.keys.commands import last_of_list
from reviewdesk.app.paint.styled import inline
from reviewdesk.app.screens.dialogs import NoteDialog
from reviewdesk.app.screens.diff import DiffScreen
from reviewdesk.app.screens.history import HistoryPlace, HistoryScreen
from reviewdesk.app.screens.prompt import FieldInput, PromptField
from reviewdesk.app.theme.inks import Ink
from reviewdesk.desk.live import rerun_history
from reviewdesk.desk.review import (
    drafts,
    history,
    json_shapes,
    marks,
)
from reviewdesk.desk.review import other_runs as others
from reviewdesk.desk.review.clipboard import keep_copy
from reviewdesk.domain.query.completion import condition
from reviewdesk.domain.records import Item, Run
from reviewdesk.domain.tags import split_tags
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.app.screens.review import ReviewScreen
    from reviewdesk.desk import Desk


class ItemController:
    """Acts on the current item."""

    def __init__(self, screen: ReviewScreen) -> None:
        """Act for ``screen``."""
        self._screen = screen
        self._tags: dict[int, str] = {}
        self._unsaved: dict[int, str] = {}
        """Notes that the desk could not save, by verdict key, so that no typed text is lost."""

    def verbs(self) -> dict[str, Callable[[], None]]:
        """Return the methods that carry out this controller's actions, by action id."""
        return {
            "note": self._note,
            "tags": self._ask_tags,
            "mark": self._mark,
            "reveal": self._reveal,
            "history": self._history,
            "diff": self._diff,
            "copy.json": self._copy,
        }

    def commands(self) -> dict[str, Callable[[str], None]]:
        """Return the methods that carry out this controller's commands, by command name."""
        return {"tag": self._tag_now, "note": self._note_now}

    def _item(self, what: str) -> Item | None:
        item = self._screen.session.item
        if item is None:
            self._screen.say_here(f"No item to {what} here.")
        return item

    def _saved(self, mark: str, text: str = "") -> None:
        self._screen.meter.saved = f"saved ✓ {mark}"
        self._screen.say_here(text, Ink.NOTE)
        self._screen.show(keep=True, rows=True)

    def _note(self) -> None:
        screen, item = self._screen, self._item("write about")
        if item is None:
            return
        key, note, desk = item.row.key, item.note or "", screen.review_session.desk
        draft = self._unsaved.pop(key, None) or drafts.draft(desk, key)
        # Even after a crash the next start must open at the item that the draft belongs to.
        with contextlib.suppress(ReviewDeskError):
            screen.review_session.save()

        def changed(text: str) -> None:
            try:
                drafts.keep(desk, key, "" if text == note else text)
            except ReviewDeskError as error:
                screen.complain(error)

        dialog = NoteDialog(note if draft is None else draft, changed)
        screen.desk_app.ask(dialog, partial(self._take_note, key))

    def _take_note(self, key: int, answer: tuple[bool, str] | None) -> None:
        screen = self._screen
        if answer is None:
            return
        save, text = answer
        try:
            if not save:
                again = screen.desk_app.keymap.first("note")
                kept = drafts.draft(screen.review_session.desk, key)
                screen.say_here(f"draft kept: {again} goes on with it" if kept else "")
                return
            screen.labeller.note(key, text)
        except ReviewDeskError as error:
            self._unsaved[key] = text
            screen.complain(error)
            return
        self._saved("note")

    def _note_now(self, text: str) -> None:
        if (item := self._item("write about")) is not None:
            self._screen.labeller.note(item.row.key, text)
            self._saved("note")

    def _ask_tags(self) -> None:
        screen, item = self._screen, self._item("tag")
        if item is None:
            return
        key = item.row.key
        desk = screen.review_session.desk
        start = ", ".join(item.tags) + (", " if item.tags else "")
        prompt = PromptField(
            "Tags, with commas",
            self._tags.pop(key, start),
            check=split_tags,
            complete=last_of_list(lambda: marks.known_tags(desk)),
            hint="what went wrong, in your own words: wrong-policy, invented-fact, tone",
        )
        screen.desk_app.ask(prompt, partial(self._take_tags, key))

    def _take_tags(self, key: int, answer: FieldInput | None) -> None:
        if answer is None:
            return
        if not answer.given:
            self._tags[key] = answer.text
            return
        try:
            self._tag(key, answer.text)
        except ReviewDeskError as error:
            self._screen.complain(error)

    def _tag(self, key: int, text: str) -> None:
        tags = split_tags(text)
        if self._screen.labeller.tag(key, tags):
            self._saved("tags", f"tags: {inline(', '.join(tags)) or 'none'}")
        else:
            self._screen.say_here("the tags are as they were")

    def _tag_now(self, text: str) -> None:
        if (item := self._item("tag")) is not None:
            self._tag(item.row.key, text)

    def _mark(self) -> None:
        on = self._screen.labeller.mark()
        if on is None:
            self._screen.say_here("No item to mark here.")
            return
        where = self._screen.desk_app.keymap.first("filter")
        notice = f"marked: {where} then mark shows the marked ones" if on else "mark taken away"
        self._saved("mark" if on else "unmark", notice)

    def _reveal(self) -> None:
        screen = self._screen
        if not screen.session.hidden:
            screen.say_here("Nothing is hidden here.")
            return
        screen.labeller.reveal()
        screen.say_here("revealed: a label on this item is not blind", Ink.NOTE)
        screen.show(keep=True, rows=True)

    # looking closer

    def _history(self) -> None:
        screen, session = self._screen, self._screen.session
        events = history.session_history(screen.review_session.desk, None)
        dialog = HistoryScreen(
            session.item,
            events,
            session.run,
            screen.review_session.desk.reviewer,
            hidden=session.hidden,
            blind=session.view.blind,
            found=Outcomes(screen.review_session.desk).of,
        )
        screen.desk_app.ask(dialog, self._go_to_place)

    def _go_to_place(self, place: HistoryPlace | None) -> None:
        if place is None:
            return
        app = self._screen.desk_app
        try:
            app.review_run(app.review_session.desk.run(place.run), place.verdict)
        except ReviewDeskError as error:
            self._screen.complain(error)

    def _diff(self) -> None:
        screen, item = self._screen, self._item("compare")
        if item is None:
            return
        if screen.session.hidden:
            screen.say_here("hidden until the item is labelled: it tells the panel's answers")
            return
        desk, blind = screen.review_session.desk, screen.session.view.blind
        records = rerun_history.of_item(desk, item)[::-1]
        found = others.other_runs(desk, item.row.key)
        if not records and not found:
            screen.say_here("no other loaded run judged this content")
            return
        reruns = [rerun_history.beside(item, one) for one in records]
        dialog = DiffScreen(desk, item, [*reruns, *found], blind=blind, halts=_halts(item, records))
        screen.desk_app.ask(dialog, self._filter_flips)

    def _filter_flips(self, run: Run | None) -> None:
        """Filter the queue to the verdicts that the other run decided differently."""
        if run is None:
            return
        flip_filter = condition("flip", run.name) or f"flip:{run.hash}"
        try:
            self._screen.controller.commands["filter"](flip_filter)
        except ReviewDeskError as error:
            self._screen.complain(error)

    def _copy(self) -> None:
        screen, item = self._screen, self._item("copy")
        if item is None:
            return
        shape = _copy_shape(screen.review_session.desk, item, hidden=screen.session.hidden)
        text = json.dumps(shape, ensure_ascii=False, indent=2)
        screen.app.copy_to_clipboard(text)
        path = keep_copy(text, "copied.json")
        where = str(path).replace(str(Path.home()), "~", 1)
        screen.say(f"copied, {len(text):,} characters of JSON; also in {inline(where)}", Ink.NOTE)


def _halts(item: Item, records: Iterable[rerun_history.RerunRecord]) -> list[str]:
    """Return how far each stopped re-run came, in words; empty for those that were not stopped."""
    return [outcome(item, record.rerun).halt if record.rerun.stopped else "" for record in records]


def _copy_shape(desk: Desk, item: Item, *, hidden: bool) -> dict[str, Any]:
    return (
        json_shapes.content(item)
        if hidden
        else json_shapes.verdict(item, rerun_history.of_item(desk, item))
    )
