"""The controller of notes, and of what is typed of them before they are saved."""

from __future__ import annotations

import contextlib
from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core, item_to_change
from reviewdesk.app.controllers.requests import FieldInput, NoteForm
from reviewdesk.app.controllers.work.edits import ItemEdits
from reviewdesk.desk.review import drafts, edits
from reviewdesk.domain.records import Item
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError


class NoteController:
    """Writes notes, and keeps every draft of them."""

    def __init__(self, core: Core, edits: ItemEdits) -> None:
        """Act on the session of ``core``; drafts the desk has not are kept by verdict and since."""
        self._core, self._edits = core, edits
        self._unsaved: dict[tuple[int, int], str] = {}

    def write(self, item: Item | None) -> None:
        """Open the note of an item, where its draft was left."""
        if item is None:
            return
        core, key, note = self._core, item.row.key, item.note or ""
        since = core.review.repeats.since(item)
        text = self._unsaved.pop((key, since), None) or drafts.draft(core.desk, key, since) or note
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
        core, key = self._core, item.row.key
        if answer is None:
            return
        since = core.review.repeats.since(item)
        try:
            if answer.given:
                self._save_note(item, answer.text)
                return
            kept = self._unsaved.get((key, since)) or drafts.draft(core.desk, key, since)
        except ReviewDeskError:
            self._unsaved[key, since] = answer.text
            raise
        name, write = show_line(item.verdict.id, 80), _key_of_note(core, key)
        core.say_here(f"{name}: draft kept, {write} goes on with it" if kept else "")

    def _save_note(self, item: Item, text: str) -> None:
        core, key = self._core, item.row.key
        whole = core.review.repeats.whole_note(key, text)

        def shown(item: Item) -> Item:
            return replace(item, note=text or None, row=replace(item.row, noted=bool(text)))

        act = edits.note(key, text) if whole is None else edits.note(key, whole, text)
        self._edits.put("note", item, "", act, shown)
        self._keep_draft(key, "", core.review.repeats.since(item))

    def _keep_draft(self, key: int, text: str, since: int) -> bool:
        """Keep an unfinished note, here while the desk cannot; return True if it is on disk."""
        on_disk = self._core.outbox.keep(("draft", key), drafts.NoteDraft(key, text, since))
        if on_disk or not text:
            self._unsaved.pop((key, since), None)
        else:
            self._unsaved[key, since] = text
        return on_disk

    def write_now(self, text: str) -> None:
        """Save a note of the item on screen."""
        if (item := item_to_change(self._core, "write about")) is not None:
            self._save_note(item, text)


def _key_of_note(core: Core, key: int) -> str:
    """Return the key that opens a verdict's note: it is in view, or was just labelled."""
    now = core.session.item
    in_view = now is not None and now.row.key == key
    return core.keys.first("note" if in_view else "note.labelled")
