"""How far the people who labelled a run agree, how each of them works, and where they differ."""

import copy
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.protocol import OpenFile
from reviewdesk.desk.review.edits import Edit
from reviewdesk.desk.review.items import PaceReader
from reviewdesk.desk.review.repeats import WorkLog
from reviewdesk.desk.team.claims import double_share, labelled
from reviewdesk.domain.labels.sampling import LabelledRow, RunFigures, decided_strata
from reviewdesk.domain.labels.team import (
    Disagreement,
    Labels,
    Opinion,
    RatedStratum,
    ReviewerError,
    TeamMember,
    TeamPage,
    alternative_test,
    is_double,
    rater_agreement,
    second_opinions,
    self_agreement,
)
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import UsageError
from reviewdesk.store import figures, reviewers, verdicts
from reviewdesk.store.connect import reading

_Given = dict[int, dict[str, str | None]]
"""The label of each person by verdict, as it was before the others' could be seen."""


def team_page(desk: Desk, run: Run) -> TeamPage:
    with reading(desk.conn):
        rows = labelled(desk, run)
        totals = figures.run_figures(desk.conn, run.key)
        given = _given(desk, run)
        by_item = {row.item: given[row.key] for row in rows}.values()
        count = Counter(name for said in by_item for name in said)
        names = sorted({*count, *reviewers.reviewers(desk.conn, run.hash)})
        members = []
        for name in names:
            other = copy.copy(desk)
            other.reviewer = name
            log = WorkLog(other, run)
            log.read()
            agreement = self_agreement(log.pairs())
            members.append(TeamMember(name, count[name], PaceReader().pace(other, run), agreement))
        strata, drawn = _strata(rows, totals, given, names)
        first = {row.item: row for row in reversed(rows)}.values()
        return TeamPage(
            tuple(members),
            rater_agreement(strata, names),
            items=sum(len(said) > 1 for said in by_item),
            drawn=drawn,
            disputed=sum(row.truth is Truth.DISPUTED for row in rows),
            adjudicated=reviewers.adjudicated(desk.conn, run.key),
            error=_error(desk, rows, totals, given, names),
            alternative=alternative_test(
                [[given[row.key].get(name) for name in names] for row in first],
                [row.decision for row in first],
                names,
            ),
        )


def _given(desk: Desk, run: Run) -> _Given:
    given: _Given = {}
    for verdict, author, label in reviewers.author_labels(desk.conn, run.key):
        given.setdefault(verdict, {})[author] = label
    return given


def people_err(desk: Desk, run: Run) -> ReviewerError | None:
    """Return how often people err in the labels of a run; ``None`` if one person gave them all."""
    given = _given(desk, run)
    names = sorted({name for said in given.values() for name in said})
    if len(names) < 2:
        return None
    totals = figures.run_figures(desk.conn, run.key)
    return _error(desk, labelled(desk, run), totals, given, names)


def _error(
    desk: Desk, rows: Sequence[LabelledRow], totals: RunFigures, given: _Given, names: Sequence[str]
) -> ReviewerError:
    """Estimate how often people err, from the items that the desk chose, or else from all."""
    share = double_share(desk)
    strata, _ = _strata(rows, totals, given, names, share)
    chosen = not share and any(len(given[row.key]) < 2 for row in rows)
    return replace(second_opinions(strata), chosen=chosen)


def _strata(
    rows: Sequence[LabelledRow],
    totals: RunFigures,
    given: _Given,
    names: Sequence[str],
    share: float = 0.0,
) -> tuple[list[RatedStratum], bool]:
    """Return the items by stratum if their labels were drawn; else all of them as one stratum.

    A ``share`` keeps the items that the desk chose for a second opinion, up to the first of each
    stratum that lacks one: whoever picks among them would decide how far people seem to differ.
    """
    # Imported here because it loads numpy.
    from reviewdesk.domain.labels.label_columns import LabelColumns

    weighing = LabelColumns.of_rows(rows).weigh(totals.sizes, totals.decided)
    held: dict[int, dict[bytes, Labels]] = {
        h: {} for h in decided_strata(totals.sizes, totals.decided)
    }
    every: dict[bytes, Labels] = {}
    pairs = zip(rows, weighing.drawn.tolist(), strict=True)
    lacking = set[int]()
    for row, inside in sorted(pairs, key=lambda pair: pair[0].unit) if share else pairs:
        if share:
            if not is_double(row.item, share):
                continue
            if len(given[row.key]) < 2:
                lacking.add(row.stratum)
            if not inside or row.stratum in lacking:
                continue
        found = every[row.item] = tuple(given[row.key].get(name) for name in names)
        if inside and row.stratum in held:
            held[row.stratum][row.item] = found
    strata = [RatedStratum(Counter(held[h].values()), totals.sizes[h]) for h in held]
    if strata and all(one.of().n for one in strata):
        return strata, True
    return [RatedStratum(Counter(every.values()))], False


def disagreements(desk: Desk, run: Run) -> list[Disagreement]:
    """Return the verdicts on whose items people differ, those that are not settled first."""
    found = []
    with reading(desk.conn):
        waiting = desk.apart.waiting(run)
        for key in reviewers.disputed(desk.conn, run.key):
            if key in waiting:
                continue
            row = verdicts.by_key(desk.conn, key)
            said = verdicts.of_item(desk.conn, row["item"])
            settled = [_opinion(one) for one in said if one["adjudicated"]]
            found.append(
                Disagreement(
                    key,
                    row["id"],
                    row["item"].hex(),
                    Decision(row["decision"]) if row["decision"] else None,
                    row["score"],
                    tuple(_opinion(one) for one in said if not one["adjudicated"]),
                    settled[0] if settled else None,
                )
            )
    return sorted(found, key=lambda one: one.adjudication is not None)


def _opinion(label: Mapping[str, Any]) -> Opinion:
    return Opinion(
        label["author"],
        Truth(label["label"]),
        json.loads(label["detail"]).get("at") or label["at"],
        label["note"],
    )


def adjudication(desk: OpenFile, key: int, truth: Truth, note: str | None = None) -> Edit:
    """Return the edit that makes ``truth`` an item's truth; UsageError if its labels agree."""
    said = opinions(desk, key)
    if len(set(said.values())) < 2:
        held = "its labels are all the same" if said else "it has no label"
        raise UsageError(
            f"there is nothing to adjudicate: {held}", "Give it a label of your own instead."
        )
    return Edit("adjudicate", key, {} if note is None else {"note": note}, truth)


def opinions(desk: OpenFile, key: int) -> dict[str, Truth]:
    said = verdicts.of_item(desk.conn, verdicts.by_key(desk.conn, key)["item"])
    return {one["author"]: Truth(one["label"]) for one in said if not one["adjudicated"]}
