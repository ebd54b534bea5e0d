"""A streamed file gives the same verdicts and notes, or an error after which it is surveyed."""

import json

import pytest

from reviewdesk.reports import Source, read
from reviewdesk.reports.mapping.foreign import LateFactError
from tests.reports.promptfoo_rows import row, rubric

_LATE = {
    "a score above 1": "item,judge,score\na,x,1\nb,x,4\n",
    "an item that recurs": "item,judge,score\na,x,1\nb,x,0\na,y,1\n",
    "a question that recurs": "item,rubric,judge,score\na,q,x,1\nb,q,x,0\na,r,x,1\n",
    "a column": "".join(
        json.dumps(
            {"item": f"i{at}", "judge": "x", "score": 1, **({"output": "late"} if at == 40 else {})}
        )
        + "\n"
        for at in range(60)
    ),
}
_ROW = json.dumps(row(rubric(0.5, True))) + "\n"
_LATE["a repetition"] = _ROW + _ROW
_LATE["a provider"] = _ROW + json.dumps(row(rubric(0.5, True), provider="echo")) + "\n"
_EARLY = {
    "a score above 1": "item,judge,score\na,x,4\na,y,1\nb,x,1\n",
    "two questions": "item,rubric,judge,score\na,q,x,1\na,r,x,0\nb,q,x,1\n",
    "a test of promptfoo": _ROW,
    "a column for each judge": "item,output,judge-a,judge-b\na,yes,0.5,1\nb,no,0,0.25\n",
}


def _read(text: str, *, streamed: bool) -> tuple[list[bytes], list[str]]:
    report = read(Source.from_bytes("f", text.encode()), streamed=streamed)
    return [body for _, body in report.written()], report.notes


@pytest.mark.parametrize("text", _EARLY.values(), ids=_EARLY)
def test_a_file_without_late_facts_is_read_once(text: str) -> None:
    assert _read(text, streamed=True) == _read(text, streamed=False)


@pytest.mark.parametrize("text", _LATE.values(), ids=_LATE)
def test_a_late_fact_asks_for_a_survey(text: str) -> None:
    with pytest.raises(LateFactError):
        _read(text, streamed=True)
    assert _read(text, streamed=False)[0]
