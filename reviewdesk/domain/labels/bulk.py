"""Counts many labels of a run at once, as ``LiveFigures.apply`` counts them one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from reviewdesk.domain.labels.label_columns import Column, LabelColumns
from reviewdesk.domain.labels.marks import TRUTH, TRUTHS
from reviewdesk.domain.labels.rows import LabelledRow, RunFigures, chosen_source
from reviewdesk.domain.labels.run_counters import RunCounters
from reviewdesk.domain.labels.sampling import Overlay, Prefix, decided_strata
from reviewdesk.domain.labels.strip import BlindCounters, ContentRows, LiveFigures, StratumLabels
from reviewdesk.domain.stats.calibration import counters_of


def live_figures(
    figures: RunFigures, found: LabelColumns, source: str | None = None
) -> LiveFigures:
    """Return the figures of labelled verdicts, ready to follow single labels.

    A verdict is looked up in the columns when its label changes, or enters or leaves a prefix.
    """
    live = LiveFigures(figures, source)
    leads = found.contents.order[found.contents.bounds[:-1]]
    every = np.arange(len(leads))
    live.held = Overlay(_finder(found, found.key[leads], every))
    live.run = _run_counters(figures, chosen_source(figures, source), found, leads)
    live.alone_counters = _blind_counters(found)
    for h in np.unique(found.stratum).tolist():
        live.strata[h] = _stratum(live, found, leads, h)
    return live


def _finder(
    found: LabelColumns, wanted: Column, contents: Column
) -> Callable[[int], list[LabelledRow] | None]:
    """Return a look-up of verdicts: ``wanted`` are the ascending numbers of the ``contents``."""
    order, bounds = found.contents.order, found.contents.bounds

    def find(number: int) -> list[LabelledRow] | None:
        at = int(np.searchsorted(wanted, number))
        if at >= len(wanted) or wanted[at] != number:
            return None
        content = int(contents[at])
        return [found.row(int(place)) for place in order[bounds[content] : bounds[content + 1]]]

    return find


def _run_counters(
    figures: RunFigures, source: str, found: LabelColumns, leads: Column
) -> RunCounters:
    codes = np.bincount(found.mark[leads] & TRUTH, minlength=len(TRUTHS)).tolist()
    held = np.isin(found.stratum, decided_strata(figures.sizes, figures.decided))
    contents = len(leads)
    return RunCounters(
        figures,
        source,
        every=counters_of(found.rows(source, scores_stated=figures.scores_stated)),
        labelled=contents,
        usable=int(found.contents.any_of(found.decided & held).sum()),
        decided=int(found.contents.any_of(found.decided).sum()),
        no_verdict=contents - int(found.contents.any_of(found.judged).sum()),
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


def _stratum(live: LiveFigures, found: LabelColumns, leads: Column, stratum: int) -> StratumLabels:
    """Return one stratum's labels: the prefix is counted, and all are held by rank."""
    contents = np.flatnonzero((found.stratum[leads] == stratum) & found.seen[leads])
    contents = contents[np.argsort(found.rank[leads[contents]])]
    ranks = found.rank[leads[contents]].astype(np.int64)
    end = int(np.argmin(np.append(ranks, -1) == np.arange(len(ranks) + 1)))
    inside = np.zeros(len(leads), dtype=np.bool_)
    inside[contents[:end]] = True
    find = _finder(found, ranks, contents)

    def label(rank: int) -> tuple[bool, ContentRows] | None:
        verdicts = find(rank)
        return None if verdicts is None else live.label_in_stratum(verdicts)

    where = inside[found.contents.number]
    rows = found.rows(live.run.source, scores_stated=live.figures.scores_stated, where=where)
    return StratumLabels(
        Prefix(Overlay(label), end, len(ranks)),
        int((found.contents.any_of(found.counts) & inside).sum()),
        counters_of(rows),
    )
