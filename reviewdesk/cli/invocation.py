"""What the options of one invocation say, with the settings behind them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    from reviewdesk.desk.open_file import OpenFile
    from reviewdesk.settings import Settings, Share


def current_settings() -> Settings:
    """Return the settings of this command: options first, then the environment, then the file."""
    from reviewdesk.settings import load_settings

    meta = click.get_current_context().meta
    if "reviewdesk.settings" not in meta:
        # The file is read once, because it may be a pipe.
        options = {name: meta.get(f"reviewdesk.{name}") for name in ("desk", "reviewer")}
        meta["reviewdesk.settings"] = given = load_settings(options)
        if given.api_key_command or given.api_key_keyring or given.prices:
            from reviewdesk.desk.live.panel import use_references

            use_references(given.api_key_command, given.api_key_keyring, given.prices)
    found: Settings = meta["reviewdesk.settings"]
    return found


def desk_path() -> Path | None:
    """Return the desk that the options or the settings name; ``None`` is the user's own."""
    named = current_settings().desk
    return Path(named) if named else None


def with_double(
    desk: OpenFile, settings: Settings, given: Share | None, opinions: int | None
) -> Settings:
    """Return the settings with the share of items that several people label, and how many do.

    The options go before the settings, and these before what was said for the desk last.
    """
    from msgspec.structs import replace

    from reviewdesk.desk.team.claims import double_share, opinions_wanted
    from reviewdesk.settings import DEFAULT, Share

    if given is None and settings.source("double") != DEFAULT:
        given = settings.double
    if opinions is None and settings.source("opinions") != DEFAULT:
        opinions = settings.opinions
    return replace(
        settings,
        double=Share(double_share(desk, given)),
        opinions=opinions_wanted(desk, opinions),
    )


def share_of(option: str, text: str | None) -> Share | None:
    """Parse the share of an option, such as ``5%`` or ``0.05``."""
    from reviewdesk.settings import Share

    try:
        return None if text is None else Share(text)
    except ValueError:
        hint = "Write 5% or 0.05; 0 gives none."
        raise UsageError(f"--{option}: {text!r} is not a share from 0 to 1", hint) from None
