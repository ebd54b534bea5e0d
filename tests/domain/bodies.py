"""Builders and strategies for verdict bodies, shared by the tests of the domain."""

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.jury.sheet import sheet_of
from reviewdesk.domain.jury.verdicts import Verdicts
from reviewdesk.domain.report_model import Written, json_of, verdict_model
from reviewdesk.domain.run.columns import Columns, unpacked
from reviewdesk.domain.run.packing import COLUMNS, Names, PackedRun
from reviewdesk.domain.run.window import packed_columns
from reviewdesk.domain.values import Status, Strategy
from reviewdesk.domain.verdict import (
    Ballot,
    Generator,
    Policy,
    Verdict,
    content_digest,
    item_digest,
    verdict_from_body,
)

UNIT = st.floats(0, 1)
GRID = st.integers(0, 20).map(lambda step: step / 20)
"""Scores that often tie and often stand exactly on a threshold."""
MODELS = ("claude-opus-4-7", "openai/gpt-4o", "gemini-2.5-pro", "house-model", None)
STATUSES = [status.value for status in Status]


def juror(name: str, score: float | None = None, **more: Any) -> Any:
    return {"id": name, **({} if score is None else {"score": score}), **more}


def body(*jurors: Any, **more: Any) -> Any:
    return {"id": "v", "case": {"test": "t"}, "jurors": list(jurors), **more}


def item_hash(value: Any, run_hash: str) -> str:
    verdict, _ = written(value)
    return item_digest(verdict, content_digest(verdict), run_hash).hex()


def panel(*scores: float | None, **more: Any) -> Any:
    """A body of jurors j0, j1, ... with the scores given; ``None`` timed out."""
    return body(
        *(
            juror(f"j{seat}", score, **({"status": "timeout"} if score is None else {}))
            for seat, score in enumerate(scores)
        ),
        **more,
    )


def written(value: Any) -> Written:
    """A body as a reader of reports gives it."""
    text = json_of(value)
    return verdict_model(text), text


def read(value: Any, generator: str | None = None, **defaults: Any) -> Verdict:
    return verdict_from_body(value, Policy.from_body(defaults), Generator(generator))


def assessed(value: Any, **defaults: Any) -> Assessment:
    return assess(read(value, **defaults))


def ballot(value: Any, threshold: float | None = 0.7) -> Ballot:
    return read(body(value), threshold=threshold).ballots[0]


def packed(verdicts: Iterable[Verdict], size: int = 1000) -> PackedRun:
    """Verdicts in windows of a size, one after the other."""
    names, rows = Names(), list(verdicts)
    parts = [_window(rows[at : at + size], names) for at in range(0, len(rows) or 1, size)]
    joined = {name: b"".join(part[name] for part in parts) for name in COLUMNS}
    return PackedRun(joined, tuple(names.names), tuple(names.quorums))


def _window(rows: Sequence[Verdict], names: Names) -> dict[str, bytes]:
    seats = [names.seats(tuple(one.id for one in verdict.ballots)) for verdict in rows]
    return packed_columns(Verdicts(sheet_of(rows, seats)), names)


def columns(verdicts: Iterable[tuple[int, Verdict]]) -> Columns:
    """Verdicts, each with its key, as the desk packs and unpacks them."""
    rows = list(verdicts)
    return unpacked(packed(verdict for _, verdict in rows), [key for key, _ in rows])


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


@st.composite
def jurors(draw: st.DrawFn, seat: int) -> Any:
    """One juror as a canonical report may state it: a failed one has no answer."""
    value: Any = {"id": f"j{seat}", "model": draw(st.sampled_from(MODELS))}
    optional = {
        "status": st.sampled_from(STATUSES),
        "confidence": UNIT,
        "weight": st.floats(0, exclude_min=True, allow_infinity=False),
        "label": st.sampled_from(["PASS", "REJECT", ""]),
        "trimmed": st.sampled_from(["low", "high"]),
    }
    for key, strategy in optional.items():
        if draw(st.booleans()):
            value[key] = draw(maybe(strategy))
    if draw(st.integers(0, 4)) == 0:
        return value | {"error": {"message": "no answer"}}
    if draw(st.booleans()):
        value["score"] = draw(maybe(GRID))
    if draw(st.booleans()):
        value["pass"] = draw(maybe(st.booleans()))
    return value


_METRICS = ("krippendorff_alpha", "r_wg", "pairwise", "consensus_share", "variance", "unknown")
_OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "threshold": GRID,
    "quorum": st.sampled_from([0.5, 0.6, 0.67, 1, 1.0, "2/3", "3/3", 0.001]),
    "strategy": st.sampled_from([strategy.value for strategy in Strategy]),
    "decision": st.sampled_from(["pass", "fail", "inconclusive", "error"]),
    "score": UNIT,
    "agreement": st.fixed_dictionaries(
        {"value": maybe(st.floats(-2, 1)), "metric": st.sampled_from(_METRICS)}
    ),
    "band": st.sampled_from(["high", "medium", "low"]),
    "same_family": st.booleans(),
    "bias_warning": st.sampled_from(["", "the producer's own words"]),
    "regime": st.sampled_from(["routine", "irreversible", "dispute"]),
    "generator": st.fixed_dictionaries({"model": st.sampled_from(MODELS)}),
}


@st.composite
def bodies(draw: st.DrawFn) -> Any:
    """A verdict body that a canonical report may hold."""
    seated = [draw(jurors(seat)) for seat in range(draw(st.integers(0, 7)))]
    value = body(*seated)
    for key, strategy in _OPTIONAL.items():
        if draw(st.booleans()):
            value[key] = draw(maybe(strategy))
    if draw(st.booleans()):
        value["escalate_for_review"] = draw(st.booleans())
    if draw(st.booleans()):
        names = st.lists(st.sampled_from([one["id"] for one in seated] or ["-"]), unique=True)
        value["trim"] = {
            "method": draw(st.sampled_from(["quantile", "median", "none"])),
            "fraction": draw(maybe(st.floats(0, 0.5, exclude_max=True))),
            "rounding": draw(maybe(st.sampled_from(["down", "nearest", "up"]))),
            "dropped_low": draw(names) if seated else [],
            "dropped_high": draw(names) if seated else [],
        }
    return value
