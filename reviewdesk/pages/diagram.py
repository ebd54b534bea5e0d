"""The reliability diagram as inline SVG, with a table of the same figures."""

from __future__ import annotations

from reviewdesk.domain.stats.diagram import (
    BinPosition,
    band,
    edges,
    place,
)
from reviewdesk.domain.stats.figures import Bin, Fit
from reviewdesk.pages import words
from reviewdesk.pages.blocks import table
from reviewdesk.pages.htmltext import Html, el, joined

_SIDE, _LEFT, _TOP, _BARS = 400.0, 56.0, 16.0, 52.0
_WIDTH, _HEIGHT = _LEFT + _SIDE + 16, _TOP + _SIDE + 44 + _BARS
_WORDS = {
    BinPosition.INSIDE: "as calibrated",
    BinPosition.BELOW: "overconfident",
    BinPosition.ABOVE: "underconfident",
}


def reliability(found: Fit, basis: str) -> Html | None:
    """Return the figure, or ``None`` if no bin holds a label."""
    if not found.bins:
        return None
    caption = f"How often the judge is right where it says how sure it is ({basis}, n {found.n})"
    return el(
        "figure",
        el("figcaption", caption),
        el("div", _drawing(found), _legend(), class_="plot"),
        table(
            "The same points as a table",
            ("confidence", "labels", "says", "right", "95% interval", "calibrated", "place"),
            [_row(one) for one in found.bins],
        ),
    )


def _row(one: Bin) -> tuple[str, ...]:
    low, high = edges(one.index)
    expected = band(one)
    return (
        f"{low:.1f} to {high:.1f}",
        words.count(one.n),
        words.number(one.mean_confidence),
        words.number(one.accuracy),
        words.ends(one.low, one.high),
        words.ends(expected.low, expected.high),
        _WORDS[place(one)],
    )


def _legend() -> Html:
    return el(
        "p",
        "Circles lie where a calibrated judge's would (the shaded bands, 95%); triangles that "
        "point down are overconfident, up underconfident. Whiskers are Wilson's 95% intervals, "
        "bars the number of labels, the dashed line is perfect calibration.",
        class_="muted",
    )


def _x(value: float) -> float:
    return _LEFT + value * _SIDE


def _y(value: float) -> float:
    return _TOP + (1 - value) * _SIDE


def _num(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _drawing(found: Fit) -> Html:
    description = "; ".join(
        f"says {one.mean_confidence:.2f}, right {one.accuracy:.2f} of {one.n}" for one in found.bins
    )
    return el(
        "svg",
        el("title", "Reliability diagram", id="diagram-title"),
        el("desc", description, id="diagram-words"),
        _axes(),
        *(_band(one) for one in found.bins),
        _line("ideal", _x(0), _y(0), _x(1), _y(1)),
        *(_point(one) for one in found.bins),
        *_counts(found.bins),
        viewBox=f"0 0 {_num(_WIDTH)} {_num(_HEIGHT)}",
        role="img",
        aria_labelledby="diagram-title diagram-words",
    )


def _axes() -> Html:
    ticks = [
        piece
        for at in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
        for piece in (
            _line("grid", _x(0), _y(at), _x(1), _y(at)),
            _line("grid", _x(at), _y(0), _x(at), _y(1)),
            _text(f"{at:.1f}", _x(0) - 8, _y(at) + 4, "end"),
            _text(f"{at:.1f}", _x(at), _y(0) + 18, "middle"),
        )
    ]
    rotation = f"rotate(-90 14 {_num(_y(0.5))})"
    return joined(
        [
            *ticks,
            _text("what the judge says (confidence)", _x(0.5), _y(0) + 36, "middle"),
            _text("how often it is right", 14, _y(0.5), "middle", rotation),
        ]
    )


def _band(one: Bin) -> Html:
    expected, (low, high) = band(one), edges(one.index)
    return el(
        "rect",
        class_="band",
        x=_num(_x(low) + 2),
        y=_num(_y(expected.high)),
        width=_num(_x(high) - _x(low) - 4),
        height=_num(max(_y(expected.low) - _y(expected.high), 1.0)),
    )


def _point(one: Bin) -> Html:
    x, y, where = _x(one.mean_confidence), _y(one.accuracy), place(one)
    whisker = [
        _line("whisker", x, _y(one.low), x, _y(one.high)),
        _line("whisker", x - 4, _y(one.low), x + 4, _y(one.low)),
        _line("whisker", x - 4, _y(one.high), x + 4, _y(one.high)),
    ]
    if where is BinPosition.INSIDE:
        mark = el("circle", class_="inside", cx=_num(x), cy=_num(y), r="6")
    else:
        way = 1 if where is BinPosition.BELOW else -1
        corners = ((x - 7, y - 5 * way), (x + 7, y - 5 * way), (x, y + 8 * way))
        path = "M" + " L".join(f"{_num(a)} {_num(b)}" for a, b in corners) + " Z"
        mark = el("path", class_="below" if way > 0 else "above", d=path)
    return joined([*whisker, mark])


def _counts(bins: tuple[Bin, ...]) -> list[Html]:
    """Draw the number of labels in each bin as bars with numbers, under the plot."""
    most, floor = max(one.n for one in bins), _HEIGHT - 2
    room = _BARS - 26
    pieces = []
    for one in bins:
        low, high = edges(one.index)
        tall = max(room * one.n / most, 1.0)
        bar = el(
            "rect",
            class_="bar",
            x=_num(_x(low) + 6),
            y=_num(floor - tall),
            width=_num(_x(high) - _x(low) - 12),
            height=_num(tall),
        )
        pieces += [bar, _text(f"{one.n:,}", (_x(low) + _x(high)) / 2, floor - tall - 4, "middle")]
    return pieces


def _line(class_: str, x1: float, y1: float, x2: float, y2: float) -> Html:
    return el("line", class_=class_, x1=_num(x1), y1=_num(y1), x2=_num(x2), y2=_num(y2))


def _text(text: str, x: float, y: float, anchor: str, transform: str | None = None) -> Html:
    return el("text", text, x=_num(x), y=_num(y), text_anchor=anchor, transform=transform)
