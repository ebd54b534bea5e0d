"""Where a key goes: to the screen in view or, while a dialog with a text opens, to the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from textual import events
from textual.screen import Screen

from reviewdesk.app.keys.actions import ACTIONS, GIVES_LABEL, LABEL, OPENS_TEXT
from reviewdesk.app.keys.keymap import Keymap, spellings

WINDOW = 0.025
"""Seconds: keys that follow each other within them may belong to one burst."""
MANY = 4
"""How many printable keys, each within ``WINDOW`` of the one before, are a burst."""
REST = 0.150
"""Seconds without a key after which a burst is over: a long paste arrives in several parts."""
_SLACK = 1e-6
"""Tolerance in seconds for rounding errors."""

WAITS = GIVES_LABEL | {
    *(name for name, action in ACTIONS.items() if action.group == LABEL),
    "adjudicate", "blind", "mark", "quit", "reveal", "run.remove",
}  # fmt: skip
"""The actions whose keys wait for ``WINDOW``: they change the desk or how labels count."""


class Pressed(Struct, frozen=True):
    """A key: its event, its name, and when it was read.

    ``waits`` is True if it changes something, so that it must not act before it is known whether
    it belongs to a burst. ``printable`` is True if it types a character.
    """

    event: Any
    name: str
    at: float
    printable: bool
    waits: bool


class Bursts:
    """Holds back keys that change something until it is known that no burst follows.

    A key that changes nothing acts at once, unless it comes behind one that is held back: keys
    act in the order in which they were pressed. One such key that repeats is held down and makes
    no burst. Times are those of reading, so that keys which the app handles late are no burst.
    """

    def __init__(self) -> None:
        self._held: list[Pressed] = []
        self._names: list[str] = []
        self._printable = 0
        self._last = float("-inf")
        self.on = False
        """Whether the newest keys are a burst."""

    def press(self, key: Pressed) -> list[Pressed]:
        """Take a key; return those that are to act now, in order.

        The keys of a burst that are still held back never act, and neither does one that comes
        before the burst has been over for ``REST``.
        """
        act = self.due(key.at)
        if key.at - self._last > (REST if self.on else WINDOW) + _SLACK:
            self._names = []
            self._printable = 0
            self.on = False
        self._last = max(key.at, self._last)
        self._names = [*self._names, key.name][-MANY:]
        self._printable += key.printable
        repeats = len(set(self._names)) == 1 and not key.waits
        if self.on or (self._printable >= MANY and not repeats):
            self.on = True
            self._held.clear()
        elif self._held or key.waits:
            self._held.append(key)
        else:
            act.append(key)
        return act

    def due(self, now: float) -> list[Pressed]:
        """Return the keys that need not be held back any longer, in order."""
        if now - self._last <= WINDOW + _SLACK:
            return []
        held = self._held
        self._held = []
        return held

    def rest(self, now: float) -> float | None:
        return max(0.0, self._last + WINDOW - now) if self._held else None


LONGEST = 1.0
"""Seconds after which keys count again although the action that would open a text did not come.

An action that waits for the queue is still to come.
"""
SHORTEST = 0.005
"""Seconds for which a key is held back at least, however late it is handled: those that were read
together with it have not all arrived before."""
_MOVES_IN_DIALOG = frozenset({"j", "k", "g", "G", "space"})
PASTED = "A paste does nothing outside a text field."
TOO_FAST = "Several keys came at once, as from a paste: they did nothing."


class TypeAhead:
    """Holds keys from the one that opens a text until the text takes keys, and hands them to it.

    Keys for a text that does not open are dropped: on the screen they would be labels. Those that
    come before the first screen is drawn wait for it. All others go to the screen in view: no
    widget on it takes keys, and the way through them all takes longer than a step of the list.
    Outside a text, a paste and a burst of keys do nothing.
    """

    def __init__(self, app: Any, keymap: Keymap, top: Callable[[], Any]) -> None:
        """Hold keys for an ``app``.

        ``top`` returns the screen in view, ``None`` while a dialog is open.
        """
        self._app = app
        self._top = top
        self._bursts = Bursts()
        self._looks = False
        self._held: list[events.Key | events.Paste] | None = []
        self._opens = {
            key: name
            for name in OPENS_TEXT
            for given in keymap.keys(name)
            for key in spellings(given)
        }

    async def take(self, event: events.Key | events.Paste, at: float) -> None:
        """Take a key or a paste that was read at ``at``, and pass on those that are to act now."""
        if self._held is not None:
            self._held.append(event)
        elif self._app.focused is not None and self._app.focused.check_consume_key("p", "p"):
            await self._app.pass_on(event, at)
        elif isinstance(event, events.Paste):
            self._app.warn(PASTED)
        else:
            before = self._bursts.on
            waits = self._waits(event)
            pressed = Pressed(event, event.key, at, event.is_printable, waits)
            act = self._bursts.press(pressed)
            if self._bursts.on and not before:
                self._app.warn(TOO_FAST)
            await self._release(act)

    def _waits(self, event: events.Key) -> bool:
        """Return True if a key changes something; in a dialog, every one that does not move."""
        top = self._top()
        if top is None:
            return event.is_printable and event.key not in _MOVES_IN_DIALOG
        return event.key.isdecimal() or top.bound.get(event.key) in WAITS

    async def _release(self, act: Sequence[Pressed]) -> None:
        """Pass keys on, and look again when the others need not be held back any longer."""
        for pressed in act:
            await self._app.pass_on(pressed.event, pressed.at)
        rest = self._bursts.rest(self._app.clock())
        if rest is not None and not self._looks:
            self._looks = True
            # Behind the keys that wait in the app's queue already.
            look = partial(self._app.call_later, self._look)
            self._app.later(max(rest, SHORTEST), look)

    async def _look(self) -> None:
        self._looks = False
        await self._release(self._bursts.due(self._app.clock()))

    def reaches(self, event: events.Key) -> bool:
        """Return True if a key is held for a text, or the screen in view has done what it does."""
        if self._held is not None:
            self._held.append(event)
            return True
        top = self._top()
        name = self._opens.get(event.key)
        if top is None:
            return False
        if name and top.where in ACTIONS[name].where:
            self._held = []
            self._app.set_timer(LONGEST, self._look_for_text)
        pressed: bool = top.press(event.key)
        return pressed

    def begin(self) -> None:
        self._app.call_next(self._hand_over)

    def acted(self) -> None:
        top = self._top()
        if top is not None and not top.waiting:
            self._held = None

    def _look_for_text(self) -> None:
        self.acted()
        if self._held is not None and self._top() is not None:
            self._app.set_timer(LONGEST, self._look_for_text)

    def opened(self, dialog: Screen[Any], *, text: bool) -> None:
        """Hear that a dialog opens; hand the keys over once its text has the focus."""
        if self._held is None:
            return
        if not text or not dialog.is_current:
            self._held = None
        elif dialog.focused is None:
            dialog.call_after_refresh(self.opened, dialog, text=True)
        else:
            self._app.call_next(self._hand_over)

    async def _hand_over(self) -> None:
        held = self._held or []
        self._held = None
        for event in held:
            await self._app.on_event(event)
