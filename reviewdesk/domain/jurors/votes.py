"""Counts each juror's votes per stratum of the draw, from the columns of a whole run."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from statistics import NormalDist

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.jurors import facts
from reviewdesk.domain.jury.panels import PASS
from reviewdesk.domain.jury.scores import Scores
from reviewdesk.domain.labels.label_columns import LabelColumns
from reviewdesk.domain.labels.question import PANEL, QuestionItems
from reviewdesk.domain.labels.sampling import STRATA, TRUTH, TRUTHS, UNSEEN, LabelledRow
from reviewdesk.domain.records import Truth
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.run.packing import NOTHING, STRATEGIES
from reviewdesk.domain.stats.calibration import Clusters
from reviewdesk.domain.stats.correction import Cells, Z
from reviewdesk.domain.stats.dense import Bools, Column, Ints, Small, cases, counted
from reviewdesk.domain.stats.figures import Target
from reviewdesk.domain.stats.rates import Voted, stratified_rates
from reviewdesk.domain.values import Strategy

_CELL = np.array([2, 1, 3, 0])
"""The index into ``CELLS`` of two bits, vote then truth: tn, fn, fp, tp."""


class Labels(Struct, frozen=True):
    """People's labels of n verdicts, ``[n]`` in file order.

    ``truth`` is 1 for a pass, 0 for a fail, -1 for neither; ``counted`` marks those inside the
    completed prefix of their stratum. ``content`` and ``test`` number what was judged and its case.
    """

    stratum: Ints
    truth: Small
    counted: Bools
    content: Ints
    test: Ints

    @staticmethod
    def of(keys: Sequence[int], strata: Sequence[int], labelled: Sequence[LabelledRow]) -> "Labels":
        """Arrange labels over all ``keys`` and ``strata``, without those of unseen responses."""
        given = LabelColumns.of_rows(labelled)
        ends = {h: end for h, (end, _) in given.prefixes().items()}
        inside = given.rank < np.array([ends.get(h, 0) for h in range(len(STRATA))])[given.stratum]
        known = given.is_truth(Truth.PASS, Truth.FAIL) & (given.mark & UNSEEN == 0)
        rows = np.searchsorted(keys, given.key[known])
        truth, content, test = np.full((3, len(keys)), NOTHING)
        counted = np.zeros(len(keys), np.bool_)
        truth[rows] = given.is_truth(Truth.PASS)[known]
        counted[rows] = inside[known]
        content[rows] = given.contents[0][known]
        test[rows] = content[rows] if given.test is None else given.test[known]
        stratum = np.asarray(strata, np.int64)
        return Labels(stratum, truth.astype(np.int8), counted, content, test)


def votes_of(found: Columns) -> dict[str, Small]:
    """Return each juror's votes over the run by name, ``[n]``: 1 pass, 0 fail, -1 none."""
    return dict(zip(found.names, _by_juror(found, found.votes, NOTHING), strict=True))


def _by_juror(found: Columns, values: Column, missing: float) -> Column:
    """Return a column by seat ``[s, n]`` as one by juror ``[jurors, n]``."""
    made = np.full((len(found.names), len(found)), missing, values.dtype)
    for who, held in zip(found.juror, values, strict=True):
        for (juror,), rows in cases(who):
            if juror >= 0:
                made[juror, rows] = held[rows]
    return made


def first_seats(found: Columns) -> dict[str, tuple[int, int]]:
    """Return, by name, the key of the first verdict on which each juror sits, and its seat."""
    rows, seats = np.nonzero(found.juror.T >= 0)
    who, first = np.unique(found.juror[seats, rows], return_index=True)
    return {
        found.names[juror]: (int(found.key[rows[at]]), int(seats[at]))
        for juror, at in zip(who, first, strict=True)
    }


def panel_votes(found: Columns) -> Small:
    """Return the panel's decisions as votes, ``[n]``: 1 for a pass, 0 for a fail, else -1."""
    # The codes of a pass and of a fail are those of the votes.
    return np.where(found.decision <= PASS, found.decision, np.int8(NOTHING))


def question_items(
    found: Columns, places: Sequence[tuple[int, int]], of: Sequence[str]
) -> QuestionItems:
    """Return the contents of a run on which a juror voted, or on which two raters differ.

    ``places`` are the stratum and the rank of each verdict; the first on a content stands for it. A
    vote is as likely right as the share of the panel's votes that are alike, from .05 to .95.
    """
    votes = votes_of(found) | {PANEL: panel_votes(found)}
    if not votes.keys() >= set(of):
        return QuestionItems({}, 0, {})
    one = votes[of[0]]
    other = votes[of[-1]]
    stratum, rank = np.asarray(places, np.int64).reshape(-1, 2).T
    # The first verdict of each place, by stratum and rank.
    _, rows = np.unique((stratum << 40) + rank, return_index=True)
    rows = rows[(one[rows] >= 0) & (other[rows] >= 0)]
    items = len(rows)
    if len(of) > 1:
        rows = rows[one[rows] != other[rows]]
    alike = (found.votes[:, rows] == one[rows]).sum(axis=0)
    answered = (found.votes[:, rows] >= 0).sum(axis=0)
    sure = np.clip(alike / np.maximum(answered, 1), 0.05, 0.95)
    strata = {int(h): stratum[rows] == h for h in np.unique(stratum[rows])}
    return QuestionItems(
        {
            h: dict(zip(rank[rows[mine]].tolist(), (one[rows[mine]] == 1).tolist(), strict=True))
            for h, mine in strata.items()
        },
        items,
        {h: round(float(sure[mine].mean()), 6) for h, mine in strata.items()},
    )


def voted(votes: Small, labels: Labels) -> tuple[list[Voted], Clusters | None]:
    """Count a rater's votes by stratum, and gather its labels that count by content and case."""
    strata = len(STRATA)
    cast = votes >= 0
    known = cast & (labels.truth >= 0)
    sides = np.bincount(2 * labels.stratum[cast] + votes[cast], minlength=2 * strata)
    sides = sides.reshape(-1, 2)
    sizes = sides.sum(axis=1)
    whole = np.bincount(labels.stratum[known], minlength=strata) == sizes
    kept = known & (labels.counted | whole[labels.stratum])
    stratum = labels.stratum[kept]
    weight = (sizes / np.maximum(np.bincount(stratum, minlength=strata), 1))[stratum]
    cell = _CELL[2 * votes[kept] + labels.truth[kept]]
    groups = Clusters.of(stratum, labels.content[kept], labels.test[kept], weight, cell)
    cells = []
    for rows in (kept, known):
        code = 4 * labels.stratum[rows] + _CELL[2 * votes[rows] + labels.truth[rows]]
        _, place, times = np.unique(labels.content[rows], return_inverse=True, return_counts=True)
        # Of all labels, each is divided among the votes on it.
        share = 1 / times[place] if rows is known and len(times) < len(code) else None
        counts = np.bincount(code, share, minlength=4 * strata).reshape(-1, 4).tolist()
        cells.append([Cells(*row) for row in counts])
    made = []
    for h, (fails, passes) in enumerate(sides.tolist()):
        spread = None
        if groups is not None and groups.repeated:
            spread = groups.of_stratum(h, fails + passes)[1]
        made.append(Voted(h, passes, fails, cells[0][h], cells[1][h], spread))
    return made, groups


def compare(
    to: str, one: Small, two: Small, labels: Labels, z: float = Z, target: Target = Target.RUN
) -> facts.Difference:
    """Compare the accuracy of two raters, paired on the verdicts that both decided."""
    both = (one >= 0) & (two >= 0)
    apart = both & (one != two)
    size = np.bincount(labels.stratum, minlength=len(STRATA))
    seen = np.bincount(labels.stratum[labels.counted], minlength=len(STRATA))
    cells = []
    for h in np.unique(labels.stratum[apart]).tolist():
        mine = apart & (labels.stratum == h)
        known = mine & (labels.truth >= 0)
        if known.sum() < mine.sum():
            known = mine & labels.counted
        right = (one == labels.truth)[known]
        rows = len(right)
        # Labels as contents.
        _, times = np.unique(labels.content[known], return_counts=True)
        m = len(times)
        count = int(mine.sum())
        cell = facts.Apart(h, count, m, int(right.sum()), float(seen[h] / size[h]))
        if m < rows:
            worth = rows**2 / float((times**2).sum())
            hits = float(right.mean()) * m
            cell = replace(cell, right=hits, contents=count * m / rows, worth=worth)
        cells.append(cell)
    return facts.paired(to, int(both.sum()), cells, z, target)


def lone_dissents(found: Columns, stated: Mapping[int, AbstractSet[int]]) -> dict[str, Bools]:
    """Mark, by name, where each juror dissents alone, or is trimmed and dissents: ``[n]``."""
    marked = lone(dissents(found), trimmed(found, stated))
    return {name: ((found.juror == j) & marked).any(axis=0) for j, name in enumerate(found.names)}


def lone(against: Bools, gone: Bools) -> Bools:
    """Mark the dissents that are alone, or of a trimmed juror: ``[s, n]``."""
    return against & (np.equal(counted(against), 1) | gone)


def trimmed(found: Columns, stated: Mapping[int, AbstractSet[int]]) -> Bools:
    """Mark the trimmed seats with an answer: those ``stated`` by row, else those of our rule."""
    scores = Scores(found.scores, found.weights)
    low, high = scores.ends(scores.cuts(found.fraction, found.rounding))
    ours = (NOTHING, STRATEGIES.index(Strategy.TRIMMED_MEAN))
    gone = (low | high) & np.isin(found.strategy, ours)
    for row, seats in stated.items():
        gone[:, row] = np.isin(np.arange(len(gone)), list(seats))
    answered: Bools = (found.votes >= 0) | ~np.isnan(found.scores)
    return gone & answered


def dissents(found: Columns) -> Bools:
    made = panel_votes(found)
    return (made >= 0) & (found.votes >= 0) & np.not_equal(found.votes, made)


def juror_rates(
    found: Columns, labels: Labels, lone: Mapping[str, Bools]
) -> tuple[dict[str, facts.JurorRates], facts.Contest]:
    """Return the figures of every juror through the draw, and the panel's contest with them."""
    votes = votes_of(found)
    panel = panel_votes(found)
    made = {}
    shares = {}
    for name, cast in votes.items():
        mine, groups = voted(cast, labels)
        alone, of_alone = voted(np.where(lone[name], cast, np.int8(NOTHING)), labels)
        word = facts.design(mine)
        run = stratified_rates(mine, clusters=groups)
        made[name] = facts.JurorRates(
            design=word,
            run=run,
            such=stratified_rates(mine, Target.ITEMS, groups),
            weighing=facts.quoted_kappa(mine),
            dissent=stratified_rates(alone, clusters=of_alone).accuracy,
            dissent_design=facts.design(alone),
            difference=compare(PANEL, cast, panel, labels) if len(votes) > 1 else None,
        )
        cells = facts.confusion(mine)
        share = cells.right / cells.n if cells.n else None
        # Through the draw, if the labels represent the run.
        share = run.accuracy.estimate if word.stands else share
        if share is not None:
            shares[name] = share
    if len(shares) < 2:
        return made, facts.Contest()
    best = max(shares, key=shares.__getitem__)
    voting = {name: cast for name, cast in votes.items() if (cast >= 0).any()}
    z = NormalDist().inv_cdf(1 - 0.025 / (len(voting) - 1))

    def beaten(cast: Small) -> bool:
        return compare("", votes[best], cast, labels, z, Target.ITEMS).low > 0

    return made, facts.Contest(
        best=best,
        panel=compare(best, panel, votes[best], labels),
        beats_every=all(compare("", panel, cast, labels).low > 0 for cast in voting.values()),
        best_beats_panel=beaten(panel),
        best_stands=all(beaten(cast) for name, cast in voting.items() if name != best),
    )


def labelled_columns(found: Columns, marks: bytearray) -> tuple[Columns, Bools]:
    """Return the verdicts with a pass or fail label, by the bytes of all, and which is a pass."""
    truth = np.frombuffer(marks, np.uint8) & TRUTH
    codes = [TRUTHS.index(one) for one in (Truth.PASS, Truth.FAIL)]
    rows = np.flatnonzero(np.isin(truth, codes)).astype(np.int32)
    return found.at(rows), truth[rows] == codes[0]


def juror_counts(
    found: Columns, deserved: Bools, stated: Mapping[int, AbstractSet[int]]
) -> tuple[facts.JurorCounts, ...]:
    """Return each juror's counts over labelled verdicts, of which ``deserved`` marks the passes."""
    cast = found.votes >= 0
    vote = found.votes == 1
    against = dissents(found)
    gone = trimmed(found, stated)
    seated = found.juror >= 0
    alone = lone(against, gone)
    right = cast & (vote == deserved)
    silent = seated & ~cast
    marks = {
        "tp": cast & vote & deserved,
        "fn": cast & ~vote & deserved,
        "tn": cast & ~vote & ~deserved,
        "fp": cast & vote & ~deserved,
        "abstained": silent & ~(found.failed | found.not_asked | found.unknown),
        "failed": silent & found.failed,
        "trimmed": gone,
        "dissents": against,
        "dissents_right": against & right,
        "lone_dissents": alone,
        "lone_right": alone & right,
    }
    first = np.full(len(found.names), len(seated))
    np.minimum.at(first, found.juror[seated], np.nonzero(seated)[0])
    counts = [np.bincount(found.juror[where], minlength=len(first)) for where in marks.values()]
    made = [
        facts.JurorCounts(name=name, seat=seat, **dict(zip(marks, figures, strict=True)))
        for name, seat, *figures in zip(
            found.names, first.tolist(), *(one.tolist() for one in counts), strict=True
        )
        if seat < len(seated)
    ]
    return tuple(sorted(made, key=lambda one: (one.seat, one.name)))


def pairs(columns: Columns) -> tuple[facts.JurorPair, ...]:
    """Return the 500 pairs of jurors that voted together most, most first."""
    votes = _by_juror(columns, columns.votes, NOTHING)
    scores = _by_juror(columns, columns.scores, np.nan)
    sat = (_by_juror(columns, columns.juror, -1) >= 0).astype(np.float32)
    middle = (len(columns) + 1) // 2
    halves = []
    for half in (votes[:, :middle], votes[:, middle:]):
        cast, passed, failed = (one.astype(np.float32) for one in (half >= 0, half == 1, half == 0))
        alike = passed @ passed.T + failed @ failed.T
        halves.append(
            np.array([cast @ cast.T, alike, passed @ cast.T, cast @ passed.T]).astype(int)
        )
    both = halves[0] + halves[1]
    one, two = np.nonzero(np.triu(sat @ sat.T, 1))
    made = []
    for place in np.lexsort((two, one, -both[0, one, two]))[:500].tolist():
        i = int(one[place])
        j = int(two[place])
        scored = int((~np.isnan(scores[i] + scores[j])).sum())
        equal = int((scores[i] == scores[j]).sum())
        every, first, second = (
            facts.Alike(*counts[:, i, j].tolist()) for counts in (both, *halves)
        )
        names = columns.names[i], columns.names[j]
        made.append(facts.JurorPair(*names, every, (first, second), scored, equal))
    return tuple(made)
