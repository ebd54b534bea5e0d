"""Edits of one item: saved at once or shown as being saved, of any item of the run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.work.outbox import Write
from reviewdesk.desk.review import history
from reviewdesk.desk.review.edits import Edit
from reviewdesk.domain.records import Item
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import NotFoundError
from reviewdesk.views.document import Tone

Shown = Callable[[Item], Item]


class ItemEdits:
    """Saves edits of the item on screen, or of the one that was labelled last."""

    def __init__(self, core: Core) -> None:
        """Act on the session of ``core``."""
        self._core = core

    def labelled(self) -> Item | None:
        """Return the item that the reviewer labelled last in this run, or say why there is none."""
        core, run = self._core, self._core.session.run
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
        core, name = self._core, f"{mark} {item.verdict.id}"
        saved = partial(self._saved, mark, item, text)
        if not core.outbox.put(Write(act, saved, name=name, item=item, shown=shown)):
            core.review.refresh()
            core.show(keep=True, rows=True)

    def _saved(self, mark: str, item: Item, text: str, event: object) -> None:
        """Show that something was saved; name its item unless it is the one on screen."""
        core, current = self._core, self._core.session.item
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
