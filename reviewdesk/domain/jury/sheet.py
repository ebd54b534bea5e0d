"""Read canonical verdicts as columns: their ballots, and what their reports state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.canonical import CanonicalBallot, CanonicalVerdict, own_facts
from reviewdesk.domain.enums import Status
from reviewdesk.domain.jury.band import BANDS
from reviewdesk.domain.jury.family import shares_family
from reviewdesk.domain.jury.label_rules import LabelBallots, Words
from reviewdesk.domain.jury.label_words import LABEL_FACTS, LabelRules
from reviewdesk.domain.jury.records import LINED
from reviewdesk.domain.jury.scores import ROUNDINGS
from reviewdesk.domain.jury.strategies import Rule, rule_for
from reviewdesk.domain.run.columns import Bools, Columns, Floats, Ints, lean, silent_seats
from reviewdesk.domain.run.packing import (
    DECISIONS,
    FAILED,
    NOTHING,
    REPLACED,
    STATUS_CODES,
    STRATEGIES,
)
from reviewdesk.domain.verdict import (
    DEFAULT_TRIM_FRACTION,
    SLACK,
    Generator,
    Policy,
    StatedTrim,
    Strategy,
    Verdict,
    declared_label,
    stated_trim,
    status_of,
    verdict_from_body,
)

_OWN_KEYS = ("threshold", "quorum", "strategy", "regime")
_OWN_FACTS = ("failed_jurors", "supermajority", "min_answered", *LABEL_FACTS)
_OK = (None, "ok")
_MOST = 1000
"""How many policies are remembered."""


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

    @property
    def fraction(self) -> float:
        """The trim fraction for a verdict that states none."""
        stated = self.policy.trim_fraction
        return DEFAULT_TRIM_FRACTION if stated is None else stated

    @staticmethod
    def of(verdict: Verdict) -> PolicyFacts:
        """Return those of one verdict."""
        rule = rule_for(verdict.policy, (), verdict.regime)
        return PolicyFacts(verdict.policy, verdict.regime, rule, frozenset(verdict.set_by_you))


class Policies:
    """Reads the policies of a run's verdicts once each."""

    def __init__(self, defaults: Policy, filled: Policy) -> None:
        """Take the policy of the report's header and the one that the user filled in."""
        self._defaults = defaults
        self._filled = filled
        self._known: dict[tuple[Any, ...], PolicyFacts] = {}

    def of(
        self, bodies: Sequence[CanonicalVerdict], keys: set[str]
    ) -> tuple[list[PolicyFacts], npt.NDArray[np.int64]]:
        """Return the policies of verdicts, and for each verdict the place of its own among them.

        ``keys`` are those that any of the verdicts has.
        """
        if len(self._known) > _MOST:
            self._known.clear()
        if keys.isdisjoint((*_OWN_KEYS, "meta")):
            return [self._policy(bodies[0])], np.zeros(len(bodies), np.int64)
        every = [self._policy(body) for body in bodies]
        known = {id(one): one for one in every}
        at = {name: place for place, name in enumerate(known)}
        return list(known.values()), np.array([at[id(one)] for one in every], np.int64)

    def _policy(self, body: CanonicalVerdict) -> PolicyFacts:
        get = body.get
        key: tuple[Any, ...] = get("threshold"), get("quorum"), get("strategy"), get("regime")
        if "meta" in body and (own := own_facts(body)):
            key += (json.dumps({fact: own[fact] for fact in _OWN_FACTS if fact in own}),)
        found = self._known.get(key)
        if found is None:
            own = json.loads(key[-1]) if len(key) > len(_OWN_KEYS) else {}
            bare: Any = {"id": "", "case": {"test": ""}, "jurors": [], "meta": {"reviewdesk": own}}
            bare |= dict(zip(_OWN_KEYS, key, strict=False))
            read = verdict_from_body(bare, self._defaults, Generator(), self._filled)
            found = self._known[key] = PolicyFacts.of(read)
        return found


class Claims(Struct, frozen=True):
    """What is stated, ``[n]``; a missing code is -1, a missing value NaN."""

    decision: Ints
    score: Floats
    agreement: Bools
    """Whether an agreement is stated, be it null."""
    value: Floats
    """The stated agreement."""
    metric: npt.NDArray[np.object_]
    lined: Bools
    """Whether the limits of the bands apply to its metric."""
    band: Ints
    escalate: Ints
    """1, 0, or -1."""
    same_family: Ints
    """1, 0, or -1."""
    label: Ints
    """The number of the consensus label; that of an empty text if none is stated."""
    named: Bools
    """Whether the trim names the jurors that it leaves out."""
    low: Bools
    """The seats, ``[s, n]``, that it names at the lower end."""
    high: Bools
    trim: Bools
    """Whether a trim is stated by a rule that can be checked."""
    listed: Ints
    """How many jurors it names at the lower and at the upper end, ``[2, n]``."""
    per_side: Ints
    """How many scores it says it leaves out at each end, or -1."""
    degraded: Bools
    """Whether the trim is marked as degraded."""


class Sheet(Struct, frozen=True):
    """The ballots and the claims of n verdicts of at most s seats, in file order."""

    bodies: Sequence[CanonicalVerdict]
    facts: Sequence[PolicyFacts]
    place: Ints
    """The place of each verdict's policy among ``facts``."""
    columns: Columns
    labels: LabelBallots
    claims: Claims
    contradicts: Bools
    """The seats, ``[s, n]``, whose stated pass differs from what their score gives."""
    unscaled: Bools
    """The seats that gave only a raw number, whose scale is not known."""
    worded: Bools
    """The seats that answered with any text as their label."""
    shared: Ints
    """Whether a juror is of the generator's family by their models: 1, 0, or -1 if unknown."""
    flat: Mapping[str, npt.NDArray[Any]]
    """The columns of ``packing.PER_SEAT``."""

    def __len__(self) -> int:
        return len(self.place)

    def of_policy(self, values: Sequence[Any], kind: Any = np.bool_) -> npt.NDArray[Any]:
        """Return a value of each policy as a column."""
        found: npt.NDArray[Any] = np.array(values, kind)[self.place]
        return found

    @property
    def usable(self) -> Bools:
        """The seats, ``[s, n]``, that answered."""
        columns = self.columns
        marks: Bools = (columns.juror != NOTHING) & ~columns.missing & ~columns.not_asked
        return marks

    def at(self, rows: Ints) -> Sheet:
        """Return some of the verdicts."""
        taken = {
            name: column[..., rows]
            for name in self.__struct_fields__
            if isinstance(column := getattr(self, name), np.ndarray)
        }
        claims = {name: getattr(self.claims, name)[..., rows] for name in Claims.__struct_fields__}
        return replace(
            self,
            **taken,
            bodies=[self.bodies[row] for row in rows.tolist()],
            columns=self.columns.at(rows),
            labels=self.labels.at(rows),
            claims=Claims(**claims),
            flat={},
        )


def read_sheet(
    bodies: Sequence[CanonicalVerdict],
    facts: Sequence[PolicyFacts],
    place: Ints,
    generator: Generator,
    seats: Sequence[Sequence[int]] | None = None,
) -> Sheet:
    """Read verdicts under the policies at ``place``.

    ``generator`` is what the header states; ``seats`` are the numbers of the jurors' names.
    """
    seated = np.array([len(body["jurors"]) for body in bodies], np.int64)
    jurors = list(chain.from_iterable([body["jurors"] for body in bodies]))
    ballots = _Ballots(jurors, facts, np.repeat(place, seated))
    numbers = range(len(jurors)) if seats is None else chain.from_iterable(seats)
    ballots.flat["juror"] = np.fromiter(numbers, np.int32, len(jurors))

    def spread(flat: npt.NDArray[Any], empty: float) -> npt.NDArray[Any]:
        return by_seat(flat, seated, empty)

    keys = set().union(*bodies)
    marked = "trimmed" in ballots.keys
    trims = {}
    for at, body in enumerate(bodies) if marked or "trim" in keys else ():
        if body.get("trim") or any(juror.get("trimmed") for juror in body["jurors"]):
            trims[at] = stated_trim(body)
    columns = _columns(ballots, facts, place, seated, trims)
    claims = _claims(bodies, keys, ballots.words, trims, columns.scores.shape)
    labels = LabelBallots(
        ballots.words,
        spread(ballots.label, NOTHING),
        spread(ballots.sure, np.nan),
        columns.weights,
    )
    return Sheet(
        bodies, facts, place, columns, labels, claims,
        spread(ballots.contradicts, False),
        spread(ballots.unscaled, False), spread(ballots.worded, False),
        _kin(bodies, keys, generator), ballots.flat,
    )  # fmt: skip


def by_seat(flat: npt.NDArray[Any], seated: Ints, empty: float) -> npt.NDArray[Any]:
    """Return values of ballots, verdict after verdict, as ``[seats, verdicts]``."""
    seats = int(seated.max(initial=0))
    if len(flat) == seats * len(seated):
        return np.ascontiguousarray(flat.reshape(len(seated), seats).T)
    made = np.full((seats, len(seated)), empty, flat.dtype)
    made.T[np.arange(seats) < seated[:, None]] = flat
    return made


def _values(records: Sequence[Mapping[str, Any]], keys: set[str], key: str) -> list[Any]:
    """Return what records have under a key, given all the keys that any of them has."""
    if key not in keys:
        return [None] * len(records)
    return [record.get(key) for record in records]


class _Ballots:
    """The ballots of all verdicts, one after the other."""

    def __init__(
        self, jurors: list[CanonicalBallot], facts: Sequence[PolicyFacts], place: Ints
    ) -> None:
        self._jurors = jurors
        self._facts = facts
        self._place = place
        self.keys: set[str] = set().union(*jurors)
        self.words = Words()
        self.words.code("")
        self.scores = self._numbers("score")
        self.line = np.full(len(jurors), np.nan)
        if "meta" in self.keys:
            metas = [juror.get("meta") or {} for juror in jurors]
            self.line = np.array([_number(one.get("threshold")) for one in metas], np.float64)
        given = np.full(len(jurors), NOTHING, np.int8)
        stated = np.zeros(len(jurors), np.bool_)
        if "pass" in self.keys:
            votes = [juror.get("pass") for juror in jurors]
            given = np.array([NOTHING if vote is None else vote for vote in votes], np.int8)
            stated = np.array(["pass" in juror for juror in jurors], np.bool_)
        self._read_status(given != NOTHING)
        here = self.failed == 0
        self.scores[~here] = np.nan
        limit = np.array([_number(one.policy.threshold) for one in facts], np.float64)[place]
        by_score = self.scores >= limit - SLACK
        unknown = np.isnan(self.scores) | np.isnan(limit)
        derived = np.where(unknown, NOTHING, by_score).astype(np.int8)
        self.votes = np.where(here, np.where(stated, given, derived), NOTHING)
        self.withheld = here & stated & (given == NOTHING)
        self.sure = self._numbers("confidence")
        self.sure[~((self.sure >= 0) & (self.sure <= 1))] = np.nan
        self.label = np.full(len(jurors), NOTHING, np.int64)
        self.worded = np.zeros(len(jurors), np.bool_)
        if "label" in self.keys or any(one.declares for one in facts):
            self._read_labels()
        lined = ~np.isnan(self.line)
        extreme = (self.scores == 0) | (self.scores == 1)
        plain = np.where(np.isnan(limit) & extreme, self.scores == 1, derived)
        plain = np.where(lined, self.scores >= self.line - SLACK, plain)
        compared = (given != NOTHING) & ~np.isnan(self.scores) & (plain != NOTHING)
        self.contradicts = compared & (given != plain)
        self.flat = {
            "scores": self.scores, "votes": self.votes, "stated": stated,
            "failed": self._failed_codes(), "weights": self._weights(),
        }  # fmt: skip

    def _numbers(self, key: str) -> Floats:
        # A value of None becomes NaN.
        return np.array(_values(self._jurors, self.keys, key), np.float64)

    def _read_status(self, voted: Bools) -> None:
        """Read how each call ended; most ballots have an answer and no status."""
        jurors = self._jurors
        answered = voted | ~np.isnan(self.scores)
        self.failed = np.zeros(len(jurors), np.int8)
        self.unscaled = np.zeros(len(jurors), np.bool_)
        odd = ~answered
        for key in self.keys & {"status", "error"}:
            odd |= np.array([juror.get(key) not in _OK for juror in jurors], np.bool_)
        for at in np.flatnonzero(odd).tolist():
            juror = jurors[at]
            status = status_of(juror, bool(answered[at]))
            self.failed[at] = STATUS_CODES.get(status, FAILED)
            silent = status is Status.ABSTAINED and juror.get("status") != Status.ABSTAINED
            self.unscaled[at] = silent and juror.get("raw_score") is not None

    def _read_labels(self) -> None:
        """Number the labels; those of a panel that declares its own vote and may be refused."""
        for at in np.flatnonzero(self.failed == 0).tolist():
            juror = self._jurors[at]
            fact = self._facts[self._place[at]]
            label = juror.get("label")
            if fact.declares and fact.policy.counting is not None:
                label, status, vote, _ = declared_label(juror, fact.policy.counting)
                self.votes[at] = NOTHING if vote is None else vote
                if status is not Status.OK:
                    self.failed[at] = FAILED
                    self.scores[at] = np.nan
                self.withheld[at] = vote is None and status is Status.OK
            if self.failed[at] == 0 and label:
                self.worded[at] = True
                self.label[at] = self.words.counted(label)

    def _failed_codes(self) -> npt.NDArray[np.int8]:
        stands_in = [one.policy.failed_jurors is Strategy.MEDIAN for one in self._facts]
        replaced = np.array(stands_in, np.bool_)[self._place] & (self.failed == FAILED)
        return np.where(replaced, np.int8(REPLACED), self.failed)

    def _weights(self) -> Floats:
        found = self._numbers("weight")
        if any(one.policy.weights for one in self._facts):
            for at in np.flatnonzero(np.isnan(found)).tolist():
                weights = self._facts[self._place[at]].policy.weights
                found[at] = _number(weights.get(self._jurors[at]["id"]))
        return found


def _columns(
    ballots: _Ballots,
    facts: Sequence[PolicyFacts],
    place: Ints,
    seated: Ints,
    trims: Mapping[int, StatedTrim],
) -> Columns:
    flat = ballots.flat
    scores = by_seat(flat["scores"], seated, np.nan)
    failed = by_seat(flat["failed"], seated, 0)
    policies = [one.policy for one in facts]
    fraction = np.array([one.fraction for one in facts], np.float64)[place]
    rounding = np.zeros(len(place), np.int8)
    for at, trim in trims.items():
        fraction[at] = trim.fraction_under(policies[place[at]])
        rounding[at] = ROUNDINGS.index(trim.rounding) if trim.rounding else 0
    asked = [one.rule.strategy for one in facts]
    known = np.array([policy.quorum is not None for policy in policies], np.bool_)[place]
    return Columns(
        key=np.arange(len(place)),
        scores=scores,
        votes=by_seat(flat["votes"], seated, NOTHING),
        withheld=by_seat(ballots.withheld, seated, False),
        **silent_seats(failed),
        weights=by_seat(flat["weights"], seated, np.nan),
        juror=by_seat(flat["juror"], seated, NOTHING),
        seated=seated,
        threshold=np.array([_number(one.threshold) for one in policies], np.float64)[place],
        quorum=np.where(known, place, NOTHING),
        share=place,
        minimum=place,
        strategy=np.array(
            [NOTHING if one is None else STRATEGIES.index(one) for one in asked], np.int8
        )[place],
        fraction=lean(fraction),
        rounding=lean(rounding),
        decision=np.full(len(place), NOTHING, np.int8),
        score=np.full(len(place), np.nan),
        names=(),
        quorums=tuple(1.0 if one.quorum is None else one.quorum for one in policies),
        shares=(*(one.supermajority for one in policies), None),
        minima=(*(one.min_answered for one in policies), None),
        most=1.0,
    )


def _claims(
    bodies: Sequence[CanonicalVerdict],
    keys: set[str],
    words: Words,
    trims: Mapping[int, StatedTrim],
    shape: tuple[int, ...],
) -> Claims:
    """Return what verdicts state, given all the keys that any of them has."""
    stated: list[Any] = [one or {} for one in _values(bodies, keys, "agreement")]
    metrics = [one.get("metric") for one in stated]
    labels = _values(bodies, keys, "label")
    low = np.zeros(shape, np.bool_)
    high = np.zeros(shape, np.bool_)
    named = np.zeros(len(bodies), np.bool_)
    degraded = np.zeros(len(bodies), np.bool_)
    checked = np.zeros(len(bodies), np.bool_)
    listed = np.zeros((2, len(bodies)), np.int64)
    per_side = np.full(len(bodies), NOTHING)
    for at, trim in trims.items():
        degraded[at] = bool(trim.degraded)
        named[at] = trim.low is not None
        checked[at] = trim.method in {None, "quantile"}
        listed[:, at] = len(trim.low or ()), len(trim.high or ())
        stated_count = (bodies[at].get("trim") or {}).get("per_side")
        per_side[at] = NOTHING if stated_count is None else stated_count
        if trim.low or trim.high:
            for seat, juror in enumerate(bodies[at]["jurors"]):
                low[seat, at] = juror["id"] in (trim.low or ())
                high[seat, at] = juror["id"] in (trim.high or ())
    return Claims(
        decision=_codes(bodies, keys, "decision", DECISIONS),
        score=np.array(_values(bodies, keys, "score"), np.float64),
        agreement=np.array([metric is not None for metric in metrics], np.bool_),
        value=np.array([one.get("value") for one in stated], np.float64),
        metric=np.array(metrics, np.object_),
        lined=np.array([metric in LINED for metric in metrics], np.bool_),
        band=_codes(bodies, keys, "band", BANDS),
        escalate=_codes(bodies, keys, "escalate_for_review", (False, True)),
        same_family=_codes(bodies, keys, "same_family", (False, True)),
        label=np.array(
            [words.code(one if isinstance(one, str) else "") for one in labels], np.int64
        ),
        named=named,
        low=low,
        high=high,
        trim=checked,
        listed=listed,
        per_side=per_side,
        degraded=degraded,
    )


def _codes(
    bodies: Sequence[CanonicalVerdict], keys: set[str], key: str, words: Sequence[Any]
) -> Ints:
    if key not in keys:
        return np.full(len(bodies), NOTHING)
    codes = {word: code for code, word in enumerate(words)}
    return np.array([codes.get(one, NOTHING) for one in _values(bodies, keys, key)], np.int64)


def _kin(bodies: Sequence[CanonicalVerdict], keys: set[str], known: Generator) -> Ints:
    """Return for which verdicts a juror shares the generator's family."""
    found = np.full(len(bodies), NOTHING)
    if not (known.model or known.vendor or "generator" in keys):
        return found
    for at, body in enumerate(bodies):
        own = body.get("generator") or {}
        model = own.get("model") or known.model
        vendor = own.get("vendor") or known.vendor
        if model or vendor:
            panel = tuple([(one.get("model"), one.get("vendor")) for one in body["jurors"]])
            shares = shares_family(panel, model, vendor)
            found[at] = NOTHING if shares is None else shares
    return found


def _number(value: Any) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known else np.nan


def sheet_of(verdicts: Sequence[Verdict], seats: Sequence[Sequence[int]] | None = None) -> Sheet:
    """Read verdicts that were built one by one; they may have different generators."""
    facts: list[PolicyFacts] = []
    place = []
    for fact in map(PolicyFacts.of, verdicts):
        if fact not in facts:
            facts.append(fact)
        place.append(facts.index(fact))
    bodies = [verdict.body for verdict in verdicts]
    sheet = read_sheet(bodies, facts, np.array(place, np.int64), Generator(), seats)
    shared = [
        shares_family(
            tuple([(one.model, one.vendor) for one in verdict.ballots]),
            verdict.generator.model,
            verdict.generator.vendor,
        )
        for verdict in verdicts
    ]
    ballots = tuple(verdict.ballots for verdict in verdicts)
    return replace(
        sheet,
        shared=np.array([NOTHING if one is None else one for one in shared]),
        labels=replace(sheet.labels, ballots=ballots),
    )
