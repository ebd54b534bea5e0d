"""Computes the strip's figures from the columns of a run's labels, anew after each label."""

from __future__ import annotations

from collections import Counter

import numpy as np

from reviewdesk.domain.labels.label_columns import Column, LabelColumns
from reviewdesk.domain.labels.marks import TRUTH, TRUTHS
from reviewdesk.domain.labels.rows import RunFigures, chosen_source
from reviewdesk.domain.labels.run_counters import RunCounters
from reviewdesk.domain.labels.sampling import decided_strata, gaps
from reviewdesk.domain.records import Calibration, Metrics
from reviewdesk.domain.stats.calibration import counters_of
from reviewdesk.domain.stats.counters import Counters


def strip_lines(figures: RunFigures, found: LabelColumns, source: str | None = None) -> Calibration:
    """Return both lines of the strip: the labels alone, and the population if it stands.

    They equal ``summary.summarise`` of the same verdicts: words and counts exactly, floats to
    1e-12. ``source`` replaces the run's own confidence mapping.
    """
    used = chosen_source(figures, source)
    leads = found.contents.order[found.contents.bounds[:-1]]
    ends: dict[int, tuple[int, int]] = {}
    counted: dict[int, int] = {}
    inside: dict[int, Counters] = {}
    for h in np.unique(found.stratum).tolist():
        contents = np.flatnonzero((found.stratum[leads] == h) & found.seen[leads])
        ranks = np.sort(found.rank[leads[contents]].astype(np.int64))
        end = int(np.argmin(np.append(ranks, -1) == np.arange(len(ranks) + 1)))
        ends[h] = end, len(ranks)
        held = np.zeros(len(leads), dtype=np.bool_)
        held[contents[found.rank[leads[contents]] < end]] = True
        if count := int((found.contents.any_of(found.counts) & held).sum()):
            counted[h] = count
            where = held[found.contents.number]
            rows = found.rows(used, scores_stated=figures.scores_stated, where=where)
            inside[h] = counters_of(rows)
    return _counters(figures, used, found, leads).calibration(
        counted,
        lambda: Counters.blend((inside[h], figures.sizes[h] / n) for h, n in counted.items()),
        gaps(ends),
    )


def _counters(figures: RunFigures, source: str, found: LabelColumns, leads: Column) -> RunCounters:
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


def labelled_alone(found: LabelColumns) -> Metrics:
    """Return the figures for a blind session, which depend on the labelled verdicts alone.

    They equal those of ``summary.alone``.
    """
    stated = bool((~np.isnan(found.stated_score)).any())
    score = found.stated_score if stated else found.score
    scoreless = bool((found.judged & np.isnan(score)).any())
    source, by_stated = ("vote_share", False) if scoreless else ("support", stated)
    return counters_of(found.rows(source, scores_stated=by_stated)).metrics()
