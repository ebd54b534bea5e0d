"""The names of the package follow the glossary."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests.helpers import ROOT

PACKAGE = ROOT / "reviewdesk"
GLOSSARY = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
_CLASS = re.compile(r"^ *class ([A-Za-z]\w*)", re.MULTILINE)
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")
COMPOUNDS = {"labelled", "seen"}
"""Adjectives that may qualify a noun in the name of a class, but never name a module."""


def ruled_out() -> set[str]:
    table = GLOSSARY.partition("## Words that we do not use")[2]
    return set(re.findall(r"^\| ([a-z]+) \|", table, re.MULTILINE)) - {"word"}


@cache
def classes() -> list[tuple[str, str]]:
    return [
        (name, path.relative_to(PACKAGE).as_posix())
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in _CLASS.findall(path.read_text(encoding="utf-8"))
    ]


def modules() -> list[Path]:
    return [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")]


def test_the_glossary_rules_words_out() -> None:
    assert {"hands", "sitting", "judged", "twins"} <= ruled_out()


def test_no_module_has_a_name_that_is_ruled_out() -> None:
    named = {part for path in modules() for part in path.with_suffix("").parts}
    words = {word for name in named for word in name.split("_")}
    assert words & ruled_out() == set()


def test_no_class_has_a_name_that_is_ruled_out() -> None:
    barred = ruled_out() - COMPOUNDS
    wrong = [
        f"{path}: {name}"
        for name, path in classes()
        if barred & {word.lower() for word in _CAMEL.findall(name)} or name.lower() in ruled_out()
    ]
    assert wrong == []


def test_a_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for name, path in classes():
        places[name].append(path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_no_folder_holds_more_than_a_person_takes_in() -> None:
    held: dict[str, int] = defaultdict(int)
    for path in modules():
        held[path.parent.as_posix()] += 1
    assert {folder: count for folder, count in held.items() if count > 22} == {}
