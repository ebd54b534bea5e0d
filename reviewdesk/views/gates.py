"""The result of a suite of gates: a line for each entry, its findings in words, and the counts."""

from collections import Counter
from collections.abc import Iterator

from reviewdesk.domain.gates.expect import EntryKind, EntryResult, Finding, GateStatus, SuiteResult
from reviewdesk.domain.safetext import show_line
from reviewdesk.views.document import (
    Block,
    Document,
    Paragraph,
    Quote,
    Section,
    Text,
    Tone,
    outside,
)

_COUNTED = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
_RARE = {"NOT SHOWN": "not shown", "ERROR": "could not be run"}
_MOST_FAILED = 10
_MOST_SKIPPED = 3
"""The most failed and the most skipped checks of an entry that are shown."""
_TONES = {
    "PASS": Tone.PASS, "FAIL": Tone.FAIL, "SKIP": Tone.MUTED, "ERROR": Tone.FAIL,
    "NOT SHOWN": Tone.WARN,
}  # fmt: skip


def gates(result: SuiteResult, *, representative: bool = False) -> Document:
    """Describe the result of a suite; ``representative`` also reports unrepresentative labels."""
    tone = Tone.FAIL if result.errors or result.count(GateStatus.FAIL) else Tone.TEXT
    blocks: list[Block] = [Paragraph(counts(result, strict=representative), tone)]
    for entry in result.entries:
        word = _word(entry, strict=representative)
        checked = () if entry.error else (" ", outside(headline(entry)))
        lead = Text(f"{word} ", _TONES[word])
        blocks.append(Paragraph((outside(entry.name, 200), *checked), lead=lead))
        if lines := "\n".join(_below(entry)):
            blocks.append(Quote(lines))
    blocks += [Quote(line) for line in doubt_lines(result, strict=representative)]
    return Document((Section("Gates", tuple(blocks), outside(result.suite)),))


def text(result: SuiteResult, *, strict: bool) -> Iterator[str]:
    """Yield a suite's result in lines; entries that could not run are listed without a reason."""
    for entry in result.entries:
        word = _word(entry, strict=strict)
        name = show_line(entry.name, 200)
        yield f"{word:5}  {name}" + (f"  ({headline(entry)})" if not entry.error else "")
        if not entry.error:
            yield from (f"       {line}" for line in _below(entry))
    yield counts(result, strict=strict)


def counts(result: SuiteResult, *, strict: bool) -> str:
    """Return how many gates passed, failed, were skipped, are not shown or could not be run."""
    found = Counter(_word(entry, strict=strict) for entry in result.entries)
    counted = [f"{found[word]} {said}" for word, said in _COUNTED.items()]
    counted += [f"{found[word]} {said}" for word, said in _RARE.items() if found[word]]
    entries = len(result.entries)
    return f"{entries} gate{'s' * (entries != 1)}: {', '.join(counted)}"


def doubt_lines(result: SuiteResult, *, strict: bool) -> Iterator[str]:
    """Yield a line for each entry that is not shown, with the reasons.

    A new report may have too little about its panel. If ``strict``, the labels must also represent
    a whole run.
    """
    for entry in result.short:
        yield f"not shown: {show_line(entry.name, 200)} ({show_line('; '.join(entry.short), 600)})"
    for entry in result.unrepresentative if strict else ():
        yield f"not representative: {show_line(entry.name, 200)} ({'; '.join(entry.doubts)})"


def _word(entry: EntryResult, *, strict: bool) -> str:
    """Return how an entry ended; the gate exits with 3 for one that passes and is not shown."""
    if entry.error:
        return "ERROR"
    unshown = entry.short or (strict and entry.doubts)
    return "NOT SHOWN" if unshown and entry.status is not GateStatus.FAIL else entry.status.upper()


def _below(entry: EntryResult) -> Iterator[str]:
    if entry.error:
        return iter((entry.error,))
    return finding_lines(entry, _MOST_FAILED, _MOST_SKIPPED)


def headline(entry: EntryResult) -> str:
    """Return what an entry checked and how much of it passed."""
    parts = [show_line(entry.source, 120)]
    if entry.case is not None:
        parts.append(show_line(entry.case, 120))
    judged = sum(entry.units.values())
    if entry.kind is EntryKind.JURY and judged and entry.case is None:
        parts.append(f"{entry.units[GateStatus.PASS]} of {judged} verdicts pass")
    if skipped := entry.counts[GateStatus.SKIP]:
        parts.append(f"{skipped} checks skipped" if skipped > 1 else "1 check skipped")
    if entry.origins:
        counts = " and ".join(f"{count} {origin}" for origin, count in entry.origins.items())
        parts.append(f"values: {counts}")
    return ", ".join([*parts, *entry.notes])


def finding_lines(entry: EntryResult, fails: int, skips: int) -> Iterator[str]:
    """Yield the findings of an entry in words, the failed ones first.

    A calibration entry yields all findings, because a figure may pass by a narrow margin. A jury
    entry yields only those that do not pass, because it has findings for every verdict.
    """
    yield from details(entry, GateStatus.FAIL, fails)
    yield from details(entry, GateStatus.SKIP, skips)
    if entry.kind is EntryKind.CALIBRATION:
        yield from details(entry, GateStatus.PASS, fails)


def details(entry: EntryResult, status: GateStatus, most: int) -> Iterator[str]:
    """Yield at most ``most`` findings of one status in words, then the number of the rest."""
    mine = [found for found in entry.findings if found.status is status][:most]
    yield from map(sentence, mine)
    if more := entry.counts[status] - len(mine):
        yield f"and {more} more (--json has all)"


def sentence(found: Finding) -> str:
    """Describe one finding: the verdict, the value and its source, and what it must be."""
    reading = found.reading
    origin = " ".join(word for word in (reading.origin, reading.metric) if word)
    where = f"{show_line(found.verdict, 120)}: " if found.verdict is not None else ""
    value = reading.value
    known = "null" if value is None else str(value).lower()
    if isinstance(value, int | float) and not isinstance(value, bool):
        known = f"{value:.6g}"
    elif isinstance(value, str):
        known = f'"{show_line(value, 120)}"'
    text = f"{where}{found.expected.target} is {known}"
    text += f" ({origin})" if origin else ""
    if reading.bounded:
        text += f", {reading.low:.4g} to {reading.high:.4g}"
    if found.status is GateStatus.SKIP:
        return f"{text}: skipped, {found.note}"
    text += f", must {show_line(found.expected.matcher.words, 300)}"
    if found.margin is not None:
        text += f", margin {found.margin:+.6g}"
    if found.note:
        text += f" ({show_line(found.note, 300)})"
    if found.status is GateStatus.PASS or not found.expected.message:
        return text
    return f"{text}: {show_line(found.expected.message)}"
