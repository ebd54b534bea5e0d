"""How often the judge is right at each confidence: the diagram, and its bins as a table."""

from __future__ import annotations

from collections.abc import Sequence

from reviewdesk.domain.records import Design
from reviewdesk.domain.stats.calibration_page import (
    BinPosition,
    CalibrationPage,
    band,
    edges,
    place,
)
from reviewdesk.domain.stats.figures import Bin, Fit
from reviewdesk.views import words
from reviewdesk.views.document import (
    Column,
    Document,
    Gap,
    Paragraph,
    ReliabilityDiagram,
    Row,
    Section,
    Table,
    Text,
    Tone,
)

_MARKS = {
    BinPosition.INSIDE: ("●", Tone.PASS),
    BinPosition.BELOW: ("▼", Tone.FAIL),
    BinPosition.ABOVE: ("▲", Tone.WARN),
}
_COLUMNS = (
    Column("bin", right=False), Column("n"), Column("says"), Column("right"),
    Column("95%", rank=1), Column("calibrated", rank=2), Column("the bin lies"),
)  # fmt: skip
_LEGEND = (
    "n: labels; says: mean confidence; right: how often it was, with its 95% interval; "
    "calibrated: where 95 of 100 bins of a calibrated judge would lie, "
    "says ± 1.96·√(says·(1 - says)/n), with n its effective sample size. "
    "A bin below that is overconfident, above it underconfident."
)


def reliability(page: CalibrationPage, *, blind: bool = False, as_table: bool = False) -> Document:
    """Return the diagram with its table, or the table alone.

    A blind document uses the labelled verdicts alone.
    """
    metrics = page.alone.metrics if blind else page.calibration.headline
    fit = page.alone.fit if blind else page.fit
    design = Design.AD_HOC if blind else page.calibration.design
    basis = words.basis(design, metrics.n)
    if fit is None or not fit.bins:
        text = "There are no pass or fail labels yet: there is nothing to draw."
        return Document((Section("", (Paragraph(text, Tone.STRONG),)),))
    if as_table:
        return Document((bins(fit, basis),))
    return Document((diagram(fit, basis),), (bins(fit, basis),))


def diagram(fit: Fit, basis: str) -> Section:
    """Return the diagram with a sentence that describes it."""
    text = Paragraph(_outside_text(fit.bins), Tone.STRONG)
    note = f"how often it is right by how sure it is, {basis}"
    return Section("Reliability", (ReliabilityDiagram(fit, basis), text), note)


def bins(fit: Fit, basis: str) -> Section:
    """Return the points of the diagram as a table, with the place of each bin in words."""
    rows = []
    for one in fit.bins:
        expected = band(one)
        low, high = edges(one.index)
        sign, tone = _MARKS[place(one)]
        cells = (
            f"{low:.1f}-{high:.1f}",
            words.count(one.n),
            words.number(one.mean_confidence, 2),
            words.number(one.accuracy, 2),
            Text(f"{one.low:.2f}-{one.high:.2f}", Tone.MUTED),
            Text(f"{expected.low:.2f}-{expected.high:.2f}", Tone.MUTED),
            Text(f"{place(one).value} {sign}", tone),
        )
        rows.append(Row(cells))
    blocks = (
        Table(_COLUMNS, tuple(rows), caption="The bins of confidence"),
        Paragraph(_outside_text(fit.bins), Tone.STRONG),
        Gap(),
        Paragraph(_LEGEND, Tone.MUTED),
    )
    return Section("Bins", blocks, basis)


def _outside_text(found: Sequence[Bin]) -> str:
    """Give the number of bins outside the band, and the number expected by chance."""
    over = sum(place(one) is BinPosition.BELOW for one in found)
    under = sum(place(one) is BinPosition.ABOVE for one in found)
    if not over + under:
        whole = "the only bin lies" if len(found) == 1 else f"all {len(found)} bins lie"
        return f"{whole} in the band of chance"
    parts = [f"{over} overconfident"] * bool(over) + [f"{under} underconfident"] * bool(under)
    outside = f"{over + under} of {len(found)} bins outside ({', '.join(parts)})"
    return f"{outside}; chance alone puts about 1 in 20 there"
