"""What the options of one invocation and the settings say of the desk and its reviewer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reviewdesk.settings import Settings


def current_settings() -> Settings:
    """Return the settings of this command: options first, then the environment, then the file."""
    from reviewdesk.settings import load_settings

    meta = click.get_current_context().meta
    if "reviewdesk.settings" not in meta:
        # The file is read once, because it may be a pipe.
        options = {name: meta.get(f"reviewdesk.{name}") for name in ("desk", "reviewer")}
        meta["reviewdesk.settings"] = load_settings(options)
    found: Settings = meta["reviewdesk.settings"]
    return found


def desk_path() -> Path | None:
    """Return the desk that the options or the settings name; ``None`` is the user's own."""
    named = current_settings().desk
    return Path(named) if named else None
