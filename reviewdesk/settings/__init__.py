"""The settings of a user: one TOML file, under the environment, under the options of a command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from reviewdesk.errors import SettingsError
from reviewdesk.settings.records import DEFAULT, SETTINGS, Feedback, Setting, Settings
from reviewdesk.settings.tomlfile import (
    FILE_VARIABLE,
    SettingsDraft,
    from_file,
    read,
)
from reviewdesk.settings.wording import near, quoted

__all__ = [
    "DEFAULT",
    "FILE_VARIABLE",
    "SETTINGS",
    "Feedback",
    "Setting",
    "Settings",
    "checked_theme",
    "load_settings",
    "near",
    "quoted",
    "settings_path",
]


def settings_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The settings file: what ``REVIEWDESK_CONFIG`` names, else one in the user's config folder."""
    if named := environ.get(FILE_VARIABLE):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("reviewdesk", appauthor=False) / "config.toml"


def load_settings(
    options: Mapping[str, str | None] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """The settings in force: ``options`` by name, over the environment, over the file.

    An empty option or variable counts as not given.
    """
    path = settings_path(environ)
    text = read(path, named=bool(environ.get(FILE_VARIABLE)))
    found = from_file(path, text) if text and text.strip() else SettingsDraft()
    for setting in SETTINGS:
        if value := environ.get(setting.variable):
            found.put(setting.name, value, setting.variable)
        if value := (options or {}).get(setting.name):
            found.put(setting.name, value, f"--{setting.name}")
    return Settings(**found.values, keys=found.keys, sources=found.sources)


def checked_theme(settings: Settings, known: Iterable[str]) -> str:
    """The theme of the settings, which must be one of those that are known."""
    names = list(known)
    if settings.theme not in names:
        raise SettingsError(
            settings.source("theme"),
            f"there is no theme {quoted(settings.theme)}",
            near(settings.theme, names, f"Themes: {', '.join(names)}."),
        )
    return settings.theme
