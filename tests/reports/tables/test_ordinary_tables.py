"""Tables as people have them: what is refused, with the command that reads it."""

import json

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports import ReadOptions, Source, read
from tests.reports.tablekit import refusal


def test_a_header_of_words_that_wait_gives_the_whole_command() -> None:
    told = refusal("id,ann,ben\na,Strong,Weak\nb,Strong,Strong\nc,Strong,Weak\n")
    assert told.endswith("open t.csv --judge-columns ann,ben --pass-label Strong --fail-label Weak")


def test_a_word_between_pass_and_fail_is_not_proposed_as_either() -> None:
    told = refusal("id,ann\na,Agree\nb,Neutral\nc,Disagree\nd,Agree\n")
    assert told.endswith("--judge-columns ann --pass-label Agree --fail-label Disagree")


def test_a_list_of_ratings_under_an_unknown_name_opens_as_a_table() -> None:
    rating = {"id": "a", "judge": "ann", "score": 0.9}
    data = json.dumps({"made": "today", "evaluations": [rating]})
    assert refusal(data).endswith("Open it as one: reviewdesk open t.csv --format table")
    source = Source.from_bytes("t.csv", data.encode())
    (body,) = read(source, ReadOptions(format="table")).verdicts()
    assert (body["id"], body["jurors"][0]["score"]) == ("a", 0.9)


def test_a_file_that_is_no_table_is_not_read_as_one() -> None:
    for text in ('{"a": 1, "b": 2}', '{"name": "n", "dependencies": {"x": "1"}}'):
        with pytest.raises(ReportError, match="is JSON, but not a report"):
            read(Source.from_bytes("t", text.encode()))
