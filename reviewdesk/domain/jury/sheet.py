"""Read canonical verdicts as columns: their ballots and the claims of their reports."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec import UNSET, Struct, UnsetType, to_builtins
from msgspec.structs import replace

from reviewdesk.domain.jury.family import family
from reviewdesk.domain.jury.label_rules import LabelBallots, Words
from reviewdesk.domain.jury.rules import Rule, rule_for
from reviewdesk.domain.jury.scores import BANDS
from reviewdesk.domain.report_model import JurorModel, TrimModel, VerdictModel
from reviewdesk.domain.run.columns import Columns, by_seat, columns_of
from reviewdesk.domain.run.packing import (
    DECISIONS,
    FAILED,
    NOTHING,
    REPLACED,
    ROUNDINGS,
    STATUS_CODES,
    STRATEGIES,
)
from reviewdesk.domain.stats.dense import Bools, Column, Floats, Ints
from reviewdesk.domain.values import LABEL_FACTS, LabelRules, Strategy
from reviewdesk.domain.verdict import (
    DEFAULT_TRIM_FRACTION,
    SLACK,
    CanonicalVerdict,
    Generator,
    Policy,
    StatedTrim,
    Verdict,
    number,
    own_facts,
    read_ballot,
    read_trim,
)

_OWN_FACTS = ("failed_jurors", "supermajority", "min_answered", *LABEL_FACTS)
_MOST = 1000
"""The number of policies that are cached."""


class PolicyFacts(Struct, frozen=True):
    """One policy of a run: the rule that applies where no juror failed, and what is unknown."""

    policy: Policy
    regime: str | None
    rule: Rule
    set_by_you: frozenset[str]

    @property
    def rules(self) -> LabelRules:
        return replace(self.policy.counting or LabelRules(), share=self.policy.supermajority)

    @property
    def declares(self) -> bool:
        return self.policy.counting is not None and bool(self.policy.counting.labels)

    @staticmethod
    def of(verdict: Verdict) -> "PolicyFacts":
        rule = rule_for(verdict.policy, (), verdict.regime)
        return PolicyFacts(verdict.policy, verdict.regime, rule, frozenset(verdict.set_by_you))


class Policies:
    """Reads each policy of a run's verdicts once."""

    def __init__(self, read: Callable[[CanonicalVerdict], Verdict]) -> None:
        """Keep the function that builds the run's verdicts from bodies."""
        self._read = read
        self._known: dict[tuple[Any, ...], PolicyFacts] = {}

    def of(self, verdicts: Sequence[VerdictModel]) -> tuple[list[PolicyFacts], Ints]:
        """Return the policies of verdicts, and the place of each verdict's policy among them."""
        if len(self._known) > _MOST:
            self._known.clear()
        keys = [
            (one.threshold, one.quorum, one.strategy, one.regime, _own(one.meta))
            for one in verdicts
        ]
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        for key in places:
            if key not in self._known:
                threshold, quorum, strategy, regime, own = key
                bare: Any = {
                    "id": "", "case": {"test": ""}, "jurors": [], "threshold": threshold,
                    "quorum": quorum, "strategy": strategy, "regime": regime,
                    "meta": {"reviewdesk": json.loads(own or "{}")},
                }  # fmt: skip
                self._known[key] = PolicyFacts.of(self._read(bare))
        facts = [self._known[key] for key in places]
        return facts, np.array([places[key] for key in keys], np.int64)


def _own(meta: dict[str, Any] | UnsetType) -> str | None:
    """Return, as JSON, the rule of a verdict that one of our own reports states."""
    own = own_facts({"meta": meta}) if meta else {}
    return json.dumps({fact: own[fact] for fact in _OWN_FACTS if fact in own}) if own else None


class Claims(Struct, frozen=True):
    """The stated values, ``[n]``; a missing code is -1, a missing value NaN."""

    decision: Ints
    score: Floats
    agreement: Bools
    """Whether an agreement is stated, even if its ``value`` is null."""
    value: Floats
    metric: Column
    band: Ints
    escalate: Ints
    """1, 0, or -1, as in ``same_family``."""
    same_family: Ints
    label: Ints
    """The number of the consensus label; that of the empty text if no label is stated."""
    named: Bools
    """Whether the trim names the jurors that it leaves out."""
    low: Bools
    """The seats, ``[s, n]``, that the trim names at the lower end."""
    high: Bools
    trim: Bools
    """Whether a trim is stated by a rule that can be checked."""
    listed: Ints
    """How many jurors the trim names at the lower and at the upper end, ``[2, n]``."""
    per_side: Floats
    """How many scores the trim leaves out at each end."""
    degraded: Bools


class Sheet(Struct, frozen=True):
    """The ballots and the claims of n verdicts of at most s seats, in file order."""

    verdicts: list[VerdictModel]
    facts: tuple[PolicyFacts, ...]
    place: Ints
    """The place of each verdict's policy among ``facts``."""
    columns: Columns
    labels: LabelBallots
    claims: Claims
    contradicts: Bools
    """The seats, ``[s, n]``, whose stated pass differs from the vote of their score."""
    unscaled: Bools
    """The seats that gave only a raw number of unknown scale."""
    worded: Bools
    """The seats that answered with any text as their label."""
    shared: Ints
    """Whether a juror shares the generator's family, by the models: 1, 0, or -1 if unknown."""
    flat: Mapping[str, Column]
    """The columns of ``packing.PER_SEAT``."""

    def __len__(self) -> int:
        return len(self.place)

    def of_policy(self, values: Sequence[Any], kind: Any = np.bool_) -> Column:
        return np.array(values, kind)[self.place]

    @property
    def usable(self) -> Bools:
        """The seats, ``[s, n]``, that answered."""
        seated: Bools = self.columns.juror != NOTHING
        return seated & ~self.columns.missing & ~self.columns.not_asked


def read_sheet(
    verdicts: list[VerdictModel],
    facts: Sequence[PolicyFacts],
    place: Ints,
    generator: Generator,
    seats: Sequence[Sequence[int]] | None = None,
) -> Sheet:
    """Read verdicts under the policies at ``place``, with the header's generator."""
    seated = np.array([len(one.jurors) for one in verdicts], np.int64)
    jurors = list(chain.from_iterable([one.jurors for one in verdicts]))
    words = Words()
    words.code("")
    flat = _ballots(jurors, facts, np.repeat(place, seated), words)
    numbers = range(len(jurors)) if seats is None else chain.from_iterable(seats)
    flat["juror"] = np.fromiter(numbers, np.int32, len(jurors))
    marked = any(one.trimmed for one in jurors)
    trims = {
        at: model_trim(one)
        for at, one in enumerate(verdicts)
        if one.trim or (marked and any(juror.trimmed for juror in one.jurors))
    }
    policies = [one.policy for one in facts]
    asked = [one.rule.strategy for one in facts]
    codes = [NOTHING if one is None else STRATEGIES.index(one) for one in asked]
    n = len(place)
    bars = [(one.quorum, one.supermajority, one.min_answered) for one in policies]
    # Policies that differ in other values share a bar.
    numbers_of = {bar: number for number, bar in enumerate(dict.fromkeys(bars))}
    flat |= {
        "seated": seated,
        "threshold": np.array([number(one.threshold) for one in policies], np.float64)[place],
        "quorum": np.array([numbers_of[bar] for bar in bars], np.int64)[place],
        "strategy": np.array(codes, np.int8)[place],
        "fraction": np.nan_to_num(
            _floats([one.trim_fraction for one in policies]), nan=DEFAULT_TRIM_FRACTION
        )[place],
        "rounding": np.zeros(n, np.int8),
        "decision": np.full(n, NOTHING, np.int8),
        "score": np.full(n, np.nan),
    }
    for at, trim in trims.items():
        flat["fraction"][at] = trim.fraction_under(policies[place[at]])
        flat["rounding"][at] = ROUNDINGS.index(trim.rounding) if trim.rounding else 0
    columns = columns_of(flat, range(n), list(numbers_of))
    sure, weights = (by_seat(flat[name], seated, np.nan) for name in ("sure", "weights"))
    return Sheet(
        verdicts=verdicts,
        facts=tuple(facts),
        place=place,
        columns=columns,
        labels=LabelBallots(words, by_seat(flat["label"], seated, NOTHING), sure, weights),
        claims=_claims(verdicts, words, trims, columns.scores.shape),
        shared=_kin(verdicts, seated, generator),
        flat=flat,
        **{
            name: by_seat(flat[name], seated, False)
            for name in ("contradicts", "unscaled", "worded")
        },
    )


def model_trim(verdict: VerdictModel) -> StatedTrim:
    marks = [(one.id, one.trimmed) for one in verdict.jurors]
    return read_trim(to_builtins(verdict.trim) if verdict.trim else {}, marks)


_ANSWER = attrgetter("status", "score", "pass_", "label", "raw_score")
_VOTES = {True: 1, False: 0, None: NOTHING, UNSET: NOTHING}


def _ballots(
    jurors: list[JurorModel], facts: Sequence[PolicyFacts], place: Ints, words: Words
) -> dict[str, Column]:
    scores = _floats([one.score for one in jurors])
    given = np.array([_VOTES[one.pass_] for one in jurors], np.int8)
    stated = np.array([one.pass_ is not UNSET for one in jurors], np.bool_)
    limit = np.array([number(one.policy.threshold) for one in facts], np.float64)[place]
    derived = (scores >= limit - SLACK).astype(np.int8)
    derived[np.isnan(scores) | np.isnan(limit)] = NOTHING
    votes = np.where(stated, given, derived)
    withheld = stated & (given == NOTHING)
    labels = [one.label for one in jurors]
    failed = np.zeros(len(jurors), np.int8)
    unscaled = np.zeros(len(jurors), np.bool_)
    # Most ballots have an answer and no status; the others are read one by one.
    alone = np.array(
        [one.status not in {None, "ok"} or one.error is not None for one in jurors], np.bool_
    )
    alone |= (given == NOTHING) & np.isnan(scores)
    alone |= np.array([one.declares for one in facts], np.bool_)[place]
    rows = np.flatnonzero(alone)
    casts = [jurors[at] for at in rows.tolist()]
    # All that the result below depends on; most such ballots are alike.
    failures = [one.error is not None for one in casts]
    keys = list(zip(map(_ANSWER, casts), failures, place[rows].tolist(), strict=True))
    known = dict(zip(keys, casts, strict=True))
    read = [read_ballot(0, to_builtins(one), facts[key[-1]].policy) for key, one in known.items()]
    kinds = {key: kind for kind, key in enumerate(known)}
    which = np.array([kinds[key] for key in keys], np.int64)
    for column, values in (
        (failed, [STATUS_CODES.get(one.status, FAILED) for one in read]),
        (scores, [one.score for one in read]),
        (votes, [_VOTES[one.vote] for one in read]),
        (withheld, [one.usable and one.withheld for one in read]),
        (unscaled, [one.unscaled for one in read]),
    ):
        column[rows] = np.array(values, column.dtype)[which]
    spoken = [one.label if one.usable else None for one in read]
    for at, kind in zip(rows.tolist(), which.tolist(), strict=True):
        labels[at] = spoken[kind]
    sure = _floats([one.confidence for one in jurors])
    sure[~((sure >= 0) & (sure <= 1))] = np.nan
    codes: dict[str | None, int] = {
        word: words.counted(word) for word in dict.fromkeys(labels) if word
    }
    label = np.array([codes.get(word, NOTHING) for word in labels], np.int64)
    worded = np.array([word in codes for word in labels], np.bool_)
    line = np.full(len(jurors), np.nan)
    if any(one.meta for one in jurors):
        metas = [one.meta or {} for one in jurors]
        line = np.array([number(one.get("threshold")) for one in metas], np.float64)
    extreme = np.isnan(limit) & ((scores == 0) | (scores == 1))
    plain = np.where(extreme, scores == 1, derived)
    plain = np.where(np.isnan(line), plain, scores >= line - SLACK)
    compared = (given != NOTHING) & ~np.isnan(scores) & (plain != NOTHING)
    stands_in = [one.policy.failed_jurors is Strategy.MEDIAN for one in facts]
    failed[np.array(stands_in, np.bool_)[place] & (failed == FAILED)] = REPLACED
    weights = _floats([one.weight for one in jurors])
    if any(one.policy.weights for one in facts):
        for at in np.flatnonzero(np.isnan(weights)).tolist():
            weights[at] = number(facts[place[at]].policy.weights.get(jurors[at].id))
    return {
        "scores": scores, "votes": votes, "stated": stated, "withheld": withheld,
        "failed": failed, "weights": weights,
        "label": label, "sure": sure, "worded": worded, "unscaled": unscaled,
        "contradicts": compared & (given != plain),
    }  # fmt: skip


def _claims(
    verdicts: Sequence[VerdictModel],
    words: Words,
    trims: Mapping[int, StatedTrim],
    shape: tuple[int, ...],
) -> Claims:
    stated = [one.agreement for one in verdicts]
    low, high = np.zeros((2, *shape), np.bool_)
    named, degraded, checked = np.zeros((3, len(verdicts)), np.bool_)
    listed = np.zeros((2, len(verdicts)), np.int64)
    per_side = np.full(len(verdicts), NOTHING, np.float64)
    for at, trim in trims.items():
        degraded[at] = bool(trim.degraded)
        named[at] = trim.low is not None
        checked[at] = trim.method in {None, "quantile"}
        listed[:, at] = len(trim.low or ()), len(trim.high or ())
        per_side[at] = NOTHING if trim.per_side is None else trim.per_side
        if trim.low or trim.high:
            for seat, juror in enumerate(verdicts[at].jurors):
                low[seat, at] = juror.id in (trim.low or ())
                high[seat, at] = juror.id in (trim.high or ())
    return Claims(
        decision=_codes([one.decision for one in verdicts], DECISIONS),
        score=np.array([one.score for one in verdicts], np.float64),
        agreement=np.array([one is not None for one in stated], np.bool_),
        value=np.array([one.value if one else None for one in stated], np.float64),
        metric=np.array([one.metric if one else None for one in stated], np.object_),
        band=_codes([one.band for one in verdicts], BANDS),
        escalate=_codes([one.escalate_for_review for one in verdicts], (False, True)),
        same_family=_codes([one.same_family for one in verdicts], (False, True)),
        # The empty label has the number 0.
        label=np.array([words.code(one.label) if one.label else 0 for one in verdicts], np.int64),
        named=named,
        low=low,
        high=high,
        trim=checked,
        listed=listed,
        per_side=per_side,
        degraded=degraded,
    )


def _floats(values: list[float | None]) -> Floats:
    """Return numbers as a column; NaN for None, which often is all there is."""
    if values.count(None) == len(values):
        return np.full(len(values), np.nan)
    return np.array(values, np.float64)


def _codes(values: Sequence[Any], words: Sequence[Any]) -> Ints:
    codes = {word: code for code, word in enumerate(words)}
    return np.array([codes.get(one, NOTHING) for one in values], np.int64)


def _kin(verdicts: Sequence[VerdictModel], seated: Ints, known: Generator) -> Ints:
    """Return for each verdict whether a juror shares the generator's family, ``Sheet.shared``."""
    numbers: dict[str, int] = {}

    def families(pairs: list[tuple[str | None, str | None]]) -> Ints:
        codes = dict.fromkeys(pairs, NOTHING)
        for pair in codes:
            if found := family(*pair):
                codes[pair] = numbers.setdefault(found.name, len(numbers))
        return np.array([codes[pair] for pair in pairs], np.int64)

    makers = families(
        [
            (one.model or known.model, one.vendor or known.vendor)
            for one in [verdict.generator or known for verdict in verdicts]
        ]
    )
    found = np.full(len(verdicts), NOTHING, np.int64)
    rows = np.flatnonzero(makers != NOTHING)
    jurors = [juror for at in rows.tolist() for juror in verdicts[at].jurors]
    seats = by_seat(families([(one.model, one.vendor) for one in jurors]), seated[rows], NOTHING)
    unknown = (seats == NOTHING).all(axis=0)
    found[rows] = np.where(unknown, NOTHING, (seats == makers[rows]).any(axis=0))
    return found


def _model(verdict: Verdict) -> VerdictModel:
    """Return a verdict built in memory, whose numbers may lie outside the limits of a report."""
    known = VerdictModel.__struct_fields__
    values: dict[str, Any] = {key: one for key, one in verdict.body.items() if key in known}
    values |= {"generator": verdict.generator, "agreement": verdict.agreement}
    if stated := values.get("trim"):
        values["trim"] = TrimModel(**{"method": None, **stated})
    values["jurors"] = [
        JurorModel(**{"pass_" if key == "pass" else key: value for key, value in one.items()})
        for one in verdict.body["jurors"]
    ]
    return VerdictModel(**values)


def sheet_of(verdicts: Sequence[Verdict], seats: Sequence[Sequence[int]] | None = None) -> Sheet:
    """Read verdicts that were built one by one; they may have different generators."""
    own = list(map(PolicyFacts.of, verdicts))
    facts: list[PolicyFacts] = []
    for fact in own:
        if fact not in facts:
            facts.append(fact)
    place = np.array([facts.index(one) for one in own], np.int64)
    sheet = read_sheet(list(map(_model, verdicts)), facts, place, Generator(), seats)
    ballots = [verdict.ballots for verdict in verdicts]
    return replace(sheet, labels=replace(sheet.labels, ballots=ballots))
