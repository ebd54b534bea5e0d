"""The rules and statistics behind the desk, one by one: numbers in, numbers out.

Each says in its docstring what it computes, what is undefined, and where it comes from.
"""

from reviewdesk.desk.live.panel import aggregate
from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.trail import remarks
from reviewdesk.domain.jury.family import family, same_family
from reviewdesk.domain.jury.label_rules import Supermajority, label_vote, supermajority
from reviewdesk.domain.jury.rules import (
    STRATEGIES,
    Breakdown,
    LabelVote,
    Trim,
    Votes,
    breakdown,
    quorum_met,
    quorum_met_strictly,
    rule_for,
    trim_count,
)
from reviewdesk.domain.jury.scores import (
    band,
    closeness,
    mean,
    median,
    r_wg,
    trim,
    trimmed_mean,
    unit_alpha,
    verdict_agreement,
    votes_agreement,
    weighted_average,
)
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
from reviewdesk.domain.stats.kappa import cohen_kappa
from reviewdesk.domain.stats.rates import rate_difference, stratified_rate, wilson
from reviewdesk.domain.stats.reliability import fit
from reviewdesk.domain.values import LabelRules, Regime, Rounding, Status, label_decision
from reviewdesk.domain.verdict import Band, Generator, Policy, Strategy, Verdict, verdict_from_body

__all__ = [
    "STRATEGIES", "AlphaState", "Band", "Breakdown", "Fit", "Generator", "LabelRules",
    "LabelVote", "PanelSpec", "Part", "Policy", "Regime", "Rounding", "Rows", "Status",
    "Strategy", "Supermajority", "Trim", "Verdict", "Votes", "accuracy", "aggregate",
    "alpha_interval", "alpha_nominal", "alpha_ordinal", "assess", "band", "breakdown", "brier",
    "closeness", "cohen_kappa", "contributions", "ece", "effective_sample_size", "family", "fit",
    "interval_ci", "label_decision", "label_vote", "lang_reiczigel", "mean", "measure", "median",
    "quorum_met", "quorum_met_strictly", "r_wg", "rate_difference", "remarks", "rogan_gladen",
    "rule_for", "same_family", "stratified_rate", "supermajority", "trim", "trim_count",
    "trimmed_mean", "unit_alpha", "verdict_agreement", "verdict_from_body", "votes_agreement",
    "wald", "weighted_average", "wilson",
]  # fmt: skip
