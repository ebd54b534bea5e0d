"""The controller of the page of pace, which also opens by itself after each hundred labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.requests import PaceForm
from reviewdesk.app.keys.actions import GIVES_LABEL
from reviewdesk.desk.figures.work import labels_given, work_page
from reviewdesk.domain.labels.work import HUNDRED
from reviewdesk.views.document import Tone
from reviewdesk.views.pace import work


class PaceController:
    """Shows how the reviewer's work goes, on demand and once for each hundred labels."""

    def __init__(self, core: Core) -> None:
        """Act on the session of ``core``."""
        self._core = core

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, by action id."""
        return {"pace": self._show}

    @property
    def commands(self) -> dict[str, Callable[[str], None]]:
        """The methods that carry out this controller's commands, by command name."""
        return {"pace": lambda _: self._show()}

    def labelled(self) -> None:
        """Show the page if a hundred is full whose page was not shown yet."""
        core, view = self._core, self._core.session.view
        # Own labels are at most all labels, whose number is known without reading the log.
        due = HUNDRED * (view.hundreds + 1)
        if not core.settings.hundreds or core.session.progress.labelled < due:
            return
        full, more = divmod(labels_given(core.desk, core.session.run), HUNDRED)
        if more or full <= view.hundreds:
            return
        core.review.session = replace(core.session, view=replace(view, hundreds=full))
        core.review.save()
        self._show(f"{full * HUNDRED} labels")

    def _show(self, title: str = "Your work") -> None:
        core = self._core
        page = work_page(core.desk, core.session.run, blind=core.session.view.blind)
        keys = {key for name in GIVES_LABEL for key in core.keys.keys(name)}
        core.ask(PaceForm(title, work(page), frozenset(keys)), self._closed)

    def _closed(self, labelling: bool | None) -> None:
        """Say that a label key was not taken: its item was below the page."""
        if labelling:
            # A key that is held must not label either once the page is gone.
            self._core.guard.stray()
            notice = "No label was given: the page lay over the item. Press the key again."
            self._core.say_here(notice, Tone.WARN)
