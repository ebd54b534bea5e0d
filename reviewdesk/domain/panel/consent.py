"""Records of what a person is asked to consent to before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class Host(Struct, frozen=True):
    """One host that would receive calls; its proxy is shown without credentials."""

    name: str
    calls: int | None
    """The number of its calls; ``None`` if they are not counted by host."""
    key_env: tuple[str, ...]
    """The variables whose keys are sent to the host."""
    proxy: str | None = None
    is_encrypted: bool = True
    jurors: tuple[str, ...] = ()
    """The jurors that are asked there with their models, where a plan tells them by host."""


class ConsentPlan(Struct, frozen=True):
    """What a person consents to; ``worst_usd`` is ``None`` if any juror has no price."""

    hosts: tuple[Host, ...]
    models: tuple[str, ...]
    calls: int
    worst_usd: float | None
    missing_keys: tuple[str, ...]
    """The variables whose key is missing or malformed; their jurors are not asked."""
    payload_sha256: str
    cases: int | None = None
    """The number of cases of a batch; ``None`` for re-runs."""
    stored: int = 0
    """The calls of a batch whose answer is stored, and that are not made."""
    again: Mapping[str, int] = field(default_factory=dict)
    """Those of ``calls`` that were made before without an answer, counted by kind of fault."""
    again_usd: float | None = None
    """The most that the calls in ``again`` may cost in US dollars; ``None`` if it is unknown."""
    batched: int = 0
    """Those of ``calls`` that go to the vendors' batch interfaces, at the price of batches."""
    waiting: int = 0
    """The calls that wait at a vendor, and that are not made."""
    live: tuple[str, ...] = ()
    """The jurors that are asked live beside batches, as their vendors have no batch interface."""
    unpriced: tuple[str, ...] = ()
    """The models without a price."""
    cached: int = 0
    """The calls that the cache answers, and that are not made."""
