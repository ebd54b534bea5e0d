"""What is taken for an API key, and what is not."""

import pytest

from reviewdesk.reports.wording import keylike, names_a_secret


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
