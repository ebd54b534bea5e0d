"""A key that stands in clear in a promptfoo file is nowhere afterwards."""

import json
from typing import Any

from tests.reports.promptfoo_rows import graded, opened, result, row, rubric

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


def test_a_name_that_is_cut_inside_a_key_keeps_no_part_of_it() -> None:
    long = f"{'n' * 185} {KEY}"
    config = {"apiKey": KEY}
    asked = rubric(0.9, True, provider={"id": long, "config": config})
    case = {
        "description": long,
        "assert": [{"type": "llm-rubric", "value": "is kind", "metric": long}],
    }
    rows = [
        row(asked, testCase=case, provider={"id": name, "config": config}) for name in (long, "b")
    ]
    report, bodies = opened(result(*rows))
    assert KEY[:6] not in json.dumps([report.header, report.notes, bodies])


def test_an_error_repeats_no_key_that_no_configuration_has() -> None:
    said = "API error: 401 Incorrect API key provided: sk-proj-0123456789abcdefgh."
    failed = row(failureReason=2, error=said, gradingResult=None, response=None)
    (body,) = opened(result(failed))[1]
    error = body["meta"]["row"]["error"]
    assert error == "API error: 401 Incorrect API key provided: [REDACTED]."


def test_words_that_are_no_keys_stay() -> None:
    config = {"apiKeyEnvar": "HELLO_KEY", "apiKey": "{{env.KEY}}", "token": "short"}
    asked = {"id": "openai:gpt-4o", "config": config}
    output = "HELLO_KEY {{env.KEY}} short"
    (body,) = opened(result(row(rubric(1, True, provider=asked), response={"output": output})))[1]
    assert body["output"] == output
