"""Maps: TOML files that say where a kind of table holds its items, ballots, labels and texts.

A map is found by the path of its file, or by name: first a person's own, in the folder ``maps``
beside the settings file, then the package's. Both are recognised by their signatures.
"""

import fnmatch
import os
import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import UsageError

_SUFFIX = ".toml"


@cache
def packaged() -> dict[str, dict[str, Any]]:
    return {
        one.name.removesuffix(_SUFFIX): tomllib.loads(one.read_text(encoding="utf-8"))
        for one in sorted(files(__name__).iterdir(), key=lambda one: one.name)
        if one.name.endswith(_SUFFIX)
    }


def own() -> dict[str, dict[str, Any]]:
    """Return a person's maps that have a signature; maps that cannot be read are skipped."""
    found = {}
    for path in sorted(_folder().glob(f"*{_SUFFIX}")):
        try:
            made = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        signature = made.get("signature")
        if isinstance(signature, list) and signature and all(type(one) is str for one in signature):
            found[path.name.removesuffix(_SUFFIX)] = made
    return found


def fitting(
    made: Mapping[str, Mapping[str, Any]],
    columns: Sequence[str],
    document: Collection[str],
    tool: str | None = None,
) -> list[str]:
    """Return the maps whose signature a table's columns match; of one tool only, if named.

    For nested rows, the signature may be keys of the ``document``. Of several maps of one tool, the
    one with most in its signature counts. A column of ``unless`` is of another kind of file.
    """
    found = [
        name
        for name, one in made.items()
        if (tool is None or one["name"] == tool)
        and {*one.get("unless", ())}.isdisjoint(columns)
        and all(
            _has({*columns, *document} if "." in str(one.get("rows", "")) else columns, path)
            for path in one["signature"]
        )
    ]
    found.sort(key=lambda name: -len(made[name]["signature"]))
    return [*{made[name].get("name", name): name for name in reversed(found)}.values()]


def _folder() -> Path:
    if named := os.environ.get("REVIEWDESK_CONFIG"):
        return Path(named).parent / "maps"
    from platformdirs import user_config_path

    return user_config_path("reviewdesk", appauthor=False) / "maps"


def _has(columns: Collection[str], path: str) -> bool:
    return any(one in columns or fnmatch.filter(columns, one) for one in path.split("|"))


def map_text(name: str) -> str:
    """Return the text of a map, by its name or the path of its file.

    Raises:
        UsageError: there is no such map.
    """
    shipped = files(__name__).joinpath(f"{name}{_SUFFIX}")
    is_path = name.endswith(_SUFFIX) or "/" in name or "\\" in name
    for place in [Path(name)] if is_path else [_folder() / f"{name}{_SUFFIX}", shipped]:
        try:
            return place.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise UsageError(f"--map: {show_line(name, 100)} cannot be read", str(error)) from error
    known = ", ".join(dict.fromkeys((*own(), *packaged())))
    problem = f"--map: there is no map {show_line(name, 100)}"
    raise UsageError(problem, f"Name a file, or one of {known}.")
