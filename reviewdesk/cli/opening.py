"""What a session opens with: one line that says what to do, or in which mode it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewdesk.domain.records import View
    from reviewdesk.settings import Settings


def named_keys(settings: Settings) -> dict[str, str]:
    """Check the app's settings, and return the keys that messages name, by their actions."""
    from reviewdesk.app.keys.keymap import checked

    keymap = checked(settings)
    named = ("label.pass", "label.fail", "label.unsure", "blind", "reveal")
    return {name: keymap.first(name) or "the palette" for name in named}


def opening_line(
    kept: View | None, view: View, settings: Settings, keys: dict[str, str], *, asked: bool
) -> str | None:
    """Return what the first line under the item says: what to do, or which mode goes on."""
    key = keys["blind"]
    if kept is None:
        passed, failed, unsure = (keys[f"label.{word}"] for word in ("pass", "fail", "unsure"))
        do = f"Read, then {passed} pass, {failed} fail, {unsure} can't tell."
        if view.blind:
            return f"{do} Blind: {keys['reveal']} reveals the panel's answer."
        return f"{do} {key}: blind, so that no answer sways you."
    if asked:
        return None
    if view.blind:
        return f"blind as left, {key} shows the answers"
    return f"open as left, {key} reviews blind" if settings.blind else None
