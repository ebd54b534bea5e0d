"""Check maps that people write, make those of the package, and write a map as text."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from typing import Any

from msgspec import convert
from msgspec.structs import fields

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError, UnclearTableError, UsageError
from reviewdesk.reports.bytes.strict_json import Fail
from reviewdesk.reports.maps import map_text, packaged
from reviewdesk.reports.tables.guess import Guess
from reviewdesk.reports.tables.table_map import BallotRule, TableMap
from reviewdesk.reports.wording import FieldError, spell_path


def packaged_map(name: str) -> TableMap:
    """Return a map of the package."""
    return convert(packaged()[name], TableMap)


def toml_of(made: TableMap) -> str:
    """Return a map as text in TOML, without what is as usual."""
    usual = TableMap()
    last = {one.name for one in fields(BallotRule)}
    lines = [
        f"{one.encode_name} = {_toml(value)}"
        for one in sorted(fields(TableMap), key=lambda one: one.name in last)
        if one.name != "ballots" and (value := getattr(made, one.name)) != getattr(usual, one.name)
    ]
    for rule in made.ballots:
        lines += ["", "[[ballots]]", *(f"{key} = {_toml(value)}" for key, value in rule.items())]
    return "\n".join([*lines, ""])


def unclear_table(fail: Fail, columns: Sequence[str], found: Guess) -> InputFileError:
    """Return the error for a table about whose columns a person must be asked, if it is one."""
    said = fail("", found.problem, found.hint)
    if found.elsewhere:
        return said
    error = UnclearTableError(said.file, said.where, said.problem, said.hint)
    error.columns = tuple(name for name in columns if name)
    error.item = found.made.item if isinstance(found.made.item, str) else ""
    error.judges = found.judges
    made = found.made
    by_rule = any("each" in rule for rule in made.ballots)
    error.nested = bool(made.each or made.judge or made.words or by_rule)
    if found.judges:
        error.details = toml_of(found.made)
    return error


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{_toml(key)} = {_toml(one)}" for key, one in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    # A text of JSON is one of TOML, but for the character that only TOML forbids.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


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

    class MapPart(Strict):
        what = "a map"

    def model(of: type[BallotRule], name: str, **more: Any) -> type[Strict]:
        declared = {
            one.name: (more.get(one.name, one.type), Field(one.default, alias=one.encode_name))
            for one in fields(of)
        }
        made: type[Strict] = create_model(name, __base__=MapPart, **declared)  # type: ignore[call-overload]
        return made

    rule = model(BallotRule, "RuleModel")
    validated(model(TableMap, "MapModel", ballots=list[rule]), value)  # type: ignore[valid-type]
    return convert(value, TableMap)
