"""The dated table of model prices that comes with the program."""

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from reviewdesk.domain.panel.juror import Price
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.vendors import ROUTED_AS

_DATED = re.compile(r"[-@]\d{4}-?\d{2}-?\d{2}\Z")


Prices = Mapping[str, Mapping[str, Price]]
"""The prices of models by vendor and name."""


def price_of(vendor: str, model: str) -> Price | None:
    """Return the price of a model from the table, or ``None``."""
    table = price_table()
    found = listed(table, vendor, model)
    if found is not None or vendor != "openrouter":
        return found
    # OpenRouter passes the vendors' own prices on.
    maker, _, name = model.partition("/")
    own = next((kind for kind, routed in ROUTED_AS.items() if routed == maker), "")
    return listed(table, own, name) or listed(table, own, name.replace(".", "-"))


def listed(table: Prices, vendor: str, model: str) -> Price | None:
    """Return the price under the longest name that fits the model, or ``None``."""
    bare = _DATED.sub("", model)
    rows = table.get(vendor, {})
    fitting = [one for one in rows if fnmatchcase(model, one) or fnmatchcase(bare, one)]
    return rows[max(fitting, key=len)] if fitting else None


def priced(panel: PanelSpec) -> PanelSpec:
    """Return the panel, with the table's price for each juror that states none."""
    jurors = (
        one if one.price else dataclasses.replace(one, price=price_of(one.vendor, one.model))
        for one in panel.jurors
    )
    return dataclasses.replace(panel, jurors=tuple(jurors))


@cache
def price_table() -> Prices:
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
    return rows
