"""Print the settings and where each comes from, or an example settings file."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import click

from reviewdesk.cli.common import (
    current_settings,
    flag,
    open_desk,
    options,
    own_desk,
    put,
    put_json,
    say,
    wants_json,
)
from reviewdesk.desk.core import default_path, default_reviewer
from reviewdesk.desk.review import filters as saved_filters
from reviewdesk.desk.review.edits import kept as choices
from reviewdesk.domain.records import View
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import DeskError, UsageError
from reviewdesk.settings import KEPT, SETTINGS, Settings, settings_path


@click.group(
    invoke_without_command=True, epilog="Example: reviewdesk config --example > config.toml"
)
@flag("--example as_example", "Print a file with every setting.")
@options("json")
@click.pass_context
def config(ctx: click.Context, *, as_example: bool) -> None:
    """Show the settings in force, and your saved filters.

    The file and its keys are checked. What you choose on the screen is kept by the desk and
    overrides the file; the environment and the options of a command override both.
    """
    if ctx.invoked_subcommand is not None:
        return
    if as_example:
        if wants_json():
            raise UsageError("--example prints TOML", "Leave out --json.")
        put("\n".join(_example()))
        return
    facts = _facts(current_settings())
    if wants_json():
        put_json(facts)
        return
    put(f"file  {facts['file']}{'' if facts['exists'] else '  (not there)'}")
    settings = {
        name: (_value_text(f["value"]), f["source"]) for name, f in facts["settings"].items()
    }
    wide = max(len(value) for value, _ in settings.values())
    for name, (value, source) in settings.items():
        put(f"{name:15}  {value:{wide}}  {source}")
    if facts["kept"]:
        put("kept by the desk, overriding the file; the palette (ctrl+p) forgets it:")
    for name, found in facts["kept"].items():
        put(f"  {name:12}  {_value_text(found['value'])}")
    put("keys that differ from the defaults:" if facts["keys"] else "keys: the defaults")
    for name, found in facts["keys"].items():
        keys, default = (" ".join(found[what]) or "none" for what in ("keys", "default"))
        put(f"  {name}  {keys}  (default {default})  {found['source']}")


@config.group(invoke_without_command=True)
@options("json")
@click.pass_context
def filters(ctx: click.Context) -> None:
    """List your saved filters; use one as --filter @NAME."""
    if ctx.invoked_subcommand is not None:
        return
    with open_desk() as desk:
        found = saved_filters.saved(desk)
        if wants_json():
            put_json(found)
            return
        for name, text in found.items():
            put(f"@{show_line(name):20} {show_line(text)}")


@filters.command(epilog="Example: reviewdesk config filters save todo 'esc label:none'")
@click.argument("name")
@click.argument("filter_", metavar="FILTER")
@options()
def save(*, name: str, filter_: str) -> None:
    """Save FILTER as NAME, replacing an older one of that name."""
    with open_desk() as desk:
        saved_filters.save(desk, name, filter_)
        say(f"@{name.removeprefix('@')}: saved")


@filters.command(epilog="Example: reviewdesk config filters remove todo")
@click.argument("name")
@options()
def remove(*, name: str) -> None:
    """Remove the saved filter NAME."""
    with open_desk() as desk:
        saved_filters.forget(desk, name)
        say(f"@{name.removeprefix('@')}: removed")


def _facts(settings: Settings) -> dict[str, Any]:
    """Return the settings in force, what the desk keeps for the screen, and the changed keys."""
    from reviewdesk.app.controllers.review import usable
    from reviewdesk.app.keys.actions import checked, shown_key

    path = settings_path()
    keymap = checked(settings)
    chosen: dict[str, Any] = {}
    views: dict[str, View] = {}
    with suppress(DeskError), own_desk() as desk:
        if desk is not None:
            chosen = choices(desk)
            views = desk.views()
    kept = usable(chosen)
    for part in ("order", "filter"):
        usual = getattr(View(), part)
        runs = {run: getattr(view, part) for run, view in views.items()}
        if changed := {run: value for run, value in runs.items() if value != usual}:
            kept[part] = changed
    settings = settings.with_kept(kept)
    values = {setting.name: getattr(settings, setting.name) for setting in SETTINGS}
    for name in ("api_key_command", "api_key_keyring"):
        values[name] = dict.fromkeys(values[name], "set")
    values["desk"] = values["desk"] or str(default_path())
    values["reviewer"] = values["reviewer"] or default_reviewer()
    return {
        "file": str(path),
        "exists": path.exists(),
        "settings": {
            name: {"value": value, "source": settings.source(name)}
            for name, value in values.items()
        },
        "kept": {name: {"value": value, "source": KEPT} for name, value in kept.items()},
        "keys": {
            name: {
                "keys": [shown_key(key) for key in keymap.keys(name)],
                "default": [shown_key(key) for key in keymap.defaults[name]],
                "source": settings.source(f"keys.{name}"),
            }
            for name in keymap.changed()
        },
    }


def _value_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


_HEAD = """\
# The settings of reviewdesk, each at its default. In this file they apply to every command:
# {path}
# REVIEWDESK_CONFIG names another file. What is chosen on the screen is kept by the desk and
# overrides the file; the environment and the options of a command override both.
"""
_KEYS = """\
# Which keys do what: "action" = "key", or a list of keys. A key is the character that it types, or
# a name as below. An empty list takes an action's keys away; the palette still has it. These are
# the defaults; take the # off a line to change it.
[keys]"""


def _example() -> Iterator[str]:
    """Yield the lines of an example settings file that lists every setting and changes none."""
    from reviewdesk.app.keys.actions import ACTIONS, THEMES, Keymap, shown_key

    yield _HEAD.format(path=settings_path({}))
    for setting in SETTINGS:
        yield f"# {setting.about}"
        names = f": {', '.join(THEMES)}" if setting.name == "theme" else ""
        yield f"# {setting.wanted[:1].upper()}{setting.wanted[1:]}{names}."
        if setting.variable:
            yield f"# {setting.variable} overrides it."
        yield f"{setting.name} = {_value_text(getattr(Settings(), setting.name))}\n"
    yield _KEYS
    own = Keymap.of(ACTIONS)
    group = ""
    for name, action in ACTIONS.items():
        if action.group != group:
            group = action.group
            yield f"\n# {group}"
        keys = [shown_key(key) for key in own.keys(name)]
        value = _value_text(keys[0] if len(keys) == 1 else keys)
        yield f"#{_value_text(name)} = {value}  # {action.title}"
