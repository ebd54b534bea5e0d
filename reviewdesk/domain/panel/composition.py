"""The description of a panel before it is asked: its seats, breakdown, cost and warnings."""

from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from reviewdesk.domain.jury import rules
from reviewdesk.domain.jury.family import Family, family
from reviewdesk.domain.panel.juror import SHORT_LIMIT, Juror, thinks
from reviewdesk.domain.panel.prompt import CASE_SLOTS, render
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.domain.panel.vendors import key_variable
from reviewdesk.domain.verdict import BY_REGIME, Generator, Strategy

_BROKEN_BY_ONE = frozenset({
    Strategy.MEAN, Strategy.WEIGHTED_AVERAGE, Strategy.HIGHEST, Strategy.LOWEST,
    Strategy.UNANIMOUS, Strategy.FIRST_DISAGREEMENT,
})  # fmt: skip
"""The strategies that a single juror can break: a mean follows any one score, an extreme is one
score, and one vote ends unanimity."""


def strategy_breakdown(strategy: Strategy, rule: PanelRule, seats: int) -> rules.Breakdown | None:
    """Return how many bought jurors ``strategy`` tolerates on a panel of ``seats`` jurors.

    One more breaks it: moves the value anywhere, or turns a decision on which all others agree.
    Return ``None`` if that is unknown, as for a weighted vote, which depends on the confidence that
    jurors state. A supermajority of share ``s`` tolerates ``floor(n (1 - s))``, at most ``n - 3``.
    """
    if strategy is Strategy.TRIMMED_MEAN:
        return rules.breakdown(seats, rule.trim, rule.rounding)
    if strategy in {Strategy.MEDIAN, Strategy.MAJORITY}:
        return rules.Breakdown(seats, (seats - 1) // 2)
    if strategy is Strategy.QUORUM:
        passing = next(c for c in range(1, seats + 1) if rules.quorum_met(c, seats, rule.quorum))
        return rules.Breakdown(seats, min(passing, seats - passing + 1) - 1)
    if strategy is Strategy.SUPERMAJORITY:
        # A bought juror may vote the other way, or abstain until too few are left to decide.
        borne = int(seats * (1 - rules.exact_share(rule.supermajority)))
        left = seats - rules.LEAST_COMMITTED
        return None if left < 0 else rules.Breakdown(seats, min(borne, left))
    return rules.Breakdown(seats, 0) if strategy in _BROKEN_BY_ONE else None


ITEM_BYTES = 4000
"""The bytes of the case that costs assume: about 600 words with rubric, input and response."""


class PanelPlace(Struct, frozen=True):
    """One juror with its family, its share of the weight and the variable of its API key."""

    juror: Juror
    family: Family | None
    share: float
    """The juror's share of all weights; a juror without a weight counts as 1."""
    key_variable: str | None


class Cost(Struct, frozen=True):
    """The US dollars of a case of ``ITEM_BYTES``; ``bribe`` buys the jurors that carry the trim."""

    worst: float
    typical: float
    bribe: float


class Composition(Struct, frozen=True):
    """A panel as ``panel check`` reports it; ``strategy`` is ``None`` if a person decides."""

    spec: PanelSpec
    seats: tuple[PanelPlace, ...]
    families: tuple[str, ...]
    strategy: Strategy | None
    trim: rules.Breakdown
    by_strategy: rules.Breakdown | None
    cost: Cost | None
    unpriced: tuple[str, ...]
    warnings: tuple[str, ...]
    hash: str
    file: str = ""
    missing: tuple[str, ...] = ()
    """The variables of keys that are not set; those of unusable ones are ``malformed``."""
    malformed: tuple[str, ...] = ()


def composition(spec: PanelSpec, generator: Generator | None = None) -> Composition:
    """Describe a panel; ``generator`` is the model whose responses it will judge, if known."""
    weights = [1.0 if juror.weight is None else juror.weight for juror in spec.jurors]
    whole = sum(weights)
    seats = tuple(
        PanelPlace(
            juror,
            family(juror.model, juror.vendor),
            weight / whole,
            key_variable(juror.vendor, juror.api_key_env),
        )
        for juror, weight in zip(spec.jurors, weights, strict=True)
    )
    rule = spec.rule
    count = len(seats)
    strategy = spec.strategy_for(()) or (BY_REGIME.get(rule.regime) if rule.regime else None)
    borne = rules.breakdown(count, rule.trim, rule.rounding)
    cost = _cost(spec.jurors, borne.breaks_at)
    families = tuple(dict.fromkeys(seat.family.name for seat in seats if seat.family))
    own = None if generator is None else family(generator.model, generator.vendor)
    kin = [one.juror.name for one in seats if own and one.family and one.family.name == own.name]
    kinship = []
    if own and kin:
        kinship.append(f"of the generator's own family ({own.name}): {', '.join(kin)}")
    elif own is None and generator not in {None, Generator()}:
        text = "the generator's family is not known, so jurors cannot be compared with it"
        kinship.append(text)
    return Composition(
        spec=spec,
        seats=seats,
        families=families,
        strategy=strategy,
        trim=borne,
        by_strategy=None if strategy is None else strategy_breakdown(strategy, rule, count),
        cost=cost,
        unpriced=tuple(juror.name for juror in spec.jurors if juror.price is None),
        warnings=(
            *_panel_warnings(spec, families),
            *kinship,
            *(text for seat in seats for text in _juror_warnings(seat)),
        ),
        hash=spec.hash(spec.rubric),
    )


def _cost(jurors: Sequence[Juror], breaking: int) -> Cost | None:
    worst = []
    typical = []
    for juror in jurors:
        if juror.price is None:
            return None
        slots = dict.fromkeys(CASE_SLOTS, "x")
        prompt = render(juror.system_prompt, juror.prompt, slots, "0" * 32)
        sent = ITEM_BYTES + len(prompt.system.encode()) + len(prompt.user.encode())
        worst.append(juror.price.cost(sent, juror.max_tokens))
        # Two or three sentences in JSON, after what a thinking model is assumed to think.
        answer = min(1300 if thinks(juror.model, juror.extra) else 300, juror.max_tokens)
        # A token has about four bytes.
        typical.append(juror.price.cost(-(-sent // 4), answer))
    return Cost(sum(worst), sum(typical), sum(sorted(typical)[:breaking]))


def _panel_warnings(spec: PanelSpec, families: Sequence[str]) -> Iterator[str]:
    if len(spec.jurors) < 5:
        yield f"{_plural(len(spec.jurors), 'juror')}: under five, a single one weighs a lot"
    if len(families) < 3:
        named = f" ({', '.join(sorted(families))})" if families else ""
        text = f"{_plural(len(families), 'known family', 'known families')}{named}: "
        yield f"{text}under three, jurors may be wrong together"
    by_model: dict[str, list[Juror]] = {}
    for juror in spec.jurors:
        # Routers write claude-sonnet-5.5 for claude-sonnet-5-5.
        bare = juror.model.lower().rpartition("/")[2].replace(".", "-")
        by_model.setdefault(bare, []).append(juror)
    for some in by_model.values():
        if len(some) > 1:
            names = ", ".join(juror.name for juror in some)
            model = some[0].model.lower().rpartition("/")[2]
            yield f"one model on {_plural(len(some), 'seat')}: {names} ({model})"
    if not spec.rubric:
        yield "the panel has no rubric, so each case must bring its own"


def _juror_warnings(seat: PanelPlace) -> Iterator[str]:
    """Yield warnings about what a juror's model ignores, and a key that would go unencrypted."""
    juror = seat.juror
    if juror.temperature is not None and juror.acting_temperature is None:
        yield f"the temperature of {juror.name} is not sent: {juror.model} takes none"
    if juror.max_tokens < SHORT_LIMIT and thinks(juror.model, juror.extra):
        yield (
            f"{juror.name} thinks before it answers, and its max_tokens of {juror.max_tokens} may "
            f"leave no room for the answer; {SHORT_LIMIT} or more is safer"
        )
    parts = urlsplit(juror.base_url or "")
    host = parts.hostname or "localhost"
    try:
        own = ip_address(host).is_loopback
    except ValueError:
        own = host == "localhost" or host.endswith(".localhost")
    if seat.key_variable and parts.scheme == "http" and not own:
        yield f"{juror.name}: {seat.key_variable} would go over plain http to {host}"


def _plural(count: int, one: str, several: str = "") -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"
