"""What is withheld from whoever reviews in a browser, on a machine that is not theirs."""

from __future__ import annotations

from collections.abc import Mapping

from reviewdesk.app.keys.actions import ACTIONS, Action
from reviewdesk.app.keys.user_keys import Keymap
from reviewdesk.errors import UsageError


def offered(keys: Keymap, hints: Mapping[str, object]) -> Mapping[str, object]:
    """Return the hints of the footer without the actions that are withheld."""
    return {name: word for name, word in hints.items() if name not in keys.withheld}


def refuse_withheld(keys: Keymap, name: str) -> None:
    """Raise UsageError for an action or a command that is withheld."""
    if name in keys.withheld:
        raise UsageError(
            f"{name}: not in a browser, as it reaches what belongs to the machine",
            "Whoever serves the desk can do it in a terminal.",
        )


def allowed(keys: Keymap, name: str) -> Action:
    """Return an action of the registry; raise UsageError if it is withheld."""
    refuse_withheld(keys, name)
    return ACTIONS[name]
