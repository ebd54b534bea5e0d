"""The controller of the page of pace."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.jobs import PACE, Job, Report
from reviewdesk.app.controllers.requests import PaceForm
from reviewdesk.app.controllers.state import Figures
from reviewdesk.app.keys.actions import GIVES_LABEL
from reviewdesk.desk import Desk
from reviewdesk.desk.figures import work as figures
from reviewdesk.domain.labels import work as labels
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views import pace as views
from reviewdesk.views.document import Tone


class PaceController:
    """Shows how the reviewer's work goes, on demand and once for each hundred labels."""

    def __init__(self, core: Core) -> None:
        """Act on the session of ``core``."""
        self._core, self._labelled = core, False
        self._due = 0, 0
        """The run, by key, and the hundred that a label filled last."""
        core.counted = self._counted

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, by action id."""
        return {"pace": self._show}

    @property
    def commands(self) -> dict[str, Callable[[str], None]]:
        """The methods that carry out this controller's commands, by command name."""
        return {"pace": lambda _: self._show()}

    def labelled(self) -> None:
        """Hear that a label was given, which may fill a hundred."""
        self._labelled = True

    def _counted(self, before: Figures, found: Figures) -> None:
        """Show the page if a label has filled a hundred whose page was not shown yet."""
        core, view = self._core, self._core.session.view
        if not self._labelled or found.given is None:
            return
        self._labelled = False
        full, more = divmod(found.given, labels.HUNDRED)
        # Of several labels in quick succession, only the figures of the last are heard.
        if not more or (before.given is not None and before.given // labels.HUNDRED < full):
            self._due = core.session.run.key, full
        due = self._due == (core.session.run.key, full) and full > view.hundreds
        if due and core.settings.hundreds and not core.asking:
            core.review.session = replace(core.session, view=replace(view, hundreds=full))
            core.review.save()
            self._show(f"{full * labels.HUNDRED} labels")

    def _show(self, title: str = "Your work") -> None:
        """Read the page in the background, and open it unless a dialog was opened meanwhile."""
        core, session = self._core, self._core.session

        def read(desk: Desk, _report: Report) -> labels.WorkPage:
            return figures.work_page(desk, session.run, blind=session.view.blind)

        def ended(found: object, error: ReviewDeskError | None) -> None:
            if error is not None:
                core.complain(error)
            elif isinstance(found, labels.WorkPage) and not core.asking:
                keys = {key for name in GIVES_LABEL for key in core.keys.keys(name)}
                core.ask(PaceForm(title, views.work(found), frozenset(keys)), self._closed)

        core.jobs.runner.start(Job(PACE, read, ended, fault="no pace"))

    def _closed(self, labelling: bool | None) -> None:
        """Say that a label key was not taken: its item was below the page."""
        if labelling:
            # A key that is held must not label either once the page is gone.
            self._core.guard.stray()
            notice = "No label was given: the page lay over the item. Press the key again."
            self._core.say_here(notice, Tone.WARN)
