"""Re-runs of one item, running and ended, as a person sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct, field

from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.enums import Status
from reviewdesk.domain.panel.rerun import FlipRate, Rerun, RerunScope, changes, flipped, missing
from reviewdesk.domain.panel.turnout import LiveProgress, Turnouts
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Decision


class Arrival(Struct, frozen=True):
    """One ballot of a re-run; ``error`` is empty if the ballot can be used."""

    juror: str
    vote: bool | None
    score: float | None
    status: str
    error: str

    @property
    def failed(self) -> bool:
        """Whether the ballot holds no answer; an abstention counts as an answer."""
        return bool(self.error) or Status(self.status).missing


class OpenRerun(Struct, frozen=True):
    """A running re-run: its verdicts, the jurors that are asked, and the ballots so far.

    Of several verdicts the ballots are not kept, only the ``progress``.
    """

    keys: frozenset[int]
    verdict: str
    asked: tuple[str, ...]
    came: tuple[Arrival, ...] = ()
    progress: LiveProgress | None = None
    stopping: bool = False

    @property
    def alone(self) -> bool:
        """Whether one verdict is asked about."""
        return len(self.keys) == 1


class RerunHistory(Struct, frozen=True):
    """The re-runs of an item, oldest first, flip rates of item and run, and a running re-run."""

    reruns: tuple[Rerun, ...] = ()
    here: tuple[FlipRate, ...] = ()
    in_run: tuple[FlipRate, ...] = ()
    running: OpenRerun | None = None


class RerunResult(Struct, frozen=True):
    """How many jurors were asked, answered and failed; ``stopped`` if the re-run ended early."""

    before: Decision | None
    after: Decision | None
    asked: int
    answered: int
    failed: int
    stopped: bool

    @property
    def count(self) -> str:
        return counted(self.answered, self.failed)

    @property
    def decided(self) -> str:
        """The decisions before and after the re-run, as in "pass → fail"."""
        was, now = (one.value if one else "no decision" for one in (self.before, self.after))
        return f"{was} → {now}"

    @property
    def halt(self) -> str:
        """How far a stopped re-run came, and both decisions, in words."""
        return f"{stopped_after(self.answered + self.failed, self.asked)}: {self.decided}"


class RerunExtent(Struct, frozen=True):
    """Who is asked again about how many verdicts; ``shown`` is the filter that chose them.

    Of a re-run that was cut off, ``left`` verdicts wait since ``at``.
    """

    scope: RerunScope
    juror: str | None
    panel: str
    verdicts: int
    shown: str | None
    left_out: Mapping[str, int] = field(default_factory=dict)
    left: int = 0
    at: str = ""


class RerunDecision(Struct, frozen=True):
    """A verdict that was asked about again: the event that planned it, and both decisions."""

    plan: int
    before: Decision | None
    after: Decision | None


class RerunSummary(Struct):
    """What a re-run brought: the verdicts that are ``done`` by key, and how many are ``left``."""

    verdicts: int
    done: dict[int, RerunDecision] = field(default_factory=dict)
    turnouts: Turnouts = field(default_factory=Turnouts)
    spent_usd: float | None = None
    left: int = 0

    @property
    def flips(self) -> dict[str, int]:
        """How many decisions turned over, by how they did."""
        turned = (one for one in self.done.values() if flipped(one.before, one.after))
        return Counter(f"{one.before} → {one.after}" for one in turned)

    @property
    def count(self) -> str:
        """How many verdicts were asked about again, and how many are left."""
        left = f", {self.left:,} left" if self.left else ""
        return f"{len(self.done):,} verdict{'s' * (len(self.done) != 1)} asked again{left}"

    @property
    def text(self) -> str:
        """How many verdicts were asked about again, and how many decisions turned over."""
        flips = self.flips
        turns = ", ".join(f"{count:,} {turn}" for turn, count in flips.items())
        turned = f"{sum(flips.values()):,} turned over" + (f" ({turns})" if turns else "")
        return f"{self.count}: {turned}"


def counted(answered: int, failed: int) -> str:
    """Return how many jurors answered and how many failed, in words."""
    return f"{answered} answered" + (f", {failed} failed" if failed else "")


def stopped_after(came: int, asked: int) -> str:
    """Return how far a stopped re-run came, in words."""
    return f"stopped after {came} of {asked}"


def outcome(item: Item, made: Rerun) -> RerunResult:
    """Return the result of ``made``, a re-run of ``item``."""
    asked = [one.juror for one in changes(item.verdict, made) if one.asked and one.after]
    stopped_names = _cut_short(made.verdict.body) if made.stopped else set()
    missing_names = set(missing(made.verdict))
    failed = sum(name in missing_names and name not in stopped_names for name in asked)
    answered = sum(name not in missing_names for name in asked)
    before = item.assessment.decision
    after = made.assessment.decision
    return RerunResult(before, after, len(asked), answered, failed, made.stopped)


def _cut_short(body: CanonicalVerdict) -> set[str]:
    return {
        one["id"]
        for one in body["jurors"]
        if (error := one.get("error")) and error.get("type") == "stopped"
    }
