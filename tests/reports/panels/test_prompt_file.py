"""Prompt files: versioned texts that jurors are told."""

from pathlib import Path

import pytest

from reviewdesk.errors import PanelError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.panels.panel_file import PromptFile, prompt_from, read_prompt
from tests.helpers import SAMPLES


def read(text: str) -> PromptFile:
    return prompt_from(Source.from_bytes("p.yaml", text.encode()))


def test_a_prompt_of_two_texts() -> None:
    text = "version: 3\nsystem_prompt: Be fair.\nuser_prompt_template: |\n  {rubric}\n  {output}\n"
    assert read(text) == PromptFile(
        version="3", system_prompt="Be fair.", user_prompt_template="{rubric}\n{output}\n"
    )


def test_the_system_prompt_may_be_left_out() -> None:
    assert read("version: v1.2\nuser_prompt_template: '{output}'\n").system_prompt is None


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


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    with pytest.raises(PanelError, match=r"is a directory. Name a prompt's YAML file"):
        read_prompt(tmp_path)


def test_the_sample_prompt_is_one() -> None:
    found = read_prompt(SAMPLES / "prompt-strict.yaml")
    assert found.version == "strict-1"
    assert "{output}" in found.user_prompt_template
