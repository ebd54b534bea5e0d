"""Re-runs: which jurors answer again, under which rule, and what differs from the first verdict."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field

from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.panel.asking import LiveProgress, Turnouts
from reviewdesk.domain.panel.prompt import VERSION
from reviewdesk.domain.verdict import Ballot, CanonicalBallot, Decision, Status, Verdict, own_facts

_DECIDED = {Decision.PASS, Decision.FAIL}


class RerunScope(StrEnum):
    """The jurors that a re-run asks."""

    PANEL = "panel"
    MISSING = "missing"
    JUROR = "juror"


class RerunRequest(Struct, frozen=True):
    """A person's request for a re-run; ``juror`` is set only if the scope is ``JUROR``."""

    scope: RerunScope = RerunScope.PANEL
    juror: str | None = None


class Rerun(Struct, frozen=True):
    """One re-run; ``correct`` if it agrees with the label, ``None`` if either is undecided."""

    at: str | None
    reviewer: str | None
    scope: RerunScope | None
    panel: str | None
    stopped: bool
    committed: str | None
    verdict: Verdict
    assessment: Assessment
    correct: bool | None
    plan: int = 0
    """The event that planned it; 0 if it came with the report."""

    @property
    def filed(self) -> bool:
        return not self.plan

    @property
    def contract_before(self) -> int | None:
        found = own_facts(self.verdict.body).get("contract_before")
        return found if isinstance(found, int) else None

    @property
    def panel_hash(self) -> str | None:
        return (self.verdict.body.get("provenance") or {}).get("panel_hash")

    @property
    def kept_its_panel(self) -> bool | None:
        """Whether the panel that answered is the committed one; ``None`` if a hash is missing."""
        known = self.committed is not None and self.panel_hash is not None
        return self.committed == self.panel_hash if known else None


class Change(Struct, frozen=True):
    """One juror's ballots before and after a re-run; ``None`` if it was not on that panel."""

    juror: str
    before: Ballot | None
    after: Ballot | None
    asked: bool
    """Whether the juror was asked again; if not, its ballot stayed."""

    @property
    def moved(self) -> float | None:
        one, two = (cast.score if cast else None for cast in (self.before, self.after))
        return None if one is None or two is None else two - one

    @property
    def voted(self) -> bool:
        return all(cast and cast.vote is not None for cast in (self.before, self.after))

    @property
    def flipped(self) -> bool:
        return {cast.vote for cast in (self.before, self.after) if cast} == {True, False}


def contract_note(before: int) -> str:
    return (
        f"the first panel answered under version {before} of the reply contract; "
        f"a re-run asks under version {VERSION}"
    )


def changes(before: Verdict, rerun: Rerun) -> tuple[Change, ...]:
    mine = {cast.id: cast for cast in before.ballots}
    theirs = {cast.id: cast for cast in rerun.verdict.ballots}
    first = {body["id"]: body for body in before.body["jurors"]}
    again = {body["id"]: body for body in rerun.verdict.body["jurors"]}
    return tuple(
        Change(
            name, mine.get(name), theirs.get(name),
            asked=name in again
            and again[name] != first.get(name)
            and theirs[name].status is not Status.NOT_ASKED,
        )
        for name in dict.fromkeys((*mine, *theirs))
    )  # fmt: skip


def flipped(before: Decision | None, after: Decision | None) -> bool:
    return before in _DECIDED and after in _DECIDED and before is not after


def correct(decision: Decision | None, truth: str | None) -> bool | None:
    known = decision in _DECIDED and truth in _DECIDED
    return decision == truth if known else None


class FlipRate(Struct, frozen=True):
    """How often one juror changed its vote when asked again: ``flipped`` of ``asked`` times."""

    juror: str
    asked: int
    flipped: int

    @property
    def rate(self) -> float | None:
        return self.flipped / self.asked if self.asked else None


def flip_rates(pairs: Iterable[tuple[Verdict, Sequence[Rerun]]]) -> tuple[FlipRate, ...]:
    found = [
        change
        for verdict, reruns in pairs
        for rerun in reruns
        for change in changes(verdict, rerun)
        if change.asked and change.voted
    ]
    flips = Counter(one.juror for one in found if one.flipped)
    asked = Counter(one.juror for one in found)
    return tuple(FlipRate(name, count, flips[name]) for name, count in asked.items())


class OpenRerun(Struct, frozen=True):
    """A running re-run: its ballots so far or, for several verdicts, only its ``progress``."""

    keys: frozenset[int]
    verdict: str
    asked: tuple[str, ...]
    came: tuple[CanonicalBallot, ...] = ()
    progress: LiveProgress | None = None
    stopping: bool = False

    @property
    def alone(self) -> bool:
        return len(self.keys) == 1


class RerunHistory(Struct, frozen=True):
    """The re-runs of an item, oldest first, flip rates of item and run, and a running re-run."""

    reruns: tuple[Rerun, ...] = ()
    here: tuple[FlipRate, ...] = ()
    in_run: tuple[FlipRate, ...] = ()
    running: OpenRerun | None = None


class RerunExtent(Struct, frozen=True):
    """The reach of a re-run; ``left`` verdicts of one that was cut off wait since ``at``."""

    wish: RerunRequest
    panel: str
    verdicts: int
    shown: str | None
    left_out: Mapping[str, int] = {}
    left: int = 0
    at: str = ""


class RerunDecision(Struct, frozen=True):
    """A verdict that was re-run: the event that planned it, and both decisions."""

    plan: int
    before: Decision | None
    after: Decision | None


class RerunSummary(Struct):
    """The result of a re-run: the verdicts that are ``done``, by key, and how many are ``left``."""

    done: dict[int, RerunDecision] = {}
    turnouts: Turnouts = field(default_factory=Turnouts)
    left: int = 0

    @property
    def flips(self) -> dict[str, int]:
        turned = (one for one in self.done.values() if flipped(one.before, one.after))
        return Counter(f"{one.before} → {one.after}" for one in turned)

    def text(self, *, blind: bool = False) -> str:
        """Return what came of it in words; if ``blind``, without what turned over."""
        left = f", {self.left:,} left" if self.left else ""
        failed = self.turnouts.failed
        came = f"{self.turnouts.ballots - failed:,} answered"
        came += f", {failed:,} failed" if failed else ""
        said = f"{len(self.done):,} verdict{'s' * (len(self.done) != 1)} asked again{left}: {came}"
        if blind:
            return said
        flips = self.flips
        turns = ", ".join(f"{count:,} {turn}" for turn, count in flips.items())
        return f"{said}; {sum(flips.values()):,} turned over" + (f" ({turns})" if turns else "")


def halt(before: Verdict, made: Rerun) -> str:
    """Return how far a re-run came that was stopped, such as "stopped after 1 of 3", else ""."""
    asked = {one.juror for one in changes(before, made) if one.asked and one.after}
    cut = {
        body["id"]
        for body in made.verdict.body["jurors"]
        if (body.get("error") or {}).get("type") == "stopped"
    }
    return f"stopped after {len(asked - cut)} of {len(asked)}" if made.stopped else ""
