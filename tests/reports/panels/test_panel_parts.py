"""What a panel file names beside itself: the table of prices, and prompt files."""

from pathlib import Path

import pytest

from reviewdesk.domain.panel.juror import Price
from reviewdesk.errors import PanelError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.panels.panel_file import PromptFile, prompt_from, read_panel, read_prompt
from reviewdesk.reports.panels.prices import listed, price_of, price_table
from tests.helpers import SAMPLES


def test_the_packaged_table_is_dated_and_knows_current_models() -> None:
    date = "2026-11-23"
    assert price_of("openai", "gpt-6.1-sol") == Price(2, 10, 0.1, as_of=date)
    assert price_of("openai", "gpt-5-mini-2025-08-07") == price_of("openai", "gpt-5-mini")
    assert price_of("anthropic", "claude-haiku-4-5-20251001") == Price(1, 5, 0.1, date)
    for vendor, model in (("anthropic", "claude-sonnet-5-6"), ("openai", "gpt-9"), ("vllm", "q")):
        assert price_of(vendor, model) is None
    for vendor, rows in price_table().items():
        for name, price in rows.items():
            assert price.cached is not None, (vendor, name)
            assert price.cached <= price.input <= price.output, (vendor, name)


def test_the_price_is_the_panels_else_that_of_the_longest_name_or_of_the_routed_vendor(
    tmp_path: Path,
) -> None:
    table = {"vllm": {"q*": Price(1, 1), "qwen3*": Price(3, 4)}}
    assert listed(table, "vllm", "qwen3:8b") == Price(3, 4)
    assert listed(table, "vllm", "qwq") == Price(1, 1)
    panel = tmp_path / "panel.yaml"
    panel.write_text("jurors: [{model: gpt-5, vendor: openai, price: {input: 7, output: 8}}]")
    assert read_panel(panel).jurors[0].price == Price(7, 8)
    assert price_of("openrouter", "anthropic/claude-haiku-5.5") == price_of(
        "anthropic", "claude-haiku-5-5"
    )
    assert price_of("openrouter", "x-ai/grok-4.7") == price_of("xai", "grok-4.7")
    assert price_of("openrouter", "acme/model") is None


def read(text: str) -> PromptFile:
    return prompt_from(Source.from_bytes("p.yaml", text.encode()))


def test_a_prompt_is_a_regular_file_of_two_texts_of_which_the_systems_may_be_left_out(
    tmp_path: Path,
) -> None:
    text = "version: 3\nsystem_prompt: Be fair.\nuser_prompt_template: |\n  {rubric}\n  {output}\n"
    assert read(text) == PromptFile(
        version="3", system_prompt="Be fair.", user_prompt_template="{rubric}\n{output}\n"
    )
    assert read("version: v1.2\nuser_prompt_template: '{output}'\n").system_prompt is None
    with pytest.raises(PanelError, match=r"is a directory. Name a prompt's YAML file"):
        read_prompt(tmp_path)
    found = read_prompt(SAMPLES / "prompt-strict.yaml")
    assert found.version == "strict-1"
    assert "{output}" in found.user_prompt_template


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "p.yaml: is empty. Write version: and user_prompt_template:."),
        ("- x", 'p.yaml:1: $: must be a mapping that describes a prompt file, found ["x"]. Fix'),
        (
            "version: 1",
            'p.yaml:1: $.user_prompt_template: is missing. Add "user_prompt_template" t',
        ),
        (
            "user_prompt_template: '{output}'",
            'p.yaml:1: $.version: is missing. Add "version" to it.',
        ),
        (
            "version:\nuser_prompt_template: '{output}'",
            "p.yaml:1: $.version: must be a text, found null",
        ),
        ("version: 1\nuser_prompt_template: [x]", "p.yaml:2: $.user_prompt_template: must be a te"),
        ("version: 1\nuser_prompt_template: '{ output }'", "p.yaml:2: $.user_prompt_template: has"),
        (
            "version: 1\nsystem: x\nuser_prompt_template: '{output}'",
            "p.yaml:2: $.system: is not a key",
        ),
        ("version: &v 1\nuser_prompt_template: '{output}'", "p.yaml:1: has the anchor &v"),
        ("version: 'a\n\n  b'\nuser_prompt_template: '{output}'", "p.yaml:1: $.version: must be"),
    ],
)
def test_a_bad_prompt_is_one_line(text: str, told: str) -> None:
    with pytest.raises(PanelError) as caught:
        read(text)
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)
