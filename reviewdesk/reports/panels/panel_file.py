"""Read panel and prompt files (YAML or TOML): the jurors, and the rule that decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from reviewdesk.domain import arguments
from reviewdesk.domain.panel.panel import PanelRule
from reviewdesk.domain.panel.prompt import slots_in
from reviewdesk.domain.panel.spec import (
    DEFAULT_MAX_TOKENS,
    DEFAULT_TIMEOUT,
    Juror,
    PanelSpec,
    Price,
)
from reviewdesk.domain.panel.vendors import Vendor, likely_vendor
from reviewdesk.domain.verdict import DEFAULT_TRIM_FRACTION, Regime, Rounding, Strategy
from reviewdesk.errors import PanelError, UsageError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.panels.cells import Bounds, Cell, present
from reviewdesk.reports.panels.key_like import keylike
from reviewdesk.reports.panels.source import opened, read_root

_KEYS = ("version", "system_prompt", "user_prompt_template")
_WHAT = "a prompt file"


@dataclass(frozen=True, slots=True)
class PromptFile:
    """One version of a prompt."""

    version: str
    template: str
    system: str | None = None


def read_prompt(path: str | Path) -> PromptFile:
    """Read a prompt file.

    Raises:
        PanelError: the file is not valid; the error names file, line and place.
    """
    return prompt_from(opened(path, "a prompt's YAML file"))


def prompt_from(source: Source) -> PromptFile:
    """Return the prompt in an opened source."""
    root = read_root(source, _WHAT, "Write version: and user_prompt_template:.")
    cells = present(root.members(_WHAT, _KEYS))
    for key in ("version", "user_prompt_template"):
        if key not in cells:
            raise root.fail(f'has no "{key}"', f"Add {key}: to it.")
    system = cells.get("system_prompt")
    return PromptFile(
        version=cells["version"].name(80),
        template=template(cells["user_prompt_template"]),
        system=None if system is None else system.text(),
    )


def template(cell: Cell) -> str:
    """Return the template of the user prompt; raise PanelError if it has no ``{output}``."""
    text = cell.text()
    if "output" not in slots_in(text):
        hint = "Write {output} where the response under test is to stand."
        raise cell.fail("has no {output}, so the juror would not see the response", hint)
    return text


MAX_JURORS = 100

_PANEL = (
    "name", "rubric", "threshold", "quorum", "strategy", "trim", "regime", "failed_jurors",
    "strategy_for", "supermajority", "jurors",
)  # fmt: skip
_JUROR = (
    "name", "model", "vendor", "base_url", "api_key_env", "weight", "temperature", "max_tokens",
    "system_prompt", "prompt", "prompt_file", "timeout", "price",
)  # fmt: skip
_TRIM = ("fraction", "rounding")
_PRICE = ("input", "output")

STRATEGIES = tuple(one.value for one in Strategy if one not in {Strategy.SINGLE, Strategy.EXTERNAL})
"""The strategies that a panel can decide by; the other two occur only in reports."""

_STAND_INS = (Strategy.MEDIAN.value,)
"""The strategies that may replace any other when a juror failed."""

_UNIT = Bounds(least=0, most=1)
_SECONDS = Bounds(above=0, most=3600)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z", re.ASCII)
_ADDRESS = re.compile(r"[!-\[\]-~]+\Z")
"""Visible ASCII without the backslash, which clients read in different ways."""

_KEY_HINT = "Write the variable's name, such as OPENAI_API_KEY, and keep the key in it."


def read_panel(path: str | Path) -> PanelSpec:
    """Read a panel file and check all of it.

    Raises:
        PanelError: the file is not valid; the error names file, line and place.
    """
    return panel_from(opened(path, "the panel's YAML or TOML file"), Path(path).parent)


def panel_from(source: Source, folder: Path) -> PanelSpec:
    """Return the panel in an opened source; prompt files are looked up in ``folder``."""
    root = read_root(source, "a panel file", "Write name: and a list under jurors:.")
    cells = present(root.members("a panel", _PANEL))
    if "jurors" not in cells:
        raise root.fail('has no "jurors"', "Add a list under jurors:.")
    jurors = _jurors(cells["jurors"], folder)
    rubric = cells.get("rubric")
    return PanelSpec(
        name=cells["name"].name() if "name" in cells else _stem(source),
        jurors=jurors,
        rule=_rule(cells, jurors),
        rubric=None if rubric is None else rubric.text(),
    )


def _stem(source: Source) -> str:
    return Path(source.shown_name).stem or "panel"


def _rule(cells: Mapping[str, Cell], jurors: tuple[Juror, ...]) -> PanelRule:
    trim = present(cells["trim"].members("a trim", _TRIM)) if "trim" in cells else {}
    options: dict[str, Any] = {
        "strategy": _word(cells, "strategy", "a strategy that there is", STRATEGIES),
        "regime": _word(cells, "regime", "a regime that there is", Regime),
        "failed_jurors": _word(cells, "failed_jurors", "median, or left out", _STAND_INS),
        "rounding": _word(trim, "rounding", "a rounding that there is", Rounding) or Rounding.DOWN,
        "trim": DEFAULT_TRIM_FRACTION,
        "routes": _routes(cells),
        "weights": {one.name: one.weight for one in jurors if one.weight is not None},
    }
    if "fraction" in trim:
        expected = "a number from 0 up to, but not including, 0.5"
        options["trim"] = trim["fraction"].number(expected, Bounds(least=0, under=0.5))
    if "threshold" in cells:
        options["threshold"] = cells["threshold"].number("a number from 0 to 1", _UNIT)
    if "quorum" in cells:
        expected = 'a number above 0 and at most 1, or a fraction such as "2/3"'
        options["quorum"] = _share(cells["quorum"], arguments.quorum, expected)
    if "supermajority" in cells:
        expected = 'a share over 1/2 and at most 1, or a fraction such as "2/3"'
        options["supermajority"] = _share(cells["supermajority"], arguments.supermajority, expected)
    return PanelRule(**options)


def _word(cells: Mapping[str, Cell], key: str, expected: str, known: Iterable[str]) -> str | None:
    return cells[key].word(expected, known) if key in cells else None


def _routes(cells: Mapping[str, Cell]) -> dict[str, str]:
    if "strategy_for" not in cells:
        return {}
    routes = cells["strategy_for"].mapping()
    return {tag: cell.word("a strategy that there is", STRATEGIES) for tag, cell in routes.items()}


def _share(cell: Cell, check: Callable[[str, object], object], expected: str) -> float | str:
    """Return a share as it is written; raise PanelError if ``check`` refuses it."""
    value = cell.node.value
    try:
        # A fraction of a hundred digits is not a share, and it is slow to parse.
        if isinstance(value, float | int | str) and len(str(value)) <= 20:
            check("share", value)
            return value
    except (UsageError, OverflowError, ValueError):
        pass
    raise cell.wrong(expected)


def _jurors(cell: Cell, folder: Path) -> tuple[Juror, ...]:
    seats = cell.items()
    if not seats:
        raise cell.fail("is an empty list", "Seat at least one juror.")
    if len(seats) > MAX_JURORS:
        problem = f"seats {len(seats)} jurors, more than {MAX_JURORS}"
        raise cell.fail(problem, "Seat fewer.")
    jurors: list[Juror] = []
    for seat in seats:
        juror = _juror(seat, folder)
        first = next((at for at, one in enumerate(jurors) if one.name == juror.name), None)
        if first is not None:
            named = seat.mapping().get("name", seat)
            problem = f'is the name of jurors[{first}] too: "{juror.name}"'
            raise named.fail(problem, "Give each seat a name of its own with name:.")
        jurors.append(juror)
    return tuple(jurors)


def _juror(seat: Cell, folder: Path) -> Juror:
    cells = present(seat.members("a juror", _JUROR))
    if "model" not in cells:
        raise seat.fail('has no "model"', "Add model: as the vendor calls it.")
    model = cells["model"].name()
    vendor = _vendor(seat, cells, model)
    system, prompt, version = _prompts(cells, folder)
    return Juror(
        name=cells["name"].name(80) if "name" in cells else model,
        model=model,
        vendor=vendor,
        base_url=_base_url(seat, cells, vendor),
        api_key_env=_variable(cells["api_key_env"]) if "api_key_env" in cells else None,
        weight=_optional(cells, "weight", "a number above 0", Bounds(above=0)),
        temperature=_optional(cells, "temperature", "a number from 0 to 2", Bounds(0, 2)),
        max_tokens=_max_tokens(cells),
        system_prompt=system,
        prompt=prompt,
        prompt_version=version,
        timeout=_timeout(cells),
        price=_price(cells["price"]) if "price" in cells else None,
    )


def _optional(cells: Mapping[str, Cell], key: str, expected: str, fits: Bounds) -> float | None:
    return cells[key].number(expected, fits) if key in cells else None


def _max_tokens(cells: Mapping[str, Cell]) -> int:
    if "max_tokens" not in cells:
        return DEFAULT_MAX_TOKENS
    return cells["max_tokens"].whole("a whole number from 1 to 1000000", Bounds(1, 1_000_000))


def _timeout(cells: Mapping[str, Cell]) -> float:
    expected = "a number of seconds above 0 and at most 3600"
    return _optional(cells, "timeout", expected, _SECONDS) or DEFAULT_TIMEOUT


def _vendor(seat: Cell, cells: Mapping[str, Cell], model: str) -> str:
    if "vendor" in cells:
        return cells["vendor"].word("a vendor that there is", Vendor)
    likely = likely_vendor(model)
    hint = f"Add vendor: {likely}, if that is who serves it." if likely else "Add vendor:."
    raise seat.fail('has no "vendor"', f"{hint} Known: {', '.join(Vendor)}.")


def _variable(cell: Cell) -> str:
    """Return the name of an environment variable; the error does not show the value."""
    value = cell.node.text if isinstance(cell.node.value, str) else ""
    if keylike(value) or len(value) > 64 or not _VARIABLE.match(value):
        expected = "must be the name of a variable of the environment (the value is not shown)"
        raise cell.fail(expected, _KEY_HINT)
    return value


def _base_url(seat: Cell, cells: Mapping[str, Cell], vendor: str) -> str | None:
    if "base_url" not in cells:
        if vendor == Vendor.CUSTOM:
            hint = "Add base_url:, such as http://127.0.0.1:8080/v1."
            raise seat.fail('has the vendor custom and no "base_url"', hint)
        return None
    cell = cells["base_url"]
    text = cell.text().strip()
    problem = _url_problem(text)
    if problem:
        raise cell.fail(problem, "Write the endpoint alone, such as https://host.example/v1.")
    return text


def _url_problem(text: str) -> str | None:
    """Return what is wrong with an address, or None; the message never quotes the address."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is no address"
    if parts.scheme not in {"http", "https"} or not host:
        return "must be an address with http:// or https:// and a host (the value is not shown)"
    if "@" in parts.netloc:
        return "has a user or a password in it (not shown)"
    if "?" in text or "#" in text:
        return "has a query or a fragment (not shown)"
    if (
        len(text) > 500
        or not text.isascii()
        or not text.isprintable()
        or re.search(r"[\s\\]", text)
    ):
        return "has characters that no address has, or too many (not shown)"
    if keylike(text):
        return "has what looks like an API key in it (not shown)"
    return None


def _price(cell: Cell) -> Price:
    cells = present(cell.members("a price", _PRICE))
    for key in _PRICE:
        if key not in cells:
            raise cell.fail(f'has no "{key}"', "Give both, in US dollars per million tokens.")
    expected = "a number of US dollars per million tokens, 0 or more"
    fits = Bounds(least=0, most=1_000_000)
    return Price(*(cells[key].number(expected, fits) for key in _PRICE))


_PromptParts = tuple[str | None, str | None, str | None]


def _prompts(cells: Mapping[str, Cell], folder: Path) -> _PromptParts:
    """Return the system prompt, the template and the prompt version of a juror."""
    system = cells["system_prompt"].text() if "system_prompt" in cells else None
    if "prompt_file" not in cells:
        return system, template(cells["prompt"]) if "prompt" in cells else None, None
    cell = cells["prompt_file"]
    if "prompt" in cells:
        raise cell.fail("stands beside a prompt", "Keep one of prompt and prompt_file.")
    found = _prompt_file(cell, folder)
    if system is not None and found.system is not None:
        problem = "has a system_prompt of its own, and the juror has another"
        raise cell.fail(problem, "Keep one of them.")
    return system or found.system, found.template, found.version


def _prompt_file(cell: Cell, folder: Path) -> PromptFile:
    path = cell.name(1000)
    try:
        source = opened(folder / path, "a prompt's YAML file")
    except PanelError as error:
        problem = f'names "{path}": {error.problem}'
        raise cell.fail(problem, "Name a file beside the panel file.") from error
    return prompt_from(source)
