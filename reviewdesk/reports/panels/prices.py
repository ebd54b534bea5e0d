"""The dated table of model prices: that of the package, or a file of the user instead."""

import dataclasses
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct, ValidationError, convert

from reviewdesk.domain.panel.juror import Price
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.vendors import ROUTED_AS, VENDORS
from reviewdesk.reports.panels.source import opened, parsed
from reviewdesk.reports.wording import FieldError, must_be

PACKAGED: Final = Path(__file__).with_name("prices.toml")

_ROW: Final = 'Write a row such as "gpt-5" = [1.25, 0.125, 10]: input, cached input, output.'
_Usd: TypeAlias = Annotated[float, Meta(ge=0, le=1e6)]
_DATED = re.compile(r"[-@]\d{4}-?\d{2}-?\d{2}\Z")


class PriceTable(Struct, frozen=True):
    """The prices of models by vendor and name, and the date when they were looked up."""

    date: str
    rows: Mapping[str, Mapping[str, Price]]

    def price(self, vendor: str, model: str) -> Price | None:
        """Return the price under the longest name that fits the model, or ``None``."""
        bare = _DATED.sub("", model)
        fitting = [
            (len(name), name)
            for name in self.rows.get(vendor, {})
            if fnmatchcase(model, name) or fnmatchcase(bare, name)
        ]
        return self.rows[vendor][max(fitting)[1]] if fitting else None


_CHOSEN = [PACKAGED]
"""The file that holds the table of this process."""


def use_prices(path: str) -> None:
    """Read prices from the user's file instead of the package's; an empty path restores those."""
    _CHOSEN[0] = Path(path).expanduser() if path else PACKAGED


def price_of(vendor: str, model: str) -> Price | None:
    """Return the price of a model from the table of this process, or ``None``."""
    table = price_table(_CHOSEN[0])
    found = table.price(vendor, model)
    if found is not None or vendor != "openrouter":
        return found
    # OpenRouter passes the vendors' own prices on.
    maker, _, name = model.partition("/")
    own = next((kind for kind, routed in ROUTED_AS.items() if routed == maker), "")
    return table.price(own, name) or table.price(own, name.replace(".", "-"))


def priced(panel: PanelSpec) -> PanelSpec:
    """Return the panel, with the table's price for each juror that states none."""
    jurors = (
        one if one.price else dataclasses.replace(one, price=price_of(one.vendor, one.model))
        for one in panel.jurors
    )
    return dataclasses.replace(panel, jurors=tuple(jurors))


@cache
def price_table(path: Path) -> PriceTable:
    """Read a table of prices; raise PanelError if the file cannot be used."""
    source = opened(path, "a TOML file of prices")
    empty = "Write date = 2026-01-31 and a table per vendor."
    with parsed(source, "a file of prices", empty) as root:
        found = root.plain()
        if not isinstance(found, dict) or not isinstance(found.get("date"), str):
            hint = "Write the day of the prices, date = 2026-01-31."
            raise FieldError(("date",), "is missing", hint)
        date = found.pop("date")
        rows: dict[str, dict[str, Price]] = {}
        for vendor, models in found.items():
            if vendor not in VENDORS:
                raise FieldError(
                    (vendor,), "is not a known vendor", f"Known: {', '.join(VENDORS)}."
                )
            if not isinstance(models, dict):
                raise FieldError((vendor,), "must be a table of models", _ROW)
            models.pop("source", None)
            rows[vendor] = {}
            for name, row in models.items():
                try:
                    usd, cached, output = convert(row, tuple[_Usd, _Usd, _Usd])
                except ValidationError:
                    wanted = must_be("three prices of 0 or more", row)
                    raise FieldError((vendor, name), wanted, _ROW) from None
                rows[vendor][name] = Price(usd, output, cached, as_of=date)
        return PriceTable(date, rows)
