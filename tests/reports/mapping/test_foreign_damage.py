"""Whatever stands in a file of another tool, it is read to its end or refused in one line."""

import random
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports import ReadOptions, Source, read
from reviewdesk.reports.bytes.strict_json import ImportTally
from reviewdesk.reports.report import ReportVerdict
from tests.helpers import mostly_slow, verdict_problem
from tests.reports.foreignkit import mutations, packed
from tests.reports.inspectai import test_inspect_archive
from tests.reports.promptfoo import test_promptfoo_hostile
from tests.reports.tools import test_crossjudge, test_deepeval, test_juried

ATTEMPTS = test_juried.report(
    test_juried.scenario(
        test_juried.attempt(test_juried.vote(), test_juried.vote(), checks=[test_juried.CHECK]),
        test_juried.attempt(outcome="judge_error", judge_error="x"),
        history=[{"role": "user", "content": "hi"}],
    )
)
TALK = {
    "name": "talk",
    "turns": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
    "metricsData": [test_deepeval.metric("Tone (a)"), test_deepeval.metric(**test_deepeval.FAILED)],
    "context": ["c"],
    "trace": {"llmSpans": [{"name": "s", "output": "o", "metricsData": [test_deepeval.metric()]}]},
}
DOCUMENTS: dict[str, tuple[Any, bool]] = {
    "cross-judge": ([test_crossjudge.WHOLE, test_crossjudge.WHOLE], False),
    "cross-judge lines": ([test_crossjudge.WHOLE, test_crossjudge.WHOLE], True),
    "deepeval": (test_deepeval.WHOLE | {"conversationalTestCases": [TALK]}, False),
    "deepeval lines": ([TALK, TALK], True), "inspect": (test_inspect_archive.document(), False),
    "promptfoo": (test_promptfoo_hostile.whole_result(), False), "juried": (ATTEMPTS, False),
    "juried-queue lines": (
        [test_juried.entry(checks=[test_juried.CHECK]), test_juried.entry()],
        True,
    ),
    "lm-council lines": (
        [
            test_juried.pair("a", "A>B"),
            test_juried.pair("b", "B>A"),
        ],
        True,
    ),
}  # fmt: skip


def _canonical(data: bytes, options: ReadOptions) -> None:
    """What a reader makes is canonical, and what it cannot make it names itself."""
    source = Source.from_bytes("run.json", data)
    report = read(source, options)
    with source.open() as stream:
        for item in report._items(stream, ImportTally(lenient=True)):
            assert isinstance(item, ReportVerdict)
            assert item.problem or verdict_problem(item.value) is None, item.value


def _outcome(data: bytes, options: ReadOptions) -> str | int:
    """The refusal, or the number of verdicts; anything else escapes."""
    try:
        _canonical(data, options)
        report = read(Source.from_bytes("run.json", data), options)
        bodies = list(report.verdicts())
    except ReportError as error:
        return str(error)
    assert all(note.isprintable() for note in report.notes)
    return len(bodies)


@pytest.mark.parametrize("count", [40, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", mostly_slow(DOCUMENTS))
def test_wrong_types_are_read_or_refused(name: str, count: int) -> None:
    document, lines = DOCUMENTS[name]
    form = name.split(maxsplit=1)[0]
    outcomes = [
        _outcome(packed(broken, lines=lines), ReadOptions(format=form, skip_bad=at % 2 == 0))
        for at, broken in enumerate(mutations(document, count))
    ]
    refusals = [outcome for outcome in outcomes if isinstance(outcome, str)]
    assert all(refusal.isprintable() for refusal in refusals)
    assert len(outcomes) - len(refusals) > count / 4


@pytest.mark.parametrize("name", mostly_slow(DOCUMENTS))
def test_bytes_that_changed_are_read_or_refused(name: str) -> None:
    document, lines = DOCUMENTS[name]
    chance = random.Random(3)  # noqa: S311 - a fixed sequence, not a secret
    for at in range(200):
        broken = bytearray(packed(document, lines=lines))
        for _ in range(chance.randint(1, 3)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        form = name.split(maxsplit=1)[0]
        outcome = _outcome(bytes(broken), ReadOptions(format=form, skip_bad=at % 2 == 0))
        assert isinstance(outcome, int) or outcome.isprintable()


@pytest.mark.parametrize("name", mostly_slow(DOCUMENTS))
def test_cut_off_files_are_refused(name: str) -> None:
    document, lines = DOCUMENTS[name]
    data = packed(document, lines=lines)
    whole = data.rindex(b"\n", 0, -1) + 1 if lines else 0
    for cut in range(whole + 1, len(data) - 2, 7):
        with pytest.raises(ReportError) as caught:
            list(read(Source.from_bytes("run.json", data[:cut])).verdicts())
        assert str(caught.value).isprintable()
