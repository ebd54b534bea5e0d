"""reviewdesk: a terminal desk for reviewing what juries of LLM judges decided, and its arithmetic.

The names in ``__all__`` are the library. Each is loaded at its first use, so that starting the
program, or using a panel alone, does not load numpy.
"""

from __future__ import annotations

from reviewdesk.version import __version__ as __version__

TYPE_CHECKING = False  # ``typing`` itself takes a tenth of the time to the first page
if TYPE_CHECKING:
    from reviewdesk.desk.live.panel import LiveVerdict, Panel, aggregate, with_prompt
    from reviewdesk.domain.assessment.assess import assess
    from reviewdesk.domain.assessment.history import remarks
    from reviewdesk.domain.assessment.result import Assessment
    from reviewdesk.domain.jury.agreement import (
        closeness,
        r_wg,
        unit_alpha,
        verdict_agreement,
        votes_agreement,
    )
    from reviewdesk.domain.jury.ballot import ballot
    from reviewdesk.domain.jury.band import band
    from reviewdesk.domain.jury.family import family, same_family
    from reviewdesk.domain.jury.label_rules import Supermajority, label_vote, supermajority
    from reviewdesk.domain.jury.label_words import LabelRules, label_decision
    from reviewdesk.domain.jury.quorum import quorum_met, quorum_met_strictly
    from reviewdesk.domain.jury.records import LabelVote
    from reviewdesk.domain.jury.scores import mean, median, trim, trimmed_mean, weighted_average
    from reviewdesk.domain.jury.strategies import STRATEGIES, Votes, rule_for
    from reviewdesk.domain.jury.trim import Breakdown, Trim, breakdown, trim_count
    from reviewdesk.domain.panel.case import Case, Check
    from reviewdesk.domain.panel.juror import Juror, Price
    from reviewdesk.domain.panel.spec import PanelSpec
    from reviewdesk.domain.stats.alpha import (
        AlphaState,
        alpha_interval,
        alpha_nominal,
        alpha_ordinal,
        contributions,
        interval_ci,
    )
    from reviewdesk.domain.stats.calibration import (
        Rows,
        accuracy,
        brier,
        ece,
        effective_sample_size,
        measure,
    )
    from reviewdesk.domain.stats.correction import lang_reiczigel, rogan_gladen, wald
    from reviewdesk.domain.stats.figures import Fit, Part
    from reviewdesk.domain.stats.rates import cohen_kappa, rate_difference, wilson
    from reviewdesk.domain.stats.reliability import fit
    from reviewdesk.domain.stats.stratified import stratified_rate
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
    from reviewdesk.errors import NoJurorsError, PanelError, ReviewDeskError, UsageError

_WHERE = {
    "desk.live.panel": "LiveVerdict Panel aggregate with_prompt",
    "domain.jury.band": "band",
    "domain.jury.agreement": "closeness r_wg unit_alpha verdict_agreement votes_agreement",
    "domain.stats.alpha": (
        "AlphaState alpha_interval alpha_nominal alpha_ordinal contributions interval_ci"
    ),
    "domain.assessment.assess": "assess",
    "domain.assessment.result": "Assessment",
    "domain.jury.ballot": "ballot",
    "domain.jury.family": "family same_family",
    "domain.stats.calibration": "Rows accuracy brier ece effective_sample_size measure",
    "domain.panel.case": "Case Check",
    "domain.stats.correction": "lang_reiczigel rogan_gladen wald",
    "domain.stats.figures": "Fit Part",
    "domain.stats.reliability": "fit",
    "domain.jury.label_rules": "Supermajority label_vote supermajority",
    "domain.jury.records": "LabelVote",
    "domain.jury.label_words": "LabelRules label_decision",
    "domain.panel.juror": "Juror Price",
    "domain.panel.spec": "PanelSpec",
    "domain.assessment.history": "remarks",
    "domain.stats.rates": "cohen_kappa rate_difference wilson",
    "domain.jury.scores": "mean median trim trimmed_mean weighted_average",
    "domain.jury.strategies": "STRATEGIES Votes rule_for",
    "domain.stats.stratified": "stratified_rate",
    "domain.jury.trim": "Breakdown Trim breakdown trim_count",
    "domain.verdict": (
        "Ballot Band Decision Generator Policy Regime Rounding Status Strategy Verdict "
        "verdict_from_body"
    ),
    "domain.jury.quorum": "quorum_met quorum_met_strictly",
    "errors": "NoJurorsError PanelError ReviewDeskError UsageError",
}
"""The module of each name. The names equal those under ``TYPE_CHECKING`` and in ``__all__``."""

_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = [
    "STRATEGIES", "AlphaState", "Assessment", "Ballot", "Band", "Breakdown", "Case", "Check",
    "Decision", "Fit", "Generator", "Juror", "LabelRules", "LabelVote", "LiveVerdict",
    "NoJurorsError", "Panel", "PanelError", "PanelSpec", "Part", "Policy", "Price", "Regime",
    "ReviewDeskError", "Rounding", "Rows", "Status", "Strategy", "Supermajority", "Trim",
    "UsageError", "Verdict", "Votes", "accuracy", "aggregate", "alpha_interval", "alpha_nominal",
    "alpha_ordinal", "assess", "ballot", "band", "breakdown", "brier", "closeness", "cohen_kappa",
    "contributions", "ece", "effective_sample_size", "family", "fit", "interval_ci",
    "label_decision", "label_vote", "lang_reiczigel", "mean", "measure", "median", "quorum_met",
    "quorum_met_strictly", "r_wg", "rate_difference", "remarks", "rogan_gladen", "rule_for",
    "same_family", "stratified_rate", "supermajority", "trim", "trim_count", "trimmed_mean",
    "unit_alpha", "verdict_agreement", "verdict_from_body", "votes_agreement", "wald",
    "weighted_average", "wilson", "with_prompt",
]  # fmt: skip


if not TYPE_CHECKING:  # else every misspelt name would pass for one of ours

    def __getattr__(name: str) -> object:
        """Load a name of the library from its module. Raise AttributeError for any other name."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Return the names of the library and ``__version__``."""
    return sorted([*__all__, "__version__"])
