"""The value types of the fields in ``reviewdesk.report/1``."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, WithJsonSchema

from reviewdesk.reports.validation import Wanted

_FRACTION = re.compile(r"[0-9]+/[0-9]+\Z")


def _quorum(value: Any) -> Any:
    if isinstance(value, str):
        fits = _FRACTION.match(value) is not None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        fits = 0 < value <= 1
    else:
        fits = value is None
    if not fits:
        raise ValueError("not a quorum")
    return value


def _texts(value: Any) -> Any:
    listed = value if isinstance(value, list) else [value]
    if value is not None and not all(isinstance(text, str) for text in listed):
        raise ValueError("not a text or a list of texts")
    return value


def _whole(value: float) -> float:
    # JSON has one kind of number: 3.0 is as whole as 3.
    if not float(value).is_integer():
        raise ValueError("not a whole number")
    return value


Text: TypeAlias = str | None
Finite: TypeAlias = Annotated[float, Wanted("a finite number")]
Unit: TypeAlias = Annotated[float, Field(ge=0, le=1), Wanted("a number from 0 to 1")] | None
Fraction: TypeAlias = (
    Annotated[float, Field(ge=0, lt=0.5), Wanted("a number from 0 up to, but not including, 0.5")]
    | None
)
Positive: TypeAlias = Annotated[float, Field(gt=0), Wanted("a number above 0")]
Amount: TypeAlias = Annotated[float, Field(ge=0), Wanted("a number, 0 or more")] | None
Vote: TypeAlias = Annotated[bool, Wanted("true, false or null")] | None
Count: TypeAlias = (
    Annotated[
        float,
        Field(ge=0),
        AfterValidator(_whole),
        Wanted("a whole number, 0 or more"),
        WithJsonSchema({"type": "integer", "minimum": 0}),
    ]
    | None
)
Ordinal: TypeAlias = (
    Annotated[
        float,
        Field(ge=1),
        AfterValidator(_whole),
        Wanted("a whole number, 1 or more"),
        WithJsonSchema({"type": "integer", "minimum": 1}),
    ]
    | None
)
Quorum: TypeAlias = Annotated[
    Any,
    AfterValidator(_quorum),
    Wanted('a number above 0 and at most 1, or a fraction such as "2/3"'),
    WithJsonSchema(
        {
            "type": ["number", "string", "null"],
            "exclusiveMinimum": 0,
            "maximum": 1,
            "pattern": "^[0-9]+/[0-9]+$",
        }
    ),
]
Reference: TypeAlias = Annotated[
    Any,
    AfterValidator(_texts),
    Wanted("a text or a list of texts"),
    WithJsonSchema({"type": ["string", "array", "null"], "items": {"type": "string"}}),
]
StrategyName: TypeAlias = Literal[
    "quorum", "majority", "unanimous", "weighted_average", "mean", "median", "highest", "lowest",
    "trimmed_mean", "weighted_vote", "first_disagreement", "single", "external", "supermajority",
] | None  # fmt: skip
StatusName: TypeAlias = Literal[
    "ok", "error", "timeout", "parse_fail", "empty", "abstained", "missing_key", "unknown",
    "not_asked",
] | None  # fmt: skip
AgreementMetric: TypeAlias = Literal[
    "krippendorff_alpha", "r_wg", "pairwise", "consensus_share", "variance", "unknown"
]
Free: TypeAlias = dict[str, Any]
