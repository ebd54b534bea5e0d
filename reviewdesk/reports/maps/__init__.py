"""Maps: TOML files that say where a kind of table holds its items, ballots, labels and texts.

A map is found by the path of its file, by name among those of the package, or among the user's own
in the folder ``maps`` beside the settings file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from msgspec import convert
from msgspec.structs import fields

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import UsageError
from reviewdesk.reports.tables.entries import Rule, TableMap
from reviewdesk.reports.wording import FieldError, spell_path

_SUFFIX = ".toml"


@cache
def packaged() -> dict[str, dict[str, Any]]:
    """Return the maps of the package by the names of their files."""
    return {
        one.name.removesuffix(_SUFFIX): tomllib.loads(one.read_text(encoding="utf-8"))
        for one in sorted(files(__name__).iterdir(), key=lambda one: one.name)
        if one.name.endswith(_SUFFIX)
    }


def packaged_map(name: str) -> TableMap:
    """Return a map of the package."""
    return convert(packaged()[name], TableMap)


def fitting(columns: Sequence[str], tool: str | None = None) -> list[str]:
    """Return the packaged maps whose signature a table's columns have; of one tool, if named."""
    return [
        name
        for name, made in packaged().items()
        if (tool is None or made["name"] == tool)
        and all(_has(columns, path) for path in made["signature"])
    ]


def _has(columns: Sequence[str], path: str) -> bool:
    for one in path.split("|"):
        start, star, end = one.partition("*")
        if one in columns or (
            star and any(name.startswith(start) and name.endswith(end) for name in columns)
        ):
            return True
    return False


def map_text(name: str) -> str:
    """Return the text of a map, by its name or the path of its file.

    Raises:
        UsageError: there is no such map.
    """
    from platformdirs import user_config_path

    own = user_config_path("reviewdesk") / "maps" / f"{name}{_SUFFIX}"
    shipped = files(__name__).joinpath(f"{name}{_SUFFIX}")
    is_path = name.endswith(_SUFFIX) or "/" in name or "\\" in name
    for place in [Path(name)] if is_path else [own, shipped]:
        try:
            return place.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise UsageError(f"--map: {show_line(name, 100)} cannot be read", str(error)) from error
    known = ", ".join(packaged())
    problem = f"--map: there is no map {show_line(name, 100)}"
    raise UsageError(problem, f"Name a file, or one of {known}.")


def read_map(name: str) -> TableMap:
    """Return a map by its name or the path of its file, checked.

    Raises:
        UsageError: there is no such map, or it is wrong; the message names the place.
    """
    try:
        value = tomllib.loads(map_text(name))
    except tomllib.TOMLDecodeError as error:
        problem = f"--map: {show_line(name, 100)} is not TOML: {show_line(str(error), 100)}"
        raise UsageError(problem, "Mend it, or make one: reviewdesk map FILE") from error
    try:
        return checked(value)
    except FieldError as error:
        place = spell_path(error.problem.path)
        problem = f"--map: {show_line(name, 100)}: {place}: {error.problem.text}"
        raise UsageError(problem, error.problem.hint) from error


def checked(value: object) -> TableMap:
    """Return the map of a file's content. Raise FieldError at the first thing that is wrong."""
    # Models take long to build, and most tables are read without a map of a person's.
    from pydantic import Field, create_model

    from reviewdesk.reports.validation import Strict, validated

    def model(of: type[Rule], name: str, **more: Any) -> type[Strict]:
        declared = {
            one.name: (more.get(one.name, one.type), Field(one.default, alias=one.encode_name))
            for one in fields(of)
        }
        made: type[Strict] = create_model(name, __base__=Strict, **declared)  # type: ignore[call-overload]
        return made

    rule = model(Rule, "RuleModel")
    validated(model(TableMap, "MapModel", ballots=list[rule]), value)  # type: ignore[valid-type]
    return convert(value, TableMap)
