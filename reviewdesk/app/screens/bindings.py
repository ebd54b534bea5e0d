"""Textual's key bindings, made from the registry of actions."""

from __future__ import annotations

from textual.binding import Binding

from reviewdesk.app.keys.actions import ACTIONS, Action

_ON_APP = frozenset({"palette", "quit.anywhere"})


def screen_bindings(name: str) -> list[Binding]:
    """Return the key bindings of the screen ``name``."""
    return [
        _binding(a, f"do('{a.id}')")
        for a in ACTIONS.values()
        if a.keys and name in a.where and a.id not in _ON_APP
    ]


def app_bindings() -> list[Binding]:
    """Return the bindings that must also work above a dialog."""
    return [
        _binding(ACTIONS["palette"], "command_palette"),
        _binding(ACTIONS["quit.anywhere"], "close_desk", priority=True),
    ]


def _binding(action: Action, method: str, *, priority: bool = False) -> Binding:
    return Binding(
        action.keys,
        method,
        action.title,
        show=bool(action.hint),
        tooltip=action.title,
        id=action.id,
        priority=priority,
    )
