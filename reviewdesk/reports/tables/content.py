"""Find by their cells which columns hold answers, texts, two responses, a scale, or who answers."""

import re
from collections.abc import Sequence
from itertools import permutations
from typing import Any

from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.tables.cells import (
    NEITHER,
    NOT_FINITE,
    Cells,
    is_answer,
    is_criterion,
    is_word,
    likely_number,
    parsed,
    stated_error,
)
from reviewdesk.reports.tables.nested import NO_SCORE, TableSample
from reviewdesk.reports.wording import JsonObject

_MARK = r"(?:(?<=[\W_])|(?<=[a-z])(?=[A-Z\d])|(?<=[^\x00-\x7f])|^){0}(?=[\W_]|$)"
_PAIRS = (("a", "b"), ("1", "2"), ("x", "y"), ("left", "right"), ("first", "second"), ("0", "1"))
"""Marks in the names of two responses."""
_SCALE = re.compile(
    r"(?:(?:rating|score|scoring|grade|grading|judge|eval)s?[\W_]*(?:scale|range)"
    r"|scale|skala|échelle|escala|schaal)\Z",
    re.IGNORECASE,
)
"""Names of values that state the scale of the scores; another range is that of something else."""
_LIKERT = re.compile(
    r"(?:(?:strongly|somewhat|completely|slightly) )?(?:dis)?agree$|neither |neutral|undecided"
    r"|[a-f][+-]?$",
    re.IGNORECASE,
)
SHORT = 60
_MOST_NAMES = 8
"""The most judges, or questions, in whose rows every item may recur."""
_RAN = {"ok", "OK", "success", "succeeded", "completed", "done", "finished"}
"""What a status says of a call, which is not an answer."""
_MOST_WORDS = 6
_SHORTEST = 2
_SMALL = 5
"""Rows in which columns of a few words cross by chance, so that none may be missing."""
_NUMBERED = {"0", "1", "2"}
"""Votes for one of two responses by its number, and for neither."""


class TableContent(TableSample):
    """The first rows of a table, and what their cells tell about its columns."""

    options: ReadOptions
    roles: dict[str, str]
    made: JsonObject
    likely_judge: str
    marks: tuple[set[str], set[str]]
    """What names the first and the second one of two responses."""

    def find_responses(self, free: Sequence[str]) -> None:
        """Find a response under the name of a model, or two of which one is the better.

        The names of two differ by a mark, as A and B, and answers name both marks; or the two are
        the texts of a list.
        """
        for role in ("generator", "model"):
            held = self.cells(self.roles.get(role, ""))
            long = [one for one in held if isinstance(one, str) and one.count(" ") > 2]
            if 2 * len(long) > len(held) and "output" not in self.roles:
                self.roles["output"] = self.roles.pop(role)  # no name is a sentence
        output = self.roles.get("output")
        free = [one for one in free if not NO_SCORE.search(one)]
        for first, second in _PAIRS if "alternative" not in self.roles else ():
            for one in free:
                other = re.sub(_MARK.format(first), second, one, count=1, flags=re.IGNORECASE)
                other = next((two for two in free if two.casefold() == other.casefold()), one)
                told = one != other and self.is_text(one) and self.is_texts(other)
                marks = ({first, one.casefold()}, {second, other.casefold()})
                sides = {side for side, _ in self.sides(marks)} if told else set()
                if output in {None, one, other} and sides == {0, 1}:
                    self.roles |= {"output": one, "alternative": other}
                    self.marks = marks
                    return
        for one in free if not {"alternative", "output"} & self.roles.keys() else ():
            lists = [*map(parsed, self.cells(one))]
            pairs = [two for two in lists if type(two) is list and [*map(type, two)] == [str, str]]
            texts = {text for two in pairs for text in two}
            known = any(map(is_answer, texts)) or not texts.isdisjoint(self.columns)
            if pairs == lists and 2 * len(lists) > len(self.sample) and not known:
                self.roles |= {"output": f"{one}.0", "alternative": f"{one}.1"}
                self.marks = ({"0"}, {"1"})
                return

    def words_of_pair(self, usual: dict[str, list[str]]) -> dict[str, list[str]]:
        """Return the words of votes for one of two responses: the usual, and cells that name it."""
        if {"0"} in self.marks:
            return {"pass": ["0"], "fail": ["1"]}
        found = {key: [*words] for key, words in usual.items()}
        for side, word in self.sides(self.marks):
            told = found["fail" if side else "pass"]
            told += [] if word in told or len(word) < _SHORTEST else [word]
        return found

    def sides(self, marks: Sequence[set[str]]) -> list[tuple[int, str]]:
        """Return the words for votes that name the first (0) or the second (1) of two responses."""
        cells = [self.cells(one) for one in self.columns]
        votes = [some for some in cells if self.has_words(some) or {*map(str, some)} <= _NUMBERED]
        found = []
        for word in sorted({str(cell) for some in votes for cell in some}):
            parts = {*re.split(r"[\W_]+", word.casefold()), word.casefold()}
            named = [bool(parts & mine) for mine in marks]
            if any(named) and not all(named) and not NEITHER.search(word):
                found.append((named.index(True), word))
        return found

    def is_text(self, column: str) -> bool:
        cells = self.cells(column)
        texts = bool(cells) and all(isinstance(parsed(one), str) for one in cells)
        # A response may begin with a yes or a no.
        votes = sum(map(is_answer, cells))
        several = not votes or (3 * votes < len(cells) and len(max(cells, key=len)) > SHORT)
        return texts and several and not self.has_words(cells)

    def is_texts(self, column: str) -> bool:
        """Return True if some cells of a column are texts, and the others may be answers."""
        cells = self.cells(column)
        empty = all(parsed(one) in ({}, []) for one in cells)
        return not (empty or all(map(is_answer, cells)) or self.has_words(cells))

    def has_words(self, filled: Sequence[Any]) -> bool:
        """Return True if cells hold only a few words, which are not votes."""
        found = {*map(str, filled)}
        few = len(found) <= min(_MOST_WORDS, max(1, len(filled) - 1))
        words = bool(found) and all(map(is_word, filled)) and not all(map(is_answer, filled))
        return words and (few or all(map(_LIKERT.match, found)))

    def told_scale(self, document: Cells) -> list[float]:
        """Return the scale that a value beside the rows states, or one that is in every row.

        The numbers of some column must lie on it, if any column holds answers in numbers.
        """
        rows = [_stated_scale(row.cells) for row in self.sample]
        scale = _stated_scale(document) or (rows[0] if rows else [])
        if not scale or (rows and any(one not in ([], scale) for one in rows)):
            return []
        answers = [one for one in self.columns if self.answers(one) and not NO_SCORE.search(one)]
        numbers = [[*map(likely_number, self.cells(one))] for one in answers]
        scores = [[one for one in cells if one is not None] for cells in numbers]
        fits = [all(scale[0] <= one <= scale[1] for one in some) for some in scores if some]
        return scale if any(fits) or not fits else []

    def answers(self, column: str) -> bool:
        """Return True if most cells hold numbers, votes or marks, and no others hold texts."""
        filled = self.cells(column)
        if "status" in column and {*map(str, filled)} <= _RAN:
            return False
        known = self.known_words()
        if column not in self.unanswered:
            rest = [one for one in filled if not is_answer(one)]
            self.unanswered[column] = [one for one in rest if str(one).lower() not in NOT_FINITE]
        rest = self.unanswered[column]
        if known:
            # Of two responses one is better, or neither is.
            rest = [one for one in rest if str(one).casefold() not in known]
            rest = [one for one in rest if not NEITHER.search(str(one))]
        said = len(filled) - len(rest)
        rest = [str(one) for one in rest if not stated_error(one)]
        return said > len(rest) and all(is_word(one) or not one[:1].isalnum() for one in rest)

    def known_words(self) -> set[str]:
        """Return the words that mean pass or fail in this table, beside the usual ones."""
        given = (self.options.pass_labels, self.options.fail_labels)
        said = (*given, *self.made.get("words", {}).values())
        return {word.casefold() for one in said for word in one}

    def find_crossed(self) -> None:
        """Find a column of names that recur with every item: who answered, or what was asked.

        Beside a judge it is what was asked, if its names are those of questions.
        """
        rows = len(self.sample)
        judge = [one for role, one in self.roles.items() if role == "judge"]
        known = {name for role, name in self.roles.items() if role != "item"}
        names = {}
        for one in (one for one in self.columns if one not in known):
            cells = self.cells(one)
            short = all(isinstance(cell, str | int) and len(str(cell)) <= SHORT for cell in cells)
            if len(cells) == rows and short and not self.answers(one):
                names[one] = len(self.said_in([one]))
        judges = len(self.said_in(judge)) or 1
        for item, one in permutations(names, 2):
            several = names[one] * judges
            whole = 1 < names[one] <= _MOST_NAMES and names[item] > 1
            missing = names[item] * several - rows
            whole = whole and 0 <= missing < (several if rows > _SMALL else 1)
            if not whole or self.recurs([item, one, *judge]) or not self.recurs([item, *judge]):
                continue
            said = self.said_in([one])
            asked = any(map(is_criterion, said))
            if judge and not (asked or all(" " in text for text in said)):
                continue
            self.roles = {key: name for key, name in self.roles.items() if name != one}
            self.roles |= {"item": item, "dimension" if asked or judge else "judge": one}
            self.likely_judge = one
            return


def _stated_scale(cells: Cells) -> list[float]:
    """Return the two numbers of a value that is named after a scale, also in an object."""
    for held in (cells, *(one for one in cells.values() if type(one) is dict)):
        for key, one in held.items():
            told = parsed(one) if _SCALE.match(str(key)) else None
            told = re.findall(r"\d+", told) if isinstance(told, str) else told
            told = [*told.values()] if isinstance(told, dict) else told
            ends = [*map(likely_number, told)] if isinstance(told, list) else []
            numbers = [end for end in ends if end is not None]
            if len(numbers) == len(ends) == 2 and numbers[0] < numbers[1]:
                return numbers
    return []
