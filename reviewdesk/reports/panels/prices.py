"""The dated table of model prices that comes with the program."""

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from msgspec import Struct

from reviewdesk.domain.panel.juror import Price
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.vendors import ROUTED_AS

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


def price_of(vendor: str, model: str) -> Price | None:
    """Return the price of a model from the table, or ``None``."""
    table = price_table()
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
def price_table() -> PriceTable:
    """Read the table; the numbers of a row are the prices of input, cached input and output."""
    text = Path(__file__).with_name("prices.toml").read_text("utf-8")
    found = tomllib.loads(text)
    date = found.pop("date").isoformat()
    rows: dict[str, dict[str, Price]] = {}
    for vendor, models in found.items():
        del models["source"]
        rows[vendor] = {
            name: Price(usd, output, cached, as_of=date)
            for name, (usd, cached, output) in models.items()
        }
    return PriceTable(date, rows)
