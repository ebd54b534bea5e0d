"""What a person agrees to before a panel is asked, what is told meanwhile, and what came of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from reviewdesk.domain.panel.samples import flips
from reviewdesk.domain.verdict import SLACK, CanonicalBallot, Status
from reviewdesk.errors import UsageError


class Host(Struct, frozen=True):
    """One host that would receive calls; its proxy is shown without credentials."""

    name: str
    calls: int
    """The number of its calls; 0 where only the hosts are listed."""
    key_env: tuple[str, ...]
    proxy: str | None = None
    is_encrypted: bool = True
    jurors: tuple[str, ...] = ()


class ConsentPlan(Struct, frozen=True):
    """What a person consents to; ``worst_usd`` is ``None`` if any juror has no price."""

    hosts: tuple[Host, ...] = ()
    models: tuple[str, ...] = ()
    calls: int = 0
    worst_usd: float | None = 0.0
    missing_keys: tuple[str, ...] = ()
    """The variables whose key is missing or malformed; their jurors are not asked."""
    payload_sha256: str = ""
    cases: int | None = None
    """The number of cases of a batch; ``None`` for re-runs."""
    stored: int = 0
    """The calls of a batch that are not made because their answers are stored."""
    again: Mapping[str, int] = {}
    """How many of ``calls`` were made before without an answer, by kind of fault."""
    again_usd: float | None = None
    """The maximum cost of the calls in ``again`` in US dollars; ``None`` if it is unknown."""
    batched: int = 0
    """How many of ``calls`` go to the vendors' batch interfaces, at the price of batches."""
    waiting: int = 0
    """The calls that are not made because they already wait at a vendor."""
    live: tuple[str, ...] = ()
    """The jurors that are asked live beside batches, as their vendors have no batch interface."""
    unpriced: tuple[str, ...] = ()
    cached: int = 0
    """The calls that are not made because the cache answers them."""

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "hosts": [host.name for host in self.hosts],
            "models": list(self.models),
            "calls": self.calls,
            "worst_case_usd": self.worst_usd,
            "payload_sha256": self.payload_sha256,
        }

    def check_ceiling(self, usd: float | None) -> None:
        if usd is not None and self.unpriced:
            problem = f"a ceiling needs prices, and {', '.join(self.unpriced)} has none"
            hint = "Give each juror price: {input, output} in US dollars per million tokens."
            raise UsageError(problem, hint)


STOPPED = "juror_stopped"
"""The kind of error of a ballot whose juror was not asked because it was stopped."""

RATE_LIMITED = "rate_limited"
"""The kind of error of a ballot that was lost to a rate limit."""


def kind_of_loss(ballot: CanonicalBallot) -> str:
    error = ballot.get("error") or {}
    return str(error.get("type") or ballot["status"])


class Turnout(Struct):
    """The counts of one juror's ballots over many cases."""

    juror: str
    answered: int = 0
    abstained: int = 0
    why: Counter[str] = field(default_factory=Counter)
    stopped: str | None = None
    """Why the juror was stopped or set aside for the run, or last lost a ballot to a rate limit."""
    not_asked: int = 0
    flips: tuple[int, int] = (0, 0)
    """How many pairs of answers to the same question differ, and the number of such pairs."""

    @property
    def failed(self) -> int:
        return self.why.total()


class Turnouts(Struct):
    """The turnout of a whole panel, by juror in order of first appearance, and in total."""

    by_juror: dict[str, Turnout] = {}
    messages: dict[str, str] = {}

    def add(self, ballots: Iterable[CanonicalBallot], threshold: float | None = None) -> None:
        for ballot in ballots:
            one = self.by_juror.setdefault(ballot["id"], Turnout(ballot["id"]))
            status = Status(ballot["status"])
            one.answered += status is Status.OK
            one.abstained += status is Status.ABSTAINED
            one.not_asked += status is Status.NOT_ASKED
            differing, pairs = flips(ballot, threshold)
            one.flips = one.flips[0] + differing, one.flips[1] + pairs
            if status.failed:
                kind = kind_of_loss(ballot)
                one.why[kind] += 1
                message = (ballot.get("error") or {}).get("message", "")
                self.messages.setdefault(kind, message)
                if kind in (STOPPED, RATE_LIMITED):
                    one.stopped = message

    @property
    def why(self) -> Counter[str]:
        """How many ballots each kind of loss took."""
        return sum((one.why for one in self.by_juror.values()), Counter())

    @property
    def answered(self) -> int:
        return sum(one.answered for one in self.by_juror.values())

    @property
    def abstained(self) -> int:
        return sum(one.abstained for one in self.by_juror.values())

    @property
    def failed(self) -> int:
        return self.why.total()

    @property
    def ballots(self) -> int:
        return self.answered + self.abstained + self.failed

    @property
    def main_loss(self) -> str:
        """The message of the most frequent loss but a stop, and how many ballots it took."""
        losses = self.why.most_common()
        kind, count = next((one for one in losses if one[0] != "stopped"), losses[0])
        return f"{self.messages[kind]} ({count:,} of {self.ballots:,} ballots)"


class Allowance(Struct, frozen=True):
    """How many ballots a run may lose: a count, or a share of its ballots."""

    most: float = 0
    is_share: bool = False

    def is_passed(self, lost: int, ballots: int) -> bool:
        return lost > (self.most * ballots if self.is_share else self.most) + SLACK

    @property
    def text(self) -> str:
        return f"{self.most * 100:g}%" if self.is_share else f"{self.most:g}"


class ModelPause(Struct, frozen=True):
    """A model that is asked nothing for ``left`` seconds, and the reason, such as ``429``."""

    model: str
    reason: str
    left: float
    is_named: bool = False
    """Whether the host named the end of the pause."""


class LiveProgress(Struct):
    """The progress of a live run."""

    done: int = 0
    cases: int = 0
    calls: int = 0
    """The calls that were sent; ``unasked`` were not, because their juror was stopped."""
    planned: int = 0
    spent_usd: float | None = None
    """The cost so far; ``None`` if a juror has no price."""
    reused: int = 0
    """The answers that were on disk."""
    unasked: int = 0
    spared: int = 0
    """The calls that were not needed, because the panel decided without them."""
    waiting: int = 0
    """The calls that wait at vendors; ``fetched`` counts those whose batch ended in this run."""
    fetched: int = 0
    unsent: int = 0
    """The calls that no vendor accepted for a batch."""
    seconds: float = 0.0
    idle: float = 0.0
    """The seconds in which every call waited."""
    pauses: tuple[tuple[ModelPause, int], ...] = ()
    """The models that are paused, and how many drawn calls wait for each."""

    @property
    def rate(self) -> float:
        return self.calls / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """The seconds that remain; ``None`` before the first call.

        Those of the remaining calls at the rate so far, without the time in which all calls waited,
        and at least those of each pause and of the calls after it.
        """
        rest = max(0, self.planned - self.calls - self.unasked - self.spared)
        working = self.seconds - self.idle
        each = working / self.calls if self.calls and working > 0 else 0.0
        times = [rest * each] if each else []
        times += [pause.left + waiting * each for pause, waiting in self.pauses]
        return max(times, default=None)


class Listener(Struct, frozen=True):
    """Callbacks of a run: ``agreed`` asks for consent, ``told`` and ``noted`` inform the user.

    ``came`` takes each ballot whose reply is stored.
    """

    agreed: Callable[[ConsentPlan], bool] = lambda _: True
    told: Callable[[LiveProgress], object] = lambda _: None
    noted: Callable[[str], None] = lambda _: None
    came: Callable[[CanonicalBallot], object] = lambda _: None


class BatchSummary(LiveProgress):
    """The progress and the figures of a run; ``problem`` is the reason if it counts as failed."""

    report: str = ""
    passed: int = 0
    failed: int = 0
    inconclusive: int = 0
    no_decision: int = 0
    """The verdicts in which jurors abstained and none voted."""
    errors: int = 0
    failed_checks: int = 0
    stopped_early: int = 0
    """The verdicts whose panel stopped before it had asked every juror."""
    problem: str | None = None
    turnouts: Turnouts = field(default_factory=Turnouts)

    @property
    def saved(self) -> float | None:
        """The share of the full panel's calls that were not made; ``None`` if none was spared."""
        return self.spared / (self.calls + self.reused + self.spared) if self.spared else None
