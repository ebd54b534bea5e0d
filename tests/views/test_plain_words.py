"""The words of screens, items and help: everyday ones, or explained by the glossary and docs."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from reviewdesk.app.controllers.state import ReadingOptions
from reviewdesk.app.keys.actions import ACTIONS
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.item import jury_lines, painted_item
from reviewdesk.app.widgets.queue_list import legend
from reviewdesk.cli import cli
from reviewdesk.desk import files
from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.assessment.result import SHORT, Flag, FlagNote
from reviewdesk.domain.panel.rerun import RerunHistory
from reviewdesk.domain.records import Run
from reviewdesk.domain.stats.methods import FIGURES
from reviewdesk.domain.values import Strategy
from reviewdesk.errors import NotFoundError
from reviewdesk.views import glossary
from reviewdesk.views import jury as juries
from reviewdesk.views import verdict as views
from reviewdesk.views.document import (
    Column,
    Document,
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
from reviewdesk.views.glossary import FLAG_TERMS, GROUPS, TERMS
from tests.app.appkit import Stage, staged
from tests.helpers import ROOT, SAMPLES, SHARED, open_desk
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


def test_the_glossary_is_short_and_explains_every_sign_flag_and_rule_once() -> None:
    for sign in glossary.SIGNS:
        assert glossary.find(sign.split()[0]).group == "Signs"
    for flag, short in SHORT.items():
        assert glossary.find(short).text, flag
    assert len(glossary.TERMS) <= 80
    names = [name.casefold() for term in TERMS for name in {term.word, *term.names}]
    assert sorted(names) == sorted(set(names))
    assert set(FLAG_TERMS) == set(Flag)
    for flag in Flag:
        assert glossary.find(flag.label) is FLAG_TERMS[flag]
    numeric = {"quorum", "median", "trimmed_mean", "majority", "unanimous", "weighted_average"}
    assert numeric <= {one.value for one in Strategy}
    for name in numeric:
        assert glossary.find(name).text


WIDE = LoadOptions(judge_columns=("alba", "bruno", "cleo", "dana"), scale=(1.0, 5.0))
SAMPLE = {
    path.name: WIDE if path.name == "ratings-wide.csv" else LoadOptions()
    for path in sorted(SAMPLES.iterdir())
    if path.name.startswith(("support", "release", "code-", "hostile", "ratings", "library-desk."))
    and path.suffix != ".yaml"
}
STAGED = ("support-bot.jsonl", "ratings-wide.csv", "library-desk.jsonl")
"""Samples with verdicts, labels and figures of every kind, whose screens are drawn."""
DATA = sorted((SHARED / "data").glob("*.report.json"))
COLUMNS = 160
EDGES = set("…│┌└┐┘+")
"""Signs beside which a word may be a part of one: it is cut, or behind a dialog."""
OF_A_SAMPLE = (
    "full_stop", "b", "r", "b", "question_mark G", "e", "at", "d", "ctrl+p", "colon", "backslash",
    "slash", "o", "t", "c",
)  # fmt: skip
"""What is pressed on one sample alone, because it draws the same on all; each is closed again."""


def test_every_kind_of_sample_is_here() -> None:
    assert len(SAMPLE) == 8


def loaded(folder: Path, name: str) -> tuple[Desk, Run]:
    desk = open_desk(folder / "desk.db")
    return desk, desk.load(files.source(str(SAMPLES / name)), SAMPLE[name]).run


async def screens(stage: Stage, every: bool) -> list[str]:
    """Return what each screen draws, after labels of every kind."""
    drawn = [stage.drawn()]

    async def shot(*keys: str) -> None:
        await stage.press(*keys)
        drawn.append(stage.drawn())

    for keys in OF_A_SAMPLE if every else ("e",):
        await shot(*keys.split())
        await stage.press("escape", "escape")
    for keys in ("p", "f", "T", "i", "s", "u", "v"):
        await shot(keys)
        await stage.press("escape")
    stage.run("team")
    await shot()
    await stage.press("escape")
    await shot("f4")
    await shot("enter")
    for _ in range(4):
        await shot("tab")
    await shot("v", "i")
    await shot("f5")
    return drawn


def strange(lines: list[str], theirs: str) -> dict[str, str]:
    """Return the words of ours that a reader may not know, each with a line that holds it."""
    known = understood() | {word.lower() for word in re.findall("[A-Za-z]{2,}", theirs)}
    found = {}
    for line in lines:
        edges = EDGES | ({""} if len(line) == COLUMNS else set())
        for hit in WORD.finditer(line):
            beside = {line[hit.end() : hit.end() + 1], line[max(0, hit.start() - 1) : hit.start()]}
            parts = {part for part in re.split("['-]", hit[0].lower()) if len(part) > 1}
            folded = len(hit[0]) > 11 and hit[0] in theirs  # a part of a longer word of the file
            whole = not (beside & edges or folded)
            if whole and hit[0].lower() not in known and parts - known:
                found[hit[0].lower()] = line.strip()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
async def test_every_word_that_is_drawn_is_understood(name: str, tmp_path: Path) -> None:
    desk, run = loaded(tmp_path, name)
    lines = [
        line.plain
        for item in map(desk.item, desk.queue(run)[:12])
        for drawn in (
            jury_lines(item, RerunHistory(), {"rerun": "R"}, ReadingOptions(), 76, 1000),
            painted_item(item, 76, None, hidden=False).lines,
        )
        for line in drawn
    ]
    if name in STAGED:
        async with staged(desk, run, size=(COLUMNS, 48)) as stage:
            drawn = await screens(stage, name == "support-bot.jsonl")
        lines += [line for screen in drawn for line in screen.split("\n")]
    text = (SAMPLES / name).read_text(encoding="utf-8")
    theirs = text + re.sub(r"\\u[0-9a-fA-F]{4}|\\[a-z]", " ", text) + "ann canonical jsonl db"
    assert strange(lines, f"{theirs} {name}") == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SAMPLE, *(path.name for path in DATA)])
def test_nothing_is_cut_while_rows_are_free(name: str, tmp_path: Path) -> None:
    path = next((path for path in DATA if path.name == name), SAMPLES / name)
    desk = open_desk(tmp_path / "desk.db")
    run = desk.load(files.source(str(path)), SAMPLE.get(name, LoadOptions())).run
    cut = []
    for key in desk.queue(run)[:80]:
        item = desk.item(key)
        # Panes of 160 columns: the item's is about 70 wide, the jury's about 48.
        head = document_lines(Document((Section("", views.headline(item)),)), 70)
        cut += [(item.verdict.id, line.plain) for line in head if "…" in line.plain]
        names = [row.cells[0] for row in juries.jurors(item).blocks[0].rows]  # type: ignore[union-attr]
        assert len(set(names)) == len(names), item.verdict.id
        for room in (20, 44):
            lines = jury_lines(item, RerunHistory(), {"rerun": "R"}, ReadingOptions(), 48, room)
            # Names are cut so that they stay apart: at their start, or before the other columns.
            cut += [
                (item.verdict.id, line.plain)
                for line in lines
                if len(lines) < room and line.plain.endswith("…") and "………" not in line.plain
            ]
    desk.close()
    assert cut == []


def test_the_glossary_of_the_docs_holds_every_term_and_sentence() -> None:
    text = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    for group in GROUPS:
        table = text.split(f"\n## {group}\n")[1].split("\n## ")[0]
        rows = [f"| {term.word} | {term.text} |" for term in TERMS if term.group == group]
        assert table.split("|---|---|\n")[1].strip().splitlines() == rows, group


@pytest.mark.parametrize(
    ("written", "word"),
    [("ece", "ECE"), ("Corrected", "corrected rate"), ("R_WG", "r_WG"), ("acc", "accuracy")],
)
def test_a_word_is_found_by_its_names_in_any_case(written: str, word: str) -> None:
    assert glossary.find(written).word == word


def test_an_unknown_word_names_its_neighbours() -> None:
    with pytest.raises(NotFoundError, match=r"no word 'brie' is explained\. Near: Brier"):
        glossary.find("brie")
    with pytest.raises(NotFoundError, match="See: reviewdesk explain"):
        glossary.find("zzzzzz")


def test_the_terms_of_a_line_come_in_its_order_and_those_of_a_verdict_by_flags_and_rule() -> None:
    line = "weighted by group  Brier 0.2 corrected 0.6 [0.4, 0.8] ECE 0.1 Brier 0.3, brierish"
    words = [term.word for term in glossary.mentioned([line])]
    assert words == ["weighted by group", "Brier", "corrected rate", "ECE"]
    # Words of everyday are explained on request alone.
    assert glossary.mentioned(["each label of a run, ranged"]) == ()
    notes = [FlagNote(Flag.SPLIT, "2-1"), FlagNote(Flag.ESCALATED, "stated")]
    words = [term.word for term in glossary.of_verdict(notes, "trimmed_mean")]
    assert words[:4] == ["escalated", "votes split", "trimmed mean", "threshold"]
    assert glossary.of_verdict([], None)[0].word == "threshold"


def test_every_figure_of_the_first_layer_has_a_method_of_a_few_words() -> None:
    names = [name.casefold() for one in FIGURES for name in (one.figure, *one.names)]
    assert len(names) == len(set(names))
    for shown in ("acc", "observed", "honest", "spec.", "fn", "gap", "Brier", "ECE", "kappa"):
        assert glossary.method_of(shown) is not None, shown
    assert glossary.method_of("juror") is None
    for one in FIGURES:
        assert 40 <= len(" ".join(text for _, text in one.rows).split()) <= 90, one.figure
        assert glossary.find(one.figure).text
