"""The table of keys that the README shows."""

from __future__ import annotations

from reviewdesk.app.keys.actions import ACTIONS, EVERYWHERE, Action, by_group
from reviewdesk.app.keys.keymap import Keymap


def keys_table() -> str:
    """Return a Markdown table of every action that has a key, in the order of the help."""
    keymap = Keymap.of(ACTIONS)
    rows = ["| key | does | on |", "|---|---|---|"]
    for members in by_group(ACTIONS.values()).values():
        rows += [
            f"| {_cell(keymap.shown(action.id))} | {action.title} | {_screens(action)} |"
            for action in members
            if action.keys
        ]
    return "\n".join(rows)


def _cell(keys: str) -> str:
    """Return each key as code; a bar is escaped, because it would end the cell."""
    return " ".join(f"`{key}`" for key in keys.split()).replace("|", "\\|")


def _screens(action: Action) -> str:
    """Return the screens on which an action's keys work, in words."""
    return "every screen" if action.where == EVERYWHERE else ", ".join(sorted(action.where))
