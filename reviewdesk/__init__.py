"""reviewdesk: a terminal desk for reviewing what juries of LLM judges decided, and its arithmetic.

The names below are the library. Each is loaded when it is first asked for, so that a start of the
program, or a panel alone, loads no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from reviewdesk.desk.library import Judged, Panel, aggregate
    from reviewdesk.domain.agreement import (
        band,
        closeness,
        r_wg,
        unit_alpha,
        verdict_agreement,
        votes_agreement,
    )
    from reviewdesk.domain.alpha import (
        AlphaState,
        alpha_interval,
        alpha_nominal,
        alpha_ordinal,
        contributions,
        interval_ci,
    )
    from reviewdesk.domain.assess import Assessment, assess
    from reviewdesk.domain.averages import mean, median, weighted_average
    from reviewdesk.domain.ballots import ballot
    from reviewdesk.domain.bias import family, same_family
    from reviewdesk.domain.calibration import (
        Rows,
        accuracy,
        brier,
        ece,
        effective_sample_size,
        measure,
    )
    from reviewdesk.domain.cases import Case, Check
    from reviewdesk.domain.correction import lang_reiczigel, rogan_gladen, wald
    from reviewdesk.domain.figures import Fit, Part
    from reviewdesk.domain.fit import fit
    from reviewdesk.domain.labelrules import LabelRules, label_decision
    from reviewdesk.domain.labelvotes import LabelVote, label_vote
    from reviewdesk.domain.panel import rule_for
    from reviewdesk.domain.panelspec import Juror, PanelSpec, Price
    from reviewdesk.domain.remarks import remarks
    from reviewdesk.domain.standards import cohen_kappa, rate_difference, wilson
    from reviewdesk.domain.strategies import STRATEGIES
    from reviewdesk.domain.stratified import stratified_rate
    from reviewdesk.domain.supermajority import Supermajority, supermajority
    from reviewdesk.domain.trim import (
        Breakdown,
        Trim,
        breakdown,
        trim,
        trim_count,
        trimmed_mean,
    )
    from reviewdesk.domain.verdict import (
        Ballot,
        Band,
        Decision,
        Generator,
        Policy,
        Regime,
        Rounding,
        Status,
        Strategy,
        Verdict,
        verdict_from_body,
    )
    from reviewdesk.domain.votes import Votes, quorum_met, quorum_met_strictly
    from reviewdesk.errors import NoJurorsError, PanelError, ReviewDeskError, UsageError

_WHERE = {
    "desk.library": "Judged Panel aggregate",
    "domain.agreement": "band closeness r_wg unit_alpha verdict_agreement votes_agreement",
    "domain.alpha": (
        "AlphaState alpha_interval alpha_nominal alpha_ordinal contributions interval_ci"
    ),
    "domain.assess": "Assessment assess",
    "domain.averages": "mean median weighted_average",
    "domain.ballots": "ballot",
    "domain.bias": "family same_family",
    "domain.calibration": "Rows accuracy brier ece effective_sample_size measure",
    "domain.cases": "Case Check",
    "domain.correction": "lang_reiczigel rogan_gladen wald",
    "domain.figures": "Fit Part",
    "domain.fit": "fit",
    "domain.labelrules": "LabelRules label_decision",
    "domain.labelvotes": "LabelVote label_vote",
    "domain.panel": "rule_for",
    "domain.panelspec": "Juror PanelSpec Price",
    "domain.remarks": "remarks",
    "domain.standards": "cohen_kappa rate_difference wilson",
    "domain.strategies": "STRATEGIES",
    "domain.stratified": "stratified_rate",
    "domain.supermajority": "Supermajority supermajority",
    "domain.trim": "Breakdown Trim breakdown trim trim_count trimmed_mean",
    "domain.verdict": (
        "Ballot Band Decision Generator Policy Regime Rounding Status Strategy Verdict "
        "verdict_from_body"
    ),
    "domain.votes": "Votes quorum_met quorum_met_strictly",
    "errors": "NoJurorsError PanelError ReviewDeskError UsageError",
}
"""A name stands here, under ``TYPE_CHECKING`` and in ``__all__``; a test holds them equal."""

_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = [
    "STRATEGIES", "AlphaState", "Assessment", "Ballot", "Band", "Breakdown", "Case", "Check",
    "Decision", "Fit", "Generator", "Judged", "Juror", "LabelRules", "LabelVote", "NoJurorsError",
    "Panel", "PanelError", "PanelSpec", "Part", "Policy", "Price", "Regime", "ReviewDeskError",
    "Rounding", "Rows", "Status", "Strategy", "Supermajority", "Trim", "UsageError", "Verdict",
    "Votes", "accuracy", "aggregate", "alpha_interval", "alpha_nominal", "alpha_ordinal", "assess",
    "ballot", "band", "breakdown", "brier", "closeness", "cohen_kappa", "contributions", "ece",
    "effective_sample_size", "family", "fit", "interval_ci", "label_decision", "label_vote",
    "lang_reiczigel", "mean", "measure", "median", "quorum_met", "quorum_met_strictly", "r_wg",
    "rate_difference", "remarks", "rogan_gladen", "rule_for", "same_family", "stratified_rate",
    "supermajority", "trim", "trim_count", "trimmed_mean", "unit_alpha", "verdict_agreement",
    "verdict_from_body", "votes_agreement", "wald", "weighted_average", "wilson",
]  # fmt: skip


if not TYPE_CHECKING:  # else every misspelt name would pass for one of ours

    def __getattr__(name: str) -> object:
        """Load a name of the library from its module."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """The library, with the version."""
    return sorted([*__all__, "__version__"])
