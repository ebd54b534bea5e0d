"""Read canonical verdicts as columns: their ballots and the claims of their reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Struct, UnsetType, to_builtins
from msgspec.structs import replace

from reviewdesk.domain.jury.family import shares_family
from reviewdesk.domain.jury.label_rules import LabelBallots, Words
from reviewdesk.domain.jury.rules import LINED, Rule, rule_for
from reviewdesk.domain.jury.scores import BANDS
from reviewdesk.domain.report_model import (
    AgreementModel,
    GeneratorModel,
    JurorModel,
    TrimModel,
    VerdictModel,
)
from reviewdesk.domain.run.columns import Bools, Columns, Floats, Ints, by_seat, lean, silent_seats
from reviewdesk.domain.run.packing import (
    DECISIONS,
    FAILED,
    NOTHING,
    REPLACED,
    ROUNDINGS,
    STATUS_CODES,
    STRATEGIES,
)
from reviewdesk.domain.values import LABEL_FACTS, LabelRules, Status
from reviewdesk.domain.verdict import (
    DEFAULT_TRIM_FRACTION,
    SLACK,
    Generator,
    Policy,
    StatedTrim,
    Strategy,
    Verdict,
    declared_label,
    number,
    own_facts,
    read_trim,
    status_of,
    verdict_from_body,
)

_OWN_KEYS = ("threshold", "quorum", "strategy", "regime")
_OWN_FACTS = ("failed_jurors", "supermajority", "min_answered", *LABEL_FACTS)
_OK = (None, "ok")
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

    @property
    def fraction(self) -> float:
        """The trim fraction for a verdict that states none."""
        stated = self.policy.trim_fraction
        return DEFAULT_TRIM_FRACTION if stated is None else stated

    @staticmethod
    def of(verdict: Verdict) -> PolicyFacts:
        """Return the policy facts of one verdict."""
        rule = rule_for(verdict.policy, (), verdict.regime)
        return PolicyFacts(verdict.policy, verdict.regime, rule, frozenset(verdict.set_by_you))


class Policies:
    """Reads each policy of a run's verdicts once."""

    def __init__(self, defaults: Policy, filled: Policy) -> None:
        """Take the policy of the report's header and the one that the user filled in."""
        self._defaults = defaults
        self._filled = filled
        self._known: dict[tuple[Any, ...], PolicyFacts] = {}

    def of(
        self, verdicts: Sequence[VerdictModel]
    ) -> tuple[list[PolicyFacts], npt.NDArray[np.int64]]:
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
                *values, own = key
                bare: Any = {"id": "", "case": {"test": ""}, "jurors": []}
                bare |= dict(zip(_OWN_KEYS, values, strict=True))
                bare["meta"] = {"reviewdesk": json.loads(own or "{}")}
                read = verdict_from_body(bare, self._defaults, Generator(), self._filled)
                self._known[key] = PolicyFacts.of(read)
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
    """Whether an agreement is stated, even if it is null."""
    value: Floats
    """The stated agreement."""
    metric: npt.NDArray[np.object_]
    lined: Bools
    """Whether the band limits apply to the metric of the agreement."""
    band: Ints
    escalate: Ints
    """1, 0, or -1."""
    same_family: Ints
    """1, 0, or -1."""
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
    per_side: Ints
    """The stated number of scores that the trim leaves out at each end, or -1."""
    degraded: Bools
    """Whether the trim is marked as degraded."""


class Sheet(Struct, frozen=True):
    """The ballots and the claims of n verdicts of at most s seats, in file order."""

    verdicts: Sequence[VerdictModel]
    facts: Sequence[PolicyFacts]
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
            verdicts=[self.verdicts[row] for row in rows.tolist()],
            columns=self.columns.at(rows),
            labels=self.labels.at(rows),
            claims=Claims(**claims),
            flat={},
        )


def read_sheet(
    verdicts: Sequence[VerdictModel],
    facts: Sequence[PolicyFacts],
    place: Ints,
    generator: Generator,
    seats: Sequence[Sequence[int]] | None = None,
) -> Sheet:
    """Read verdicts under the policies at ``place``.

    ``generator`` is the one that the header states; ``seats`` are the numbers of the jurors' names.
    """
    seated = np.array([len(one.jurors) for one in verdicts], np.int64)
    jurors = list(chain.from_iterable([one.jurors for one in verdicts]))
    ballots = _Ballots(jurors, facts, np.repeat(place, seated))
    numbers = range(len(jurors)) if seats is None else chain.from_iterable(seats)
    ballots.flat["juror"] = np.fromiter(numbers, np.int32, len(jurors))

    marked = any(one.trimmed for one in jurors)
    trims = {
        at: read_trim(
            to_builtins(one.trim) if one.trim else {},
            [(juror.id, juror.trimmed) for juror in one.jurors],
        )
        for at, one in enumerate(verdicts)
        if one.trim or (marked and any(juror.trimmed for juror in one.jurors))
    }
    flat = ballots.flat

    def spread(column: npt.NDArray[Any], empty: float) -> npt.NDArray[Any]:
        return by_seat(column, seated, empty)

    scores = spread(flat["scores"], np.nan)
    failed = spread(flat["failed"], 0)
    policies = [one.policy for one in facts]
    fraction = np.array([one.fraction for one in facts], np.float64)[place]
    rounding = np.zeros(len(place), np.int8)
    for at, trim in trims.items():
        fraction[at] = trim.fraction_under(policies[place[at]])
        rounding[at] = ROUNDINGS.index(trim.rounding) if trim.rounding else 0
    asked = [one.rule.strategy for one in facts]
    known = np.array([policy.quorum is not None for policy in policies], np.bool_)[place]
    columns = Columns(
        key=np.arange(len(place)),
        scores=scores,
        votes=spread(flat["votes"], NOTHING),
        withheld=spread(ballots.withheld, False),
        **silent_seats(failed),
        weights=spread(flat["weights"], np.nan),
        juror=spread(flat["juror"], NOTHING),
        seated=seated,
        threshold=np.array([number(one.threshold) for one in policies], np.float64)[place],
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
    )
    claims = _claims(verdicts, ballots.words, trims, columns.scores.shape)
    labels = LabelBallots(
        ballots.words,
        spread(ballots.label, NOTHING),
        spread(ballots.sure, np.nan),
        columns.weights,
    )
    return Sheet(
        verdicts, facts, place, columns, labels, claims,
        spread(ballots.contradicts, False),
        spread(ballots.unscaled, False), spread(ballots.worded, False),
        _kin(verdicts, generator), ballots.flat,
    )  # fmt: skip


_VOTES = {True: 1, False: 0, None: NOTHING, UNSET: NOTHING}


class _Ballots:
    """The ballots of all verdicts, one after the other."""

    def __init__(self, jurors: list[JurorModel], facts: Sequence[PolicyFacts], place: Ints) -> None:
        self._jurors = jurors
        self._facts = facts
        self._place = place
        self.words = Words()
        self.words.code("")
        # A value of None becomes NaN.
        self.scores = np.array([one.score for one in jurors], np.float64)
        self.line = np.full(len(jurors), np.nan)
        if any(one.meta for one in jurors):
            metas = [one.meta or {} for one in jurors]
            self.line = np.array([number(one.get("threshold")) for one in metas], np.float64)
        given = np.array([_VOTES[one.pass_] for one in jurors], np.int8)
        stated = np.array([one.pass_ is not UNSET for one in jurors], np.bool_)
        self._read_status(given != NOTHING)
        here = self.failed == 0
        self.scores[~here] = np.nan
        limit = np.array([number(one.policy.threshold) for one in facts], np.float64)[place]
        by_score = self.scores >= limit - SLACK
        unknown = np.isnan(self.scores) | np.isnan(limit)
        derived = np.where(unknown, NOTHING, by_score).astype(np.int8)
        self.votes = np.where(here, np.where(stated, given, derived), NOTHING)
        self.withheld = here & stated & (given == NOTHING)
        self.sure = np.array([one.confidence for one in jurors], np.float64)
        self.sure[~((self.sure >= 0) & (self.sure <= 1))] = np.nan
        self.label = np.full(len(jurors), NOTHING, np.int64)
        self.worded = np.zeros(len(jurors), np.bool_)
        if any(one.label for one in jurors) or any(one.declares for one in facts):
            self._read_labels()
        lined = ~np.isnan(self.line)
        extreme = (self.scores == 0) | (self.scores == 1)
        plain = np.where(np.isnan(limit) & extreme, self.scores == 1, derived)
        plain = np.where(lined, self.scores >= self.line - SLACK, plain)
        compared = (given != NOTHING) & ~np.isnan(self.scores) & (plain != NOTHING)
        self.contradicts = compared & (given != plain)
        stands_in = [one.policy.failed_jurors is Strategy.MEDIAN for one in facts]
        replaced = np.array(stands_in, np.bool_)[place] & (self.failed == FAILED)
        weights = np.array([one.weight for one in jurors], np.float64)
        if any(one.policy.weights for one in facts):
            for at in np.flatnonzero(np.isnan(weights)).tolist():
                known = facts[place[at]].policy.weights
                weights[at] = number(known.get(jurors[at].id))
        self.flat = {
            "scores": self.scores, "votes": self.votes, "stated": stated,
            "failed": np.where(replaced, np.int8(REPLACED), self.failed), "weights": weights,
        }  # fmt: skip

    def _read_status(self, voted: Bools) -> None:
        """Read how each call ended; most ballots have an answer and no status."""
        jurors = self._jurors
        answered = voted | ~np.isnan(self.scores)
        self.failed = np.zeros(len(jurors), np.int8)
        self.unscaled = np.zeros(len(jurors), np.bool_)
        odd = [one.status not in _OK or one.error is not None for one in jurors]
        for at in np.flatnonzero(~answered | np.array(odd, np.bool_)).tolist():
            juror = jurors[at]
            status = status_of(juror.status, juror.error, juror.label, answered=bool(answered[at]))
            self.failed[at] = STATUS_CODES.get(status, FAILED)
            silent = status is Status.ABSTAINED and juror.status != "abstained"
            self.unscaled[at] = silent and juror.raw_score is not None

    def _read_labels(self) -> None:
        """Number the labels; those of a panel that declares its own vote and may be refused."""
        for at in np.flatnonzero(self.failed == 0).tolist():
            juror = self._jurors[at]
            fact = self._facts[self._place[at]]
            label = juror.label
            if fact.declares and fact.policy.counting is not None:
                stated = juror.pass_ if isinstance(juror.pass_, bool) else None
                label, status, vote, _ = declared_label(label, stated, fact.policy.counting)
                self.votes[at] = NOTHING if vote is None else vote
                if status is not Status.OK:
                    self.failed[at] = FAILED
                    self.scores[at] = np.nan
                self.withheld[at] = vote is None and status is Status.OK
            if self.failed[at] == 0 and label:
                self.worded[at] = True
                self.label[at] = self.words.counted(label)


def _claims(
    verdicts: Sequence[VerdictModel],
    words: Words,
    trims: Mapping[int, StatedTrim],
    shape: tuple[int, ...],
) -> Claims:
    metrics = [one.agreement.metric if one.agreement else None for one in verdicts]
    values = [one.agreement.value if one.agreement else None for one in verdicts]
    low = np.zeros(shape, np.bool_)
    high = np.zeros(shape, np.bool_)
    named = np.zeros(len(verdicts), np.bool_)
    degraded = np.zeros(len(verdicts), np.bool_)
    checked = np.zeros(len(verdicts), np.bool_)
    listed = np.zeros((2, len(verdicts)), np.int64)
    per_side = np.full(len(verdicts), NOTHING)
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
        agreement=np.array([metric is not None for metric in metrics], np.bool_),
        value=np.array(values, np.float64),
        metric=np.array(metrics, np.object_),
        lined=np.array([metric in LINED for metric in metrics], np.bool_),
        band=_codes([one.band for one in verdicts], BANDS),
        escalate=_codes([one.escalate_for_review for one in verdicts], (False, True)),
        same_family=_codes([one.same_family for one in verdicts], (False, True)),
        label=np.array([words.code(one.label) for one in verdicts], np.int64),
        named=named,
        low=low,
        high=high,
        trim=checked,
        listed=listed,
        per_side=per_side,
        degraded=degraded,
    )


def _codes(values: Sequence[Any], words: Sequence[Any]) -> Ints:
    codes = {word: code for code, word in enumerate(words)}
    return np.array([codes.get(one, NOTHING) for one in values], np.int64)


def _kin(verdicts: Sequence[VerdictModel], known: Generator) -> Ints:
    """Return for which verdicts a juror shares the generator's family."""
    found = np.full(len(verdicts), NOTHING)
    for at, verdict in enumerate(verdicts):
        own = verdict.generator
        model = (own and own.model) or known.model
        vendor = (own and own.vendor) or known.vendor
        if model or vendor:
            panel = tuple([(one.model, one.vendor) for one in verdict.jurors])
            shares = shares_family(panel, model, vendor)
            found[at] = NOTHING if shares is None else shares
    return found


_KEYS = frozenset(VerdictModel.__struct_fields__)


def _model(verdict: Verdict) -> VerdictModel:
    """Return a verdict built in memory, whose numbers may lie outside the limits of a report."""
    values: dict[str, Any] = {key: one for key, one in verdict.body.items() if key in _KEYS}
    values["generator"] = GeneratorModel(verdict.generator.model, verdict.generator.vendor)
    if stated := values.get("agreement"):
        values["agreement"] = AgreementModel(**stated)
    if stated := values.get("trim"):
        values["trim"] = TrimModel(**{"method": None, **stated})
    jurors: list[Any] = values["jurors"]
    values["jurors"] = [
        JurorModel(**{"pass_" if key == "pass" else key: value for key, value in one.items()})
        for one in jurors
    ]
    return VerdictModel(**values)


def sheet_of(verdicts: Sequence[Verdict], seats: Sequence[Sequence[int]] | None = None) -> Sheet:
    """Read verdicts that were built one by one; they may have different generators."""
    facts: list[PolicyFacts] = []
    place = []
    for fact in map(PolicyFacts.of, verdicts):
        if fact not in facts:
            facts.append(fact)
        place.append(facts.index(fact))
    models = list(map(_model, verdicts))
    sheet = read_sheet(models, facts, np.array(place, np.int64), Generator(), seats)
    ballots = tuple(verdict.ballots for verdict in verdicts)
    return replace(sheet, labels=replace(sheet.labels, ballots=ballots))
