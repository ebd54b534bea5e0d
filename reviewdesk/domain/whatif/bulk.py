"""Panels as a variant of their rule changes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.jury.panels import Panels, revoted, without
from reviewdesk.domain.jury.scores import ROUNDINGS
from reviewdesk.domain.run.columns import STRATEGIES, Columns
from reviewdesk.domain.whatif.policies import Variant


def ruled(columns: Columns, variant: Variant) -> Columns:
    """Return the columns with the settings of a variant's rule; the ballots stay."""
    given: dict[str, Any] = {}
    if variant.supermajority is not None:
        given |= {"share": np.int32(0), "shares": (variant.supermajority,)}
    if variant.quorum is not None:
        given |= {"quorum": np.int32(0), "quorums": (variant.quorum,)}
    if variant.strategy is not None:
        given["strategy"] = np.int8(STRATEGIES.index(variant.strategy))
    if variant.fraction is not None:
        given["fraction"] = np.float64(variant.fraction)
    if variant.rounding is not None:
        given["rounding"] = np.int8(ROUNDINGS.index(variant.rounding))
    if variant.threshold is not None:
        given["threshold"] = np.float64(variant.threshold)
    n = len(columns)
    # One setting for all verdicts takes no memory per verdict.
    every: dict[str, Any] = {
        name: np.broadcast_to(value, n) if isinstance(value, np.generic) else value
        for name, value in given.items()
    }
    return replace(columns, **every)


def changed(panels: Panels, variant: Variant) -> Panels:
    """Return the panels with the ballots of a variant: without a juror, or at another threshold."""
    columns = panels.columns
    if variant.dropped is not None:
        columns = without(columns, variant.dropped)
    if variant.threshold is not None:
        columns = replace(columns, votes=revoted(columns, variant.threshold))
    if columns is panels.columns:
        return panels
    made = Panels(columns, exact=panels.cast.exact)
    if variant.dropped is None:
        made.cast.scores = panels.scores
    return made


def under(panels: Panels, variant: Variant) -> Panels:
    """Return panels, whose ballots are those of the variant already, under its rule."""
    return panels.ruled(ruled(panels.columns, variant))
