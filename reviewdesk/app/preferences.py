"""What the desk keeps of a reviewer's screen: theme, panel file, and the widths of the panes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.jobs import Job
from reviewdesk.app.controllers.requests import UseOwnTheme
from reviewdesk.app.keys.actions import THEMES
from reviewdesk.desk import Desk
from reviewdesk.desk.review import kept
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError
from reviewdesk.settings import KEPT
from reviewdesk.views.document import Tone

KEEPING = "keeping"
SETTINGS = ("theme", "panel")
"""The settings that can be chosen on the screen. The panel "" is the report's own."""
WIDTHS = {"queue_width": "queue", "jury_width": "jury"}
"""The kept shares of the screen's width, and the panes that have them."""


def _is_path(value: object) -> bool:
    return isinstance(value, str) and show_line(value, len(value) + 1) == value


def _is_share(value: object) -> bool:
    return isinstance(value, float) and 0 < value < 1


_USABLE: Mapping[str, Callable[[Any], bool]] = {
    "theme": lambda value: isinstance(value, str) and value in THEMES,
    **dict.fromkeys(WIDTHS, _is_share),
    "panel": _is_path,
}
"""Returns True for a value that can be used, by the name under which it is kept."""


def usable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kept values that can be used; a damaged one counts as not kept."""
    return {name: values[name] for name, fits in _USABLE.items() if fits(values.get(name))}


def choices(core: Core) -> dict[str, Any]:
    """Return what is chosen on the screen, by the names under which the desk keeps it."""
    settings = core.settings
    return {
        **{
            name: getattr(settings, name) if settings.source(name) == KEPT else None
            for name in SETTINGS
        },
        **{name: getattr(core.panes, pane) for name, pane in WIDTHS.items()},
    }


class PreferenceController:
    """Starts a session with what the desk keeps, and stores what is chosen in it."""

    def __init__(self, core: Core) -> None:
        """Give ``core`` the kept choices; those of the settings give way."""
        self._core = core
        self._given = core.settings
        self._busy = False
        self._use(usable(kept.kept(core.desk)))
        self.verbs: dict[str, Callable[[], None]] = {"kept.forget": self._forget}

    def _use(self, values: Mapping[str, Any]) -> None:
        core = self._core
        core.settings = self._given.with_kept(values)
        core.arrange(
            replace(core.panes, queue=values.get("queue_width"), jury=values.get("jury_width"))
        )
        self._stored = choices(core)

    def _changed(self) -> dict[str, Any]:
        """Return the choices that differ from what this session read or stored.

        Others stay as they are on the desk, where another window may have changed them.
        """
        return {n: value for n, value in choices(self._core).items() if value != self._stored[n]}

    def keep(self) -> None:
        """Store in the background what was chosen since the last call."""
        changed = self._changed()
        if not changed or self._busy:
            return

        def ended(_found: object, error: ReviewDeskError | None) -> None:
            # After an error too: a choice that cannot be stored is told once, not every second.
            self._busy = False
            self._stored = self._stored | changed
            if error is not None:
                self._core.complain(error)

        self._busy = True
        self._core.jobs.runner.start(Job(KEEPING, partial(_keep, changed), ended))

    def close(self) -> None:
        if changed := self._changed():
            self._core.outbox.keep("kept", lambda desk: kept.keep(desk, changed))
            self._stored |= changed

    def _forget(self) -> None:
        """Forget every kept choice, and set the screen back to the settings."""
        core = self._core
        kept.forget(core.desk)
        self._use({})
        core.requests.append(UseOwnTheme())
        core.say("forgot what the desk kept of the screen: the settings hold again", Tone.NOTE)


def _keep(changed: Mapping[str, Any], desk: Desk, _report: object) -> None:
    kept.keep(desk, changed)
