"""What the desk keeps of a reviewer's screen: theme, panel file, and the widths of the panes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.jobs import Job
from reviewdesk.app.controllers.state import UseOwnTheme
from reviewdesk.app.keys.actions import THEMES
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


_USABLE: Mapping[str, Callable[[Any], bool]] = {
    "theme": lambda value: isinstance(value, str) and value in THEMES,
    **dict.fromkeys(WIDTHS, lambda value: isinstance(value, float) and 0 < value < 1),
    "panel": lambda value: isinstance(value, str) and show_line(value, len(value) + 1) == value,
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


def start(core: Core) -> None:
    """Give a session the choices that the desk keeps; those of the settings give way."""
    core.given = core.settings
    _use(core, usable(kept.kept(core.desk)))


def _use(core: Core, values: Mapping[str, Any]) -> None:
    core.settings = core.given.with_kept(values)
    core.arrange(
        replace(core.panes, queue=values.get("queue_width"), jury=values.get("jury_width"))
    )
    core.stored = choices(core)


def _changed(core: Core) -> dict[str, Any]:
    """Return the choices that differ from what this session read or stored.

    Others stay as they are on the desk, where another window may have changed them.
    """
    return {n: value for n, value in choices(core).items() if value != core.stored[n]}


def keep(core: Core) -> None:
    """Store in the background what was chosen since the last call."""
    changed = _changed(core)
    if not changed or core.keeping:
        return

    def ended(_found: object, error: ReviewDeskError | None) -> None:
        # After an error too: a choice that cannot be stored is told once, not every second.
        core.keeping = False
        core.stored = core.stored | changed
        if error is not None:
            core.complain(error)

    core.keeping = True
    work = lambda desk, _report: kept.keep(desk, changed)  # noqa: E731
    core.jobs.runner.start(Job(KEEPING, work, ended))


def close(core: Core) -> None:
    if changed := _changed(core):
        core.outbox.keep("kept", lambda desk: kept.keep(desk, changed))
        core.stored |= changed


def forget(core: Core) -> None:
    """Forget every kept choice, and set the screen back to the settings."""
    kept.forget(core.desk)
    _use(core, {})
    core.requests.append(UseOwnTheme())
    core.say("forgot what the desk kept of the screen: the settings hold again", Tone.NOTE)
