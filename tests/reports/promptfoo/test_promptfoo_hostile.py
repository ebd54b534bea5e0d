import json
from typing import Any

import pytest
import yaml

from reviewdesk.errors import ReportError
from reviewdesk.reports import Source, read
from tests.reports.promptfoo_rows import assert_set, broken, graded, opened, result, row, rubric


def whole_result() -> Any:
    """A result with something of everything."""
    human = {"pass": True, "score": 1, "reason": "ok", "assertion": {"type": "human"}}
    script = {**graded("python", "f", 1, True), "componentResults": [{"pass": True, "score": 1}]}
    case = {
        "description": "t",
        "threshold": 0.5,
        "options": {"provider": {"id": "openai:gpt-4o", "config": {"apiKey": "sk-12345678"}}},
        "assert": [{"type": "assert-set", "assert": [{"type": "llm-rubric"}]}],
    }
    provider = {"id": "openai:chat:gpt-4o", "label": "l", "config": {"apiBaseUrl": "http://x"}}
    tokens = {"prompt": 3, "completion": 4}
    return result(
        row(
            assert_set(rubric(1, True), broken(), passed=True, score=0.5, threshold=0.4),
            rubric(0.3, False, metric="m", threshold=0.7, weight=2, provider=provider),
            {**graded("g-eval", ["a", "b"], 0.5, True), "tokensUsed": tokens},
            script,
            human,
            testCase=case,
        ),
        row(failureReason=2, error="API error: 500", gradingResult=None, response=None),
    )


def test_numbers_without_end_and_odd_characters_are_counted() -> None:
    text = json.dumps(result(row(rubric(float("nan"), False), rubric(float("inf"), True))))
    report, (body,) = opened(text.encode())
    assert all("score" not in juror for juror in body["jurors"])
    # A grade without a score was not measured, so that its pass is no vote.
    assert [juror["pass"] for juror in body["jurors"]] == [None, None]
    assert report.notes[-1] == "replaced 2 numbers NaN or Infinity by null"
    lines = json.dumps(row(rubric(float("nan"), False))).encode()
    assert opened(lines)[0].notes[-1] == "replaced 1 number NaN or Infinity by null"
    odd = _yaml(result(row(rubric(1, True)))).decode().replace("score: 1\n", "score: .nan\n", 1)
    odd = odd.replace("because 1", '"half \\ud83d of \\ud83c\\udf89"', 1)
    report, (body,) = opened(odd.encode())
    (juror,) = body["jurors"]
    assert (juror["reason"], "score" in juror) == ("half \ufffd of \U0001f389", False)
    assert report.notes[-2:] == [
        "replaced 1 number NaN or Infinity by null",
        "replaced 1 lone surrogate by U+FFFD",
    ]


@pytest.mark.slow
def test_results_longer_than_any_single_value_are_read_row_by_row() -> None:
    # 80 rows of 120 kB are 9.6 MB, and the configuration as much again; a value may have 8 MiB.
    text = "z" * 120_000
    rows = [
        row(rubric(1, True), testCase={"description": f"t{at}"}, response={"output": text})
        for at in range(80)
    ]
    tests = [{"vars": {"q": text}} for _ in range(80)]
    report, bodies = opened(result(*rows, config={"description": "long", "tests": tests}))
    assert (len(bodies), report.header["title"]) == (80, "long")
    assert len(bodies[79]["output"]) == 120_000


@pytest.mark.slow
def test_a_single_row_may_not_be_longer_than_that() -> None:
    huge = row(rubric(1, True), response={"output": "z" * (9 << 20)})
    with pytest.raises(ReportError, match=r"results\[0\]: is over 8 MiB long"):
        opened(result(huge))


@pytest.mark.slow
def test_a_long_thing_inside_long_things_is_stepped_over_or_refused() -> None:
    node: Any = "z" * (9 << 20)
    for _ in range(9):
        node = {"a": node}
    assert len(opened({**result(row(rubric(1, True))), "config": node})[1]) == 1
    for _ in range(9):
        node = {"a": node}
    with pytest.raises(ReportError, match="is over 8 MiB long"):
        opened({**result(row(rubric(1, True))), "config": node})


def test_a_key_twice_around_the_rows_is_refused() -> None:
    doubled = b'{"evalId": "e", "results": {"stats": {}, "results": [], "results": []}}'
    with pytest.raises(ReportError, match=r'results: has the key "results" twice'):
        read(Source.from_bytes("run.json", doubled))


def _yaml(document: Any) -> bytes:
    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, _data: Any) -> bool:
            return True

    return yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True).encode()


def test_yaml_says_what_json_says_with_the_aliases_that_promptfoo_writes() -> None:
    whole = whole_result()
    assert opened(_yaml(whole))[1] == opened(whole)[1]
    text = _yaml(result(row(rubric(1, True)))).decode()
    first = ("      vars:\n        what: hello\n", "      vars: &ref_0\n        what: hello\n")
    again = ("    vars:\n      what: hello\n", "    vars: *ref_0\n")
    shared = text.replace(*first).replace(*again)
    assert (shared.count("&ref_0"), shared.count("*ref_0")) == (1, 1)
    assert opened(shared.encode())[1] == opened(text.encode())[1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("evalId: &mine e\nresults: *mine\n", "line 1: has the anchor &mine"),
        ("evalId: e\nresults: *ref_0\n", "line 2: has the alias \\*ref_0 without its anchor"),
        ("evalId: e\nresults: &ref_0\n  a: *ref_0\n", "has the alias \\*ref_0 without its"),
        ("evalId: e\nresults:\n  <<: {a: 1}\n", "line 3: has a merge key"),
        ("evalId: e\nresults: !!python/object:os.system x\n", "line 2: has the tag"),
        ("evalId: e\nevalId: f\n", 'has the key "evalId" twice'),
        ("evalId: e\nresults: [\n", "is not YAML"),
        ("evalId: e\n---\nevalId: f\n", "starts a second document"),
        ("evalId: e\nresults: " + "[" * 70 + "]" * 70, "is nested more than 64 levels"),
        ("evalId: e\nresults: {&ref_1 a: 1}\n", "has the anchor &ref_1"),
    ],
)
def test_yaml_that_could_surprise_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ReportError, match=problem) as info:
        read(Source.from_bytes("run.yaml", text.encode()))
    assert str(info.value).startswith("run.yaml: line ")


def test_a_yaml_bomb_or_one_that_would_take_long_is_refused_before_it_is_built() -> None:
    # Nine levels of nine aliases each would be 9**9 values.
    first = ["evalId: e", "results:", "  - &ref_0 [x, x, x, x, x, x, x, x, x]"]
    levels = (f"  - &ref_{at} [{', '.join([f'*ref_{at - 1}'] * 9)}]" for at in range(1, 9))
    lines = [*first, *levels]
    with pytest.raises(ReportError, match="repeats too much by aliases") as info:
        read(Source.from_bytes("run.yaml", "\n".join(lines).encode()))
    assert "promptfoo export eval EVAL_ID -o results.json" in str(info.value)
    half = '"\\ud83d"\n'
    data = ("evalId: e\nvars: " + half + "z: " + "z" * (1 << 20)).encode()
    with pytest.raises(ReportError, match="is over 1 MiB of YAML that only the slow parser"):
        read(Source.from_bytes("run.yaml", data))
    with pytest.raises(ReportError, match="is over 8192 KiB of YAML"):
        read(Source.from_bytes("run.yaml", b"evalId: e\nz: " + b"z" * (8 << 20)))


def test_a_row_does_not_multiply_its_texts_without_bound() -> None:
    assert len(opened(result(row(*(rubric(1, True, at) for at in range(100)))))[1]) == 100
    crowd = row(*(rubric(1, True, at) for at in range(101)))
    with pytest.raises(ReportError, match="gradingResult: must be at most 100 rubrics, found 101"):
        opened(result(crowd))


KEY = "sk-SENTINEL-0123456789abcdef"


def everywhere() -> Any:
    """The key in every place where promptfoo or a person might put it."""
    config = {
        "apiKey": KEY,
        "headers": {"Authorization": f"Bearer {KEY}", "x-api-key": KEY},
        "env": {"OPENAI_API_KEY": KEY},
        "apiBaseUrl": f"https://user:{KEY}@host/v1?key={KEY}",
    }
    provider = {"id": "openai:chat:gpt-4o", "config": config}
    address = {"id": f"https://user:{KEY}@host/v1?key={KEY}", "config": config}
    http = {"http": {"status": 200, "headers": {"authorization": f"Bearer {KEY}"}}}
    said = f"API error: 401 Incorrect API key provided: {KEY}"
    case = {
        "description": f"greets {KEY}",
        "vars": {"what": "hello"},
        "options": {"provider": provider, "headers": config["headers"]},
        "provider": provider,
        "metadata": {"token": KEY},
        "assert": [{"type": "llm-rubric", "value": "is kind", "provider": provider}],
    }
    first = row(
        rubric(0.9, True, provider=provider, metadata={**http, "renderedGradingPrompt": KEY}),
        rubric(0, False, provider=address, reason=said, metadata={"graderError": True, **http}),
        rubric(0.2, False, provider=provider, reason=f"it said {KEY}", config=config),
        graded("webhook", f"https://host/?key={KEY}", 0, False, reason=said, config=config),
        testCase=case,
        prompt={"raw": f"Say {KEY}", "label": "Say", "config": provider},
        response={"output": f"hello {KEY}", "raw": config, "metadata": http, "headers": config},
        provider={"id": "openai:chat:gpt-4o", "label": "", "config": config},
        metadata={"http": http, "apiKey": KEY},
        env={"OPENAI_API_KEY": KEY},
    )
    failed = row(failureReason=2, error=said, success=False, gradingResult=None, response=None)
    return result(
        first,
        failed,
        config={"description": f"with {KEY}", "providers": [provider], "env": config["env"]},
        runtimeOptions={"apiKey": KEY},
        sharing={"apiKey": KEY},
    )


def test_no_body_header_or_note_has_it() -> None:
    report, bodies = opened(everywhere())
    assert KEY not in json.dumps([report.header, report.notes, bodies])
    # One key, however often it stands there.
    told = "did not copy 1 API key that the file shows in clear; change it"
    assert told in report.notes
    # The texts around it are there.
    assert bodies[0]["output"] == "hello [REDACTED]"
    assert bodies[0]["input"] == "Say [REDACTED]"


def test_an_error_repeats_no_key_and_words_that_are_none_stay() -> None:
    said = "API error: 401 Incorrect API key provided: sk-proj-0123456789abcdefgh."
    failed = row(failureReason=2, error=said, gradingResult=None, response=None)
    (body,) = opened(result(failed))[1]
    error = body["meta"]["row"]["error"]
    assert error == "API error: 401 Incorrect API key provided: [REDACTED]."
    config = {"apiKeyEnvar": "HELLO_KEY", "apiKey": "{{env.KEY}}", "token": "short"}
    asked = {"id": "openai:gpt-4o", "config": config}
    output = "HELLO_KEY {{env.KEY}} short"
    (body,) = opened(result(row(rubric(1, True, provider=asked), response={"output": output})))[1]
    assert body["output"] == output
