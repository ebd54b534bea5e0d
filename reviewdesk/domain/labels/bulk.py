"""Counts many labels of a run at once, as ``LiveFigures.apply`` counts them one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.labels.label_columns import LabelColumns
from reviewdesk.domain.labels.marks import TRUTH, TRUTHS
from reviewdesk.domain.labels.rows import LabelledRow, RunFigures, chosen_source
from reviewdesk.domain.labels.run_counters import RunCounters
from reviewdesk.domain.labels.sampling import Overlay, Prefix
from reviewdesk.domain.labels.strip import BlindCounters, LiveFigures, StratumLabels
from reviewdesk.domain.stats.calibration import counters_of
from reviewdesk.domain.stats.counters import CalibrationRow


def live_figures(
    figures: RunFigures, found: LabelColumns, source: str | None = None
) -> LiveFigures:
    """Return the figures of labelled verdicts, ready to follow single labels.

    A verdict is looked up in the columns when its label changes, or enters or leaves a prefix.
    """
    live = LiveFigures(figures, source)
    live.held = Overlay(_finder(found, found.key, np.arange(len(found))))
    live.run = _run_counters(figures, chosen_source(figures, source), found)
    live.alone_counters = _blind_counters(found)
    live.strata = {int(h): _stratum(live, found, int(h)) for h in np.unique(found.stratum)}
    return live


def _finder(
    found: LabelColumns, wanted: npt.NDArray[np.int64], places: npt.NDArray[np.int64]
) -> Callable[[int], LabelledRow | None]:
    """Return a look-up of rows: ``wanted`` are the ascending numbers of the entries ``places``."""

    def find(number: int) -> LabelledRow | None:
        at = int(np.searchsorted(wanted, number))
        return found.row(int(places[at])) if at < len(wanted) and wanted[at] == number else None

    return find


def _run_counters(figures: RunFigures, source: str, found: LabelColumns) -> RunCounters:
    codes = np.bincount(found.mark & TRUTH, minlength=len(TRUTHS)).tolist()
    return RunCounters(
        figures,
        source,
        every=counters_of(found.rows(source, scores_stated=figures.scores_stated)),
        labelled=len(found),
        usable=int(found.usable.sum()),
        decided=int(found.decided.sum()),
        no_verdict=int((~found.judged).sum()),
        truths=Counter({truth: n for truth, n in zip(TRUTHS, codes, strict=True) if truth and n}),
    )


def _blind_counters(found: LabelColumns) -> BlindCounters:
    made, judged = BlindCounters(), found.judged
    made.stated = int((~np.isnan(found.stated_score)).sum())
    for stated, score in ((True, found.stated_score), (False, found.score)):
        made.scoreless[stated] = int((judged & np.isnan(score)).sum())
    for source, stated in made.counters:
        rows = found.rows(source, scores_stated=stated)
        made.counters[source, stated] = counters_of(rows)
    return made


def _stratum(live: LiveFigures, found: LabelColumns, stratum: int) -> StratumLabels:
    """Return one stratum's labels: the prefix is counted, and all are held by rank."""
    places = np.flatnonzero((found.stratum == stratum) & found.seen)
    places = places[np.argsort(found.rank[places])]
    ranks = found.rank[places].astype(np.int64)
    end = int(np.argmin(np.append(ranks, -1) == np.arange(len(ranks) + 1)))
    inside = np.zeros(len(found), dtype=np.bool_)
    inside[places[:end]] = True
    find = _finder(found, ranks, places)

    def label(rank: int) -> tuple[bool, CalibrationRow | None] | None:
        row = find(rank)
        return None if row is None else live.label_in_stratum(row)

    rows = found.rows(live.run.source, scores_stated=live.figures.scores_stated, where=inside)
    return StratumLabels(
        Prefix(Overlay(label), end),
        int((found.counts & inside).sum()),
        counters_of(rows),
    )
