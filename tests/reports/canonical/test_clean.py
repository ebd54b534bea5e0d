"""What is decoded at once or streamed is what the strict decoder reads, and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.report_model import verdict_model
from reviewdesk.errors import ReportError
from reviewdesk.reports import Source, read
from reviewdesk.reports.bytes.strict_json import (
    UNCLEAN,
    ImportTally,
    decode_clean,
    decode_whole,
    quotes,
)
from reviewdesk.reports.canonical.rules import clean_verdicts, drop_nulls
from reviewdesk.reports.mapping.foreign import LateFactError
from tests.domain.bodies import bodies
from tests.helpers import SAMPLES, mostly_slow
from tests.reports.promptfoo_rows import row, rubric

PLAIN = '{"id": "a", "case": {"test": "t"}, "jurors": [{"id": "j", "score": 1}]}'


def slowly(text: str) -> Any:
    """The value by the strict decoder; UNCLEAN if it refuses or changes it."""
    tally = ImportTally()
    try:
        value = decode_whole(text, tally)
    except ValueError:
        return UNCLEAN
    return UNCLEAN if tally.surrogates else value


def stored_form(value: Any) -> Any:
    drop_nulls(value)
    return value


def with_key(text: str) -> bytes:
    return PLAIN.replace('"id": "a"', f'"id": "a", {text}').encode()


ODD_TEXTS = [
    '"id": "b"', '"score": NaN', '"score": 1e400', '"meta": {"a": 1, "a": 2}',
    '"meta": {"n": 123456789012345678901234567890}',
    f'"meta": {{"deep": {"[" * 70}{"]" * 70}}}', f'"meta": {{"deep": {"[" * 900}{"]" * 900}}}',
    '"output": "\\ud800"', '"output": "a\x01b"', '"output": "x", "output": 1',
    '"output": "\\u0022", "output": "\\u0022"', '"trim": {"method": "none", "method": "none"}',
]  # fmt: skip


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_what_is_odd_is_left_to_the_strict_decoder(text: str) -> None:
    assert decode_clean([with_key(text), b"1"]) == [UNCLEAN, 1]
    assert clean_verdicts([with_key(text)]) == [UNCLEAN]


@pytest.mark.parametrize(
    "text",
    [
        '"quorum": "2/3"', '"score": 1', '"output": "\\\\\\" \\\\"', '"input": "\\u0022"',
        '"output": "\\ud83d\\ude00 \\" \u2028"', '"meta": {}',
    ],
)  # fmt: skip
def test_what_is_clean_is_taken_at_sight(text: str) -> None:
    data = with_key(text)
    assert decode_clean([data]) == [slowly(data.decode())] != [UNCLEAN]
    ((found, kept),) = clean_verdicts([data])
    assert found == verdict_model(json.dumps(slowly(data.decode())))
    assert kept == data if b"\\u" not in data else json.loads(kept) == slowly(data.decode())


@given(st.text('\\"a', min_size=1).map(json.dumps))
def test_quotes_behind_backslashes_are_counted_alike_in_short_and_long_data(text: str) -> None:
    assert quotes(text.encode()) == 2
    assert quotes(text.encode() * 20_000) == 40_000


@given(bodies(), st.integers(0, 400), st.sampled_from(['"', ",", "{", "1", '"id":"z",', "null"]))
def test_what_is_decoded_at_once_is_as_decoded_strictly(body: Any, at: int, more: str) -> None:
    text = json.dumps(body)
    for written in (text, text[:at] + more + text[at:]):
        (found,) = decode_clean([written.encode()])
        if found is not UNCLEAN:
            assert found == slowly(written)
            # Whole numbers stay whole, so that the body is the JSON of the file.
            assert json.dumps(found) == json.dumps(json.loads(written))
        # One that is not clean does not hide in a group, nor does it spoil the others.
        [clean, made] = clean_verdicts([text.encode(), written.encode()])
        assert clean == clean_verdicts([text.encode()])[0]
        if made is not UNCLEAN:
            assert made[0] == verdict_model(made[1]) == verdict_model(json.dumps(slowly(written)))
            assert json.loads(made[1]) == stored_form(slowly(written))


LAYOUTS: list[Any] = [{}, {"separators": (",", ":")}, {"indent": 2}, {"ensure_ascii": False}]


@pytest.mark.parametrize(
    ("name", "layout"),
    mostly_slow([*(("hostile.json", one) for one in LAYOUTS), ("code-review.json", LAYOUTS[2])]),
)
def test_every_layout_of_a_report_gives_the_same_verdicts(name: str, layout: Any) -> None:
    whole = json.loads((SAMPLES / name).read_text())
    # Enough to be read many at a time, and a key that belongs to the header after them.
    whole["verdicts"] = [
        {**one, "id": f"{one['id']}-{count}"} for count in range(40) for one in whole["verdicts"]
    ]
    whole["meta"] = {"after": True}
    report = read(Source.from_bytes("r.json", json.dumps(whole, **layout).encode(errors="replace")))
    found = list(report.written())
    assert len(found) == len(whole["verdicts"])
    assert [one.id for one, _ in found] == [one["id"] for one in whole["verdicts"]]
    assert all(verdict_model(text) == one for one, text in found)
    assert report.header["meta"] == {"after": True}


ODD = ['"score": null', '"meta": {"a": null}', '"same_family": true', '"human": null']


@pytest.mark.parametrize("more", ODD)
@pytest.mark.parametrize("at", [(0,), (1, 2), (7, 299), range(100, 200), range(300)])
def test_stretches_with_nulls_and_free_keys_are_read_as_by_strict_path(more: str, at: Any) -> None:
    lines = [PLAIN.replace('"a"', f'"v{place}"') for place in range(300)]
    for place in at:
        lines[place] = lines[place].replace('", "case"', f'", {more}, "case"')
    text = '{"schema": "reviewdesk.report/1", "verdicts": [\n' + ",\n".join(lines) + "\n]}"
    for streamed in (False, True):
        found = read(Source.from_bytes("r.json", text.encode()), streamed=streamed).written()
        for line, (one, kept) in zip(lines, found, strict=True):
            assert json.loads(kept) == stored_form(slowly(line))
            assert one == verdict_model(kept)


@pytest.mark.parametrize("at", [1, 2, 150, 299])
def test_an_error_among_many_names_its_place(at: int) -> None:
    lines = [PLAIN.replace('"a"', f'"v{place}"') for place in range(300)]
    lines[at] = lines[at].replace("1}", "NaN}")
    text = '{"schema": "reviewdesk.report/1", "verdicts": [\n' + ",\n".join(lines) + "\n]}"
    with pytest.raises(ReportError) as caught:
        list(read(Source.from_bytes("r.json", text.encode())).verdicts())
    assert f"r.json: $.verdicts[{at}]: has NaN, which is not standard JSON" in str(caught.value)
    lines[at] = lines[at].replace("NaN", "1 1")
    text = '{"schema": "reviewdesk.report/1", "verdicts": [\n' + ",\n".join(lines) + "\n]}"
    with pytest.raises(ReportError) as caught:
        list(read(Source.from_bytes("r.json", text.encode())).verdicts())
    assert f"line {at + 2}, column" in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        # Joined with commas, each of these would be a list of three.
        ([f"{PLAIN},{PLAIN}", PLAIN[:20], PLAIN[20:]], "line 2"),
        ([f"{PLAIN}\v", PLAIN], "line 2"),
        ([PLAIN, PLAIN], "line 3"),
        ([PLAIN, PLAIN.replace('"a"', '"b"'), PLAIN[:-3]], "line 4"),
    ],
)
def test_lines_decoded_together_are_refused_as_each_alone(lines: list[str], where: str) -> None:
    data = "\n".join(['{"schema": "reviewdesk.report/1"}', *lines]).encode()
    with pytest.raises(ReportError, match=rf"report.json: {where}[,:] "):
        list(read(Source.from_bytes("report.json", data)).verdicts())


_LATE = {
    "a score above 1": "item,judge,score\na,x,1\nb,x,4\n",
    "an item that recurs": "item,judge,score\na,x,1\nb,x,0\na,y,1\n",
    "a question that recurs": "item,rubric,judge,score\na,q,x,1\nb,q,x,0\na,r,x,1\n",
    "a column": "".join(
        json.dumps(
            {"item": f"i{at}", "judge": "x", "score": 1, **({"output": "late"} if at > 239 else {})}
        )
        + "\n"
        for at in range(260)
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
