"""The words of screens and help: everyday ones, or words that the glossary explains."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from reviewdesk.app.keys.actions import ACTIONS
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.widgets.queue_list import legend
from reviewdesk.cli import cli
from reviewdesk.domain.assessment.result import SHORT
from reviewdesk.views import glossary
from reviewdesk.views.document import (
    Column,
    Fact,
    Facts,
    Flow,
    Paragraph,
    Quote,
    Row,
    Section,
    Table,
    Text,
    Tone,
)
from tests.views.documents import documents

EVERYDAY = Path(__file__).with_name("everyday_words.txt")
WORD = re.compile(r"(?<![\w./-])[a-z]{2,20}(?:['-][a-z]+)*(?![\w/])", re.IGNORECASE)
RETIRED = (
    "audit", "stratum", "strata", "prefix", "ad hoc", "ESS", "makes a row", "weak judge",
    "escalated-only", "log head", "such items", "ours low", "degraded", "inconclusive",
    "Where the file has none", "So many", "Hold the", "It reckons",
)  # fmt: skip
"""What users do not understand at once; each has a plainer word."""


def own(value: object) -> Iterator[str]:
    """The texts of a part of a document that we write, without those of reports and files."""
    match value:
        case Tone():
            return
        case str():
            yield value
        case Text():
            yield from [] if value.outside else [value.text]
        case Quote():
            yield from own(value.lead)
        case tuple():
            yield from (text for one in value for text in own(one))
        case Section() | Paragraph() | Facts() | Fact() | Flow() | Table() | Column() | Row():
            fields = (getattr(value, name) for name in value.__struct_fields__)
            yield from (text for one in fields for text in own(one))


def of_documents() -> Iterator[str]:
    for document in documents().values():
        yield from own(document.every)


def of_help(command: click.Command) -> Iterator[str]:
    yield command.help or ""
    yield from (one.help or "" for one in command.params if isinstance(one, click.Option))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (found := command.get_command(context, name)) is not None:
                yield from of_help(found)


@cache
def texts() -> tuple[str, ...]:
    return (
        *of_documents(),
        *of_help(cli),
        *(action.title for action in ACTIONS.values()),
        *(line.plain for line in document_lines(legend(), 200)),
    )


@cache
def understood() -> set[str]:
    """Everyday words, and those that the glossary explains."""
    names = (name for term in glossary.TERMS for name in (term.word, *term.names))
    explained = {word.lower() for name in names for word in WORD.findall(name)}
    return explained | set(EVERYDAY.read_text(encoding="utf-8").split())


def unknown() -> set[str]:
    """The words of all texts that are neither everyday words nor in the glossary."""
    return {word.lower() for text in texts() for word in WORD.findall(text)} - understood()


@pytest.mark.slow
def test_every_word_is_an_everyday_word_or_is_explained() -> None:
    assert sorted(unknown()) == []


@pytest.mark.slow
def test_a_word_that_has_a_plainer_one_is_on_no_screen() -> None:
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, RETIRED))})\b")
    assert [text for text in texts() if pattern.search(text)] == []


def test_explain_knows_every_sign_and_short_form() -> None:
    for sign in glossary.SIGNS:
        assert glossary.find(sign.split()[0]).group == "Signs"
    for flag, short in SHORT.items():
        assert glossary.find(short).text, flag


def test_the_glossary_is_one_that_a_person_can_read() -> None:
    assert len(glossary.TERMS) <= 80
