"""JSON of figures, gates and panels."""

from collections.abc import Mapping, Sequence
from typing import Any

from reviewdesk.domain.gates.expect import EntryKind, EntryResult, GateStatus, SuiteResult
from reviewdesk.domain.jurors.facts import BiasProbe, JurorFacts, JurorsPage
from reviewdesk.domain.jurors.panels import ComparedRun, PanelComparison
from reviewdesk.domain.labels.improve import PanelAdopted, SplitLabels
from reviewdesk.domain.labels.question import RunAnswer
from reviewdesk.domain.labels.segments import Composite, SegmentFigures
from reviewdesk.domain.panel.asking import BatchSummary, LiveProgress
from reviewdesk.domain.panel.composition import ITEM_BYTES, Composition
from reviewdesk.domain.panel.juror import seat_body
from reviewdesk.domain.records import Calibration, Item, Metrics
from reviewdesk.domain.run.volatility import AgainstEarlier
from reviewdesk.domain.stats.calibration_page import CalibrationPage, FilePage
from reviewdesk.domain.stats.figures import Estimate, Fit, PanelIntervals, Target
from reviewdesk.domain.verdict import Strategy
from reviewdesk.domain.whatif import PolicyResult, WhatIfTable, attacks
from reviewdesk.views.comparison import conclusion
from reviewdesk.views.document import plain as plain_text
from reviewdesk.views.json.review import shape


def _ends(*names: str, path: str = "") -> str:
    """Return the keys for the ends of intervals; ``path`` is the source of a single one."""
    pairs = [(name, end) for name in names for end in ("low", "high")]
    return " ".join(f"{name}_{end}={path or name}.{end}" for name, end in pairs)


def _rate(name: str, path: str = "") -> str:
    return f"{name}={path or name}.estimate {_ends(name, path=path)}"


_THREE = ("accuracy", "sensitivity", "specificity")
_DRAWN = _ends(*_THREE, "brier", "gap", "kappa")
_FIT = (
    "ece_expected=null.expected ece_expected_exact=null.exact ece_p=null.p ece_p95=null.p95 "
    f"{_ends('brier', 'gap')} auroc log_loss=log_loss.value"
)
_BIN = "bin=index n=weight count=n mean_confidence accuracy low high"
"""``count`` is the number of a bin's rows and ``n`` the sum of their weights."""


def filed(page: FilePage) -> dict[str, Any]:
    return {
        **_calibration(page.calibration),
        **_fit(page.fit),
        **shape(page.fit, _ends("accuracy", "kappa")),
        "honest": _through(page.honest, "lang_reiczigel"),
        **shape(page, "representative gates warnings=calibration.warnings"),
    }


def run_figures(page: CalibrationPage) -> dict[str, Any]:
    """Return the figures of a run, with its draw; intervals are of this run, and of such items."""
    such = shape(page.calibration.headline, f"{' '.join(_THREE)} brier gap kappa")
    people = {}
    if page.people is not None:
        band = page.people_band and shape(page.people_band, "corrected=estimate low high")
        people["people"] = shape(page.people, _PEOPLE) | {"accuracy_band": band}
    return {
        **_calibration(page.calibration),
        **_fit(page.fit),
        **_drawn(page.intervals),
        "target": Target.RUN,
        "such_items": such | _drawn(page.such) | shape(page.such, "labels=counted tests"),
        "honest": _through(page.honest, "stratified"),
        "honest_accuracy": _through(page.accuracy, "stratified"),
        **shape(page, "gates warnings=calibration.warnings verdicts"),
        "strata": [shape(one, "stratum=name * unanswered") for one in page.strata],
        **shape(page, "audit missing"),
        **({} if page.answer is None else {"question": asked(page.answer)}),
        **people,
        "blockers": [shape(one, "id waiting") for one in page.blockers],
        "blind": _side(page.split.blind),
        "open": _side(page.split.open),
        **shape(page, "open_unsaid=split.unsaid tags"),
    }


def _through(found: Estimate, method: str) -> dict[str, Any]:
    """Return a rate of the run, with the method that gave its interval."""
    rate = shape(found, "estimate low high", reason=found.reason or None)
    return {"method": method if found.bounded else "none", **rate}


def _calibration(found: Calibration) -> dict[str, Any]:
    return {
        **shape(found, "n=headline.n confidence_source design ess=headline.ess"),
        **shape(found.headline),
        **shape(found, "unsure disputed no_verdict labelled population"),
    }


def _fit(fit: Fit) -> dict[str, Any]:
    """Return the simulated figures of the headline's rows; ``null`` if undefined."""
    return {
        **shape(fit, _FIT),
        "log_loss_clipped": fit.log_loss.clipped if fit.log_loss else 0,
        **shape(fit, "spiegelhalter"),
        "bins": [shape(one, _BIN) for one in fit.bins],
    }


def _drawn(found: PanelIntervals) -> dict[str, Any]:
    made = shape(found, _DRAWN)
    return made if found.counted else dict.fromkeys(made)


def _side(line: Metrics) -> dict[str, Any]:
    """Return one side of a split; without labels every figure is ``null``, not 0."""
    made = shape(line)
    return made if line.n else dict.fromkeys(made) | {"n": 0}


def two_panels(found: PanelComparison) -> dict[str, Any]:
    """Return two panels on the same items: the labels' counts, the rates and the difference."""
    return {
        "conclusion": plain_text(conclusion(found)),
        "first": _compared(found, found.first, found.first_alone),
        "second": _compared(found, found.second, found.second_alone),
        **shape(found, "items decided flips labelled both_right both_wrong drawn design"),
        "target": Target.RUN,
        **shape(found, "difference sign_test_p=p"),
        "decisions": [
            {"first": one, "second": two, "label": truth, "n": n}
            for (one, two, truth), n in found.cells.items()
        ],
    }


def _compared(found: PanelComparison, run: ComparedRun, alone: int) -> dict[str, Any]:
    rate = shape(run, _rate("accuracy", "rate"))
    return {"run": run.name, "right": found.both_right + alone, "alone": alone, **rate}


def segments(by: str, found: Sequence[SegmentFigures]) -> dict[str, Any]:
    """Return the segments of a run, the worst first; figures are ``null`` if labels are few."""
    rates = ("accuracy", "false_passes", "false_fails", "should_pass")
    keys = " ".join(_rate(name) for name in rates)
    keys = f"segment verdicts labels passed {keys}"
    return {"by": by, "segments": [shape(one, keys) for one in found]}


def composites(found: Sequence[Composite]) -> dict[str, Any]:
    """Return the composite of each subject, the lowest first, with its dimensions."""
    rate = _rate("should_pass")
    made = [
        {
            **shape(one, "subject panel value=found.estimate low=found.low high=found.high"),
            "reason": one.found.reason or None,
            "dimensions": [
                shape(part, f"dimension weight verdicts labels passed {rate}")
                for part in one.dimensions
            ],
        }
        for one in found
    ]
    return {"composites": made} if found else {}


def over_runs(found: AgainstEarlier) -> dict[str, Any]:
    """Compare a run with earlier runs: each dimension, the one that swings, and unanimity."""
    watch = found.unanimity
    return {
        "dimensions": [shape(one) | {"outside": one.outside} for one in found.dimensions],
        "swings": found.swings and found.swings.name,
        "unanimity": watch
        and shape(watch.share, "runs n before now low high")
        | {"labels": watch.labels, "warns": watch.warns},
    }


def bias(found: Sequence[BiasProbe]) -> dict[str, Any]:
    return {"bias": [shape(one, "probe n shown turned") | shape(one.found) for one in found]}


def jurors(page: JurorsPage) -> dict[str, Any]:
    """Return the page as JSON: raw counts, rates weighted by the draw, and suggested weights."""
    return {
        "jurors": [_juror(one, page) for one in page.jurors],
        "contest": shape(page.contest, _CONTEST),
        "volatile": [
            {
                **shape(one, "id sd swing turned"),
                "scores": [{"run": run, "score": score} for run, score in one.scores],
            }
            for one in page.volatile
        ],
        "repeated_cases": page.repeated,
        "over_runs": over_runs(page.earlier),
        "weights_basis": shape(page, "labels mean_kappa", sum=1, applied=False),
        "pairs": [
            {
                "jurors": [one.first, one.second],
                **shape(one.votes, _ALIKE),
                "halves": [shape(half, _ALIKE) for half in one.halves],
                **shape(one, "scored equal_scores"),
            }
            for one in page.pairs
        ],
        **({} if page.worth is None else {"worth": shape(page.worth)}),
    }


_CONTEST = (
    "best panel_less_best=panel panel_beats_every_juror=beats_every "
    "best_beats_every_juror=best_stands best_beats_panel"
)
_ALIKE = "n alike share expected"
_RATES = " ".join(_rate(name) for name in _THREE)
_JUROR = (
    f"n=counts.n {_rate('sensitivity', 'quoted.sensitivity')} "
    f"{_rate('specificity', 'quoted.specificity')} false_passes=counts.fp "
    "false_fails=counts.fn observed_rate=observed.estimate observed_votes=seats.votes"
)
_SEATS = (
    "seats=seats.seats not_asked=seats.not_asked seats_failed=seats.failed "
    "parse_failed=seats.parse_failed parse_failure_rate=parse_failures.estimate offset=offset.mean"
)


def _juror(one: JurorFacts, page: JurorsPage) -> dict[str, Any]:
    """Return one juror; its population's rates are ``null`` with bounds if undetermined."""
    offset = one.offset
    rates = one.labelled
    corrected, status = one.corrected
    drift = offset.drift if offset else None
    alarm = page.ids.get(drift.alarm) if drift and drift.alarm is not None else None
    return {
        "id": one.name,
        "model": page.models.get(one.name),
        **shape(one.counts, "votes=n right wrong"),
        "design": one.drawn.design,
        "target": Target.RUN,
        **shape(one, _rate("accuracy", "quoted.accuracy")),
        **shape(one.counts),
        **shape(one, _JUROR),
        "corrected_rate": corrected,
        "corrected_status": status,
        **shape(one, f"kappa weight {_rate('dissent_precision', 'quoted.dissent')}"),
        **shape(one.drawn, "dissent_design difference"),
        "labelled": {
            **{name: rates[name].estimate for name in _THREE},
            "kappa": one.labelled_kappa,
            "dissent_precision": rates["dissent"].estimate,
        },
        "population": {
            **shape(one.drawn.run, _RATES),
            **shape(one.drawn, f"kappa {_rate('dissent_precision', 'dissent')}"),
        },
        "such_items": shape(one.drawn.such, _RATES),
        **shape(one, _SEATS),
        "offset_n": offset.n if offset else 0,
        "drift": drift and shape(drift) | {"alarm": alarm},
    }


def what_if(table: WhatIfTable, *, every: bool) -> list[dict[str, Any]]:
    """Return ``whatif --json``; with ``every``, the run as it stands is its first row."""
    return [
        {
            **shape(row, _RESULT),
            "verdicts": table.standing.verdicts,
            "own": row.own,
            "design": table.design,
            "confidence_source": row.confidence,
            **shape(row.variant),
        }
        for row in ((table.standing, *table.rows) if every else table.rows)
    ]


_RESULT = (
    "policy=variant.name flipped pass_rate inconclusive n_labelled accuracy brier ece "
    "decided undecided"
)


def what_if_item(item: Item, rows: Sequence[PolicyResult], *, every: bool) -> list[dict[str, Any]]:
    """Return ``whatif VERDICT --json``; with ``every``, with the first row, as it stands."""
    return [
        {
            **shape(row, "policy=variant.name value decision"),
            "differs": row.decision != item.assessment.ruled,
            "attack": [shape(one) for one in attacks(item.verdict, row.variant)],
            **shape(row.variant),
        }
        for row in rows[0 if every else 1 :]
    ]


_PEOPLE = "second_opinions=n disagreement error_rate=rate ceiling more_opinions=more"


def asked(found: RunAnswer) -> dict[str, Any]:
    return shape(
        found,
        "question=question.text figure=question.figure of=question.of op=question.op "
        "limit=question.limit width=question.width level=question.level planned=question.planned "
        "asked_at=question.at closed=question.closed reply safe_to_stop=safe more_labels=more "
        "labels=look.labels known waiting estimate=look.estimate low=look.low high=look.high "
        "now_low=look.now_low now_high=look.now_high",
    )


_CHECK = (
    "target=expected.target value=reading.value matcher=expected.matcher.written status note "
    "margin message=expected.message verdict test source=reading.origin metric=reading.metric"
)
_JOIN = "labels joined changed one_sided missing frame held extra reworded"
_INTERVAL = "low=reading.low high=reading.high limit reaches_past"


def suite(result: SuiteResult) -> dict[str, Any]:
    """Return ``gate --json``; an entry's status is ``pass``, ``fail``, ``skip`` or ``error``."""
    return {
        "suite": result.suite,
        **_numbers({status: result.count(status) for status in GateStatus}),
        "errors": len(result.errors),
        "entries": [_entry(entry) for entry in result.entries],
    }


def _numbers(counts: Mapping[GateStatus, int]) -> dict[str, int]:
    words = {"passed": GateStatus.PASS, "failed": GateStatus.FAIL, "skipped": GateStatus.SKIP}
    return {word: counts[status] for word, status in words.items()}


def _entry(entry: EntryResult) -> dict[str, Any]:
    """Return one entry; each check of a calibration also has its interval and the limit."""
    is_jury = entry.kind is EntryKind.JURY
    check = _CHECK if is_jury else f"{_CHECK} {_INTERVAL}"
    return {
        "name": entry.name,
        "status": "error" if entry.error else entry.status,
        **shape(entry, "kind source case design representative"),
        "verdicts": _numbers(entry.units) if is_jury else None,
        "counts": _numbers(entry.counts),
        **shape(entry, "values=origins"),
        "checks": [shape(found, check) for found in entry.findings],
        **shape(entry, "notes doubts short"),
        "join": None if entry.join is None else shape(entry.join, _JOIN),
        "question": None if entry.question is None else shape(entry.question),
        "error": entry.error or None,
    }


_SEAT = (
    "name=juror.name model=juror.model vendor=juror.vendor family=family.name "
    "base_url=juror.base_url weight=juror.weight share temperature=juror.temperature "
    "max_tokens=juror.max_tokens timeout=juror.timeout rpm=juror.rpm tpm=juror.tpm "
    "prompt_version=juror.prompt_version "
    "prompt_sha256=juror.prompt_sha256 key_variable"
)
_BREAKDOWN = "jurors tolerates breaks_at"
_COUNTS = ("text", "false_passes", "false_fails")
_FIGURES = (
    "report cases=done verdicts=done passed failed inconclusive no_decision errors failed_checks "
    "calls reused abstained_ballots=turnouts.abstained failed_ballots=turnouts.failed "
    "cost_usd=spent_usd"
)


def check(panel: Composition) -> dict[str, Any]:
    """Return ``panel check --json``, with a supermajority's share only for panels with such a rule.

    Samples, orders and the like are also present only if the panel sets them.
    """
    rule = panel.spec.rule
    is_supermajority = Strategy.SUPERMAJORITY in {panel.strategy, *rule.routes.values()}
    return {
        **shape(panel, "file name=spec.name hash rubric=spec.rubric"),
        "rule": {
            "strategy": panel.strategy,
            **shape(rule, "regime threshold quorum"),
            "trim": shape(rule, "fraction=trim rounding"),
            **shape(rule, "failed_jurors min_answered strategy_for=routes"),
            **(shape(rule, "supermajority") if is_supermajority else {}),
            **panel.spec.asking(),
        },
        "jurors": [
            shape(
                seat,
                _SEAT,
                **(seat_body(seat.juror).get("meta") or {}),
                key_set=None if (key := seat.key_variable) is None else key not in panel.missing,
            )
            for seat in panel.seats
        ],
        **shape(panel, "families"),
        "breakdown": {
            "trim": shape(panel.trim, _BREAKDOWN),
            "strategy": panel.by_strategy and shape(panel.by_strategy, _BREAKDOWN),
        },
        "cost": panel.cost
        and {
            "item_bytes": ITEM_BYTES,
            **shape(panel.cost, "worst_usd=worst typical_usd=typical bribe_usd=bribe"),
        },
        **shape(panel, "unpriced warnings missing_keys=missing malformed_keys=malformed"),
    }


def figures(found: BatchSummary) -> dict[str, Any]:
    """Return a finished run's figures; savings of stopping early only if a call was saved."""
    made = shape(found, _FIGURES, seconds=round(found.seconds, 3), rate=round(found.rate, 2))
    return made | (shape(found, "stopped_early calls_saved=spared") if found.spared else {})


def batch(found: BatchSummary) -> dict[str, Any]:
    """Return ``judge --json``: the figures, with the counts of each juror's ballots by status."""
    jurors = []
    for one in found.turnouts.by_juror.values():
        made = shape(one, "id=juror answered abstained failed why stopped")
        made |= {"not_asked": one.not_asked} if one.not_asked else {}
        differing, pairs = one.flips
        jurors.append(made | ({"flips": differing, "repeated_pairs": pairs} if pairs else {}))
    return {**figures(found), "jurors": jurors}


def pending(found: LiveProgress) -> dict[str, Any]:
    """Return ``judge --json`` while calls wait at vendors: counts of calls, and no report."""
    return {"report": None, **shape(found, "waiting fetched unsent")}


def improvement(labels: SplitLabels, offers: Mapping[str, int | None]) -> dict[str, Any]:
    """Return ``improve --json``; the holdout's only counts are its sizes."""
    return {
        "run": labels.run.name,
        **{name: len(getattr(labels, name)) for name in ("tuning", "holdout", "later")},
        **shape(labels, "not_blind=left_out smallest_gain=gain"),
        **shape(labels.cells, "right false_passes=fp false_fails=fn"),
        **{
            key: [dict(zip(_COUNTS, one, strict=True)) for one in labels.said(key)]
            for key in ("tags", "notes")
        },
        "wrong": [
            shape(one, "id decided_pass=passed should_pass tags notes") for one in labels.wrong
        ],
        "tries": [
            {"candidate": begun.file, "verdict": word}
            for begun, word in labels.split.tries.values()
        ],
        "changes": [
            {"change": change, "right": right, "of": 0 if right is None else len(labels.judged)}
            for change, right in offers.items()
        ],
        "adopted": [adopted(one) for one in labels.split.adopted],
    }


def adopted(found: PanelAdopted, **more: str) -> dict[str, Any]:
    """Return ``improve adopt --json``, and each row of ``adopted`` in ``improve --json``."""
    names = "at parent candidate split=seed tries verdict"
    figures = "before after gain low high level asked gained lost"
    return {**more, **shape(found, names), **shape(found.figures, figures)}
