"""What is taken for an API key, and that none in a foreign file reaches a report."""

import json
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports import Source, read
from reviewdesk.reports.mapping.secrets import without_likely
from reviewdesk.reports.wording import keylike, names_a_secret
from tests.helpers import report as canonical
from tests.helpers import verdict
from tests.reports.promptfoo_rows import graded, result, row, rubric

KEY = "sk-CANARYabcdefghijklmnop"
PLAIN = "0123canary4567"
URL = f"https://u:{PLAIN}@host/v1?api_key={KEY}"
ERROR = f"401 for {KEY} at {URL}, Authorization: Bearer {PLAIN}"


def said(document: Any) -> str:
    """Everything that a report comes to, in one text."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    opened = read(Source.from_bytes("run.json", data))
    bodies = list(opened.verdicts())
    assert bodies
    return json.dumps([opened.header, bodies, opened.notes])


METRIC = {"name": "Tone", "score": 0.5, "success": True, "evaluationModel": URL}
CRITIC = {"kind": "KEEP", "confidence": 0.5, "critic_id": "c"}
FILES: Any = {
    "deepeval": {"testCases": [{"name": "n", "metricsData": [METRIC, {**METRIC, "error": ERROR}]}]},
    "cross-judge": {
        "query_id": "q",
        "consensus": "KEEP",
        "verdicts": [
            {**CRITIC, "raw_response": ERROR},
            {**CRITIC, "kind": "ERROR", "error": ERROR},
        ],
        "meta": {"generator": URL},
    },
    "mcptest": {
        "provider": {"apiKey": PLAIN},
        "jury": {
            "headers": {"X-Any": PLAIN},
            "jurors": [
                {"name": URL, "model": URL, "score": 1, "env": {"A": PLAIN}, "base_url": URL},
                {"name": "b", "error": ERROR, "config": {"k": PLAIN}, "authorization": PLAIN},
                {"name": "c", "score": 0.5, "reason": f"it printed {PLAIN}"},
            ],
        },
    },
    "inspect": {
        "eval": {"task": "t", "eval_id": "e", "model": URL, "model_args": {"api_key": PLAIN}},
        "status": "success",
        "samples": [
            {"id": "a", "epoch": 1, "scores": {}, "error": {"message": ERROR}},
            {"id": "b", "epoch": 1, "output": {"completion": PLAIN}, "scores": {"s": {"value": 1}}},
        ],
    },
    "table": f"item,judge,score,error\na,{URL},1,\na,b,,{ERROR}\n".replace(
        ", Auth", "; Auth"
    ).encode(),
}


@pytest.mark.parametrize("name", FILES)
def test_no_key_is_copied(name: str) -> None:
    text = said(FILES[name])
    assert "CANARY" not in text
    assert "canary" not in text
    assert "[REDACTED]" in text


def test_names_of_checks_show_no_address_in_full_and_no_code() -> None:
    checks = [
        graded("webhook", URL, 1, True),
        graded("javascript", f'process.env.K="{PLAIN}"', 1, True),
        graded("contains", "Paris", 1, True),
    ]
    opened = read(
        Source.from_bytes("r", json.dumps(result(row(rubric(1, True), *checks))).encode())
    )
    (body,) = opened.verdicts()
    names = ["webhook: https://host/v1", "javascript", "contains: Paris"]
    assert [check["name"] for check in body["checks"] or ()] == names


def test_what_is_judged_and_a_report_of_ours_stay_as_they_are() -> None:
    output = f"Use {KEY} as the key."
    case = {"name": "n", "input": output, "metricsData": [{**METRIC, "reason": output}]}
    data = json.dumps({"testCases": [case]}).encode()
    (body,) = read(Source.from_bytes("run.json", data)).verdicts()
    assert (body["input"], body["jurors"][0]["reason"]) == (output, output)
    broken = {"id": "a", "status": "error", "error": {"message": ERROR}}
    body = {**verdict("v"), "jurors": [broken]}
    (kept,) = read(Source.from_bytes("run.json", canonical(body))).verdicts()
    assert kept["jurors"][0]["error"] == {"message": ERROR}


@pytest.mark.parametrize(
    "text", ["401: no api_key: required", "see https://host/a?page=2", "the token: unexpected end"]
)
def test_an_error_without_a_key_is_kept(text: str) -> None:
    assert without_likely(text) == text


def test_a_file_full_of_keys_is_refused_before_it_takes_long() -> None:
    secrets = {f"api_key_{at}": f"{PLAIN}{at}" for at in range(1001)}
    jury = {"jurors": [{"name": "a", "score": 1, "config": secrets}]}
    cases = {"testCases": [{"name": "n", "metricsData": [METRIC], "more": secrets}]}
    asked = {"id": "openai:x", "config": secrets}
    graders = result(row(rubric(1, True, provider=asked)))
    for document in ({"jury": jury}, cases, graders):
        with pytest.raises(ReportError, match="shows over 1000 keys in clear"):
            said(document)


@pytest.mark.parametrize("seat", ["mcptest", "deepeval", "promptfoo"])
def test_a_juror_name_that_is_cut_inside_a_key_keeps_no_part_of_it(seat: str) -> None:
    secret = "Zq7!canary-4567-rest"
    long = f"{'n' * 179} {secret}"
    files: Any = {
        "mcptest": {
            "provider": {"apiKey": secret},
            "jury": {"jurors": [{"name": long, "model": "m", "score": 1}]},
        },
        "deepeval": {
            "hyperparameters": {"apiKey": secret},
            "testCases": [{"name": "n", "metricsData": [{**METRIC, "evaluationModel": long}]}],
        },
        "promptfoo": result(
            row(
                rubric(1, True, provider={"id": long, "config": {"apiKey": secret}}, metric=long),
                testCase={"description": long},
            )
        ),
    }
    told = said(files[seat])
    assert "[REDACTED]" in told
    assert secret[:8] not in told


@pytest.mark.parametrize(
    "text",
    [
        "sk-live-4f9aT7Qe2LmZ8xWb", "sk-ant-api03-AbCdEfGhIj", "Bearer sk-live-4f9aT7Qe2LmZ8xWb",
        "AIzaSyD4f9aT7Qe2LmZ8xWb", "gsk_4f9aT7Qe2LmZ8xWb", "x7Kq9sLmP2vR4tYw8zBn3cXd6fGh",
        '"key-4f9aT7Qe2LmZ8xWb"', "https://h.example/sk-live-4f9aT7Qe2LmZ8xWb/v1",
    ],
)  # fmt: skip
def test_keys(text: str) -> None:
    assert keylike(text)


@pytest.mark.parametrize(
    "text",
    [
        "gpt-6.1-sol", "claude-sonnet-5-5", "mistralai/Ministral-8B-Instruct-2410", "qwen3:8b",
        "risk-assessment-judge-2026", "key-account-manager", "task-4f9aT7Qe2LmZ8xWb",
        "OPENAI_API_KEY",        "the strict one of the second week", "ft:gpt-5:acme::a1B2c3", "",
    ],
)  # fmt: skip
def test_names_are_no_keys(text: str) -> None:
    assert not keylike(text)


def test_names_of_secrets() -> None:
    for name in ("key", "api_key", "API-Key", "apikey", "token", "access_token", "Authorization",
                 "OPENAI_API_KEY", "password", "client secret"):  # fmt: skip
        assert names_a_secret(name), name
    for name in ("name", "keys", "max_tokens", "tokens", "monkey"):
        assert not names_a_secret(name), name
