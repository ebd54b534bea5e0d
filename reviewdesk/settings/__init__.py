"""Load the user's settings: options override the environment, which overrides the TOML file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from reviewdesk.errors import SettingsError
from reviewdesk.settings.records import DEFAULT, KEPT, SETTINGS, Feedback, Setting, Settings, Share
from reviewdesk.settings.tomlfile import FILE_VARIABLE, from_file, read
from reviewdesk.settings.wording import near, quoted

__all__ = [
    "DEFAULT",
    "FILE_VARIABLE",
    "KEPT",
    "SETTINGS",
    "Feedback",
    "Setting",
    "Settings",
    "Share",
    "checked_theme",
    "load_settings",
    "near",
    "quoted",
    "settings_path",
]


def settings_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the settings file: ``REVIEWDESK_CONFIG``, else one in the user's config folder."""
    if named := environ.get(FILE_VARIABLE):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("reviewdesk", appauthor=False) / "config.toml"


def load_settings(
    options: Mapping[str, str | None] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Return the settings in force. An empty option or variable counts as not given.

    ``options`` has the options of a command by the name of their setting.

    Raises:
        SettingsError: the file cannot be used.
    """
    path = settings_path(environ)
    text = read(path, named=bool(environ.get(FILE_VARIABLE)))
    values, sources = from_file(path, text) if text and text.strip() else ({}, {})
    for setting in SETTINGS:
        if value := environ.get(setting.variable):
            values[setting.name] = value
            sources[setting.name] = setting.variable
        if value := (options or {}).get(setting.name):
            values[setting.name] = value
            sources[setting.name] = f"--{setting.name}"
    return Settings(**values, sources=sources)


def checked_theme(settings: Settings, known: Iterable[str]) -> str:
    """Return the theme of the settings. Raise SettingsError unless it is one of ``known``."""
    names = list(known)
    if settings.theme not in names:
        raise SettingsError(
            settings.source("theme"),
            f"there is no theme {quoted(settings.theme)}",
            near(settings.theme, names, f"Themes: {', '.join(names)}."),
        )
    return settings.theme
