"""Open tables: those of tools by a map, and plain ones by the names of their columns.

This module also checks the maps that people write, and writes a map as text.
"""

import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, suppress
from functools import partial
from itertools import chain, islice
from typing import Any, BinaryIO

from msgspec import convert
from msgspec.structs import fields, replace

from reviewdesk.domain.records import ProposedMap
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import folded
from reviewdesk.errors import InputFileError, UnclearTableError, UsageError
from reviewdesk.reports import maps, refusals
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, failing
from reviewdesk.reports.bytes.window import Outline
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.mapping.foreign import LateFactError, RefusedTableError, Remarks
from reviewdesk.reports.maps import map_text, packaged
from reviewdesk.reports.options import TABLE_OPTIONS, ReadOptions
from reviewdesk.reports.report import Dialect, FirstLook, Report, ReportVerdict
from reviewdesk.reports.tables.ballot import TableSurvey
from reviewdesk.reports.tables.cells import FACTS, CellError, likely_number, roles_of, usual_scale
from reviewdesk.reports.tables.entries import MapReader
from reviewdesk.reports.tables.guess import Guess, Guesser, listed
from reviewdesk.reports.tables.nested import SURE
from reviewdesk.reports.tables.rows import Layout, TableRow, inside, layout_of, with_columns
from reviewdesk.reports.tables.shapes import are_models
from reviewdesk.reports.tables.table_map import BallotRule, TableMap, Vote, Words, absent, by_names
from reviewdesk.reports.tables.verdict import verdicts
from reviewdesk.reports.wording import FieldError, spell_path


def packaged_map(name: str) -> TableMap:
    return convert(packaged()[name], TableMap)


def toml_of(made: TableMap) -> str:
    """Return a map as text in TOML, without default values."""
    usual = TableMap()
    last = {one.name for one in fields(BallotRule)}
    lines = [
        f"{one.encode_name} = {_toml(value)}"
        for one in sorted(fields(TableMap), key=lambda one: one.name in last)
        if one.name != "ballots" and (value := getattr(made, one.name)) != getattr(usual, one.name)
    ]
    for rule in made.ballots:
        lines += ["", "[[ballots]]", *(f"{key} = {_toml(value)}" for key, value in rule.items())]
    return "\n".join([*lines, ""])


def unclear_table(fail: Fail, columns: Sequence[str], found: Guess) -> InputFileError:
    """Return the error for a table whose columns a person must name, if the file is a table."""
    said = fail("", found.problem, found.hint)
    if found.elsewhere:
        return said
    error = UnclearTableError(said.file, said.where, said.problem, said.hint)
    error.columns = tuple(name for name in columns if name)
    error.item = found.made.item if isinstance(found.made.item, str) else ""
    error.judges = found.judges
    made = found.made
    by_rule = any({"each", "dimension"} & rule.keys() for rule in made.ballots)
    ranked = made.scale is not None and made.scale[0] > made.scale[-1]
    error.nested = bool(made.each or made.judge or made.words or by_rule or ranked)
    if found.judges:
        error.details = toml_of(found.made)
    return error


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{_toml(key)} = {_toml(one)}" for key, one in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    # A JSON string is valid in TOML, except for one character that only TOML forbids.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_map(name: str) -> TableMap:
    """Return a map by its name or the path of its file, checked.

    Raises:
        UsageError: there is no such map, or it is wrong; the message names the place.
    """
    try:
        value = tomllib.loads(map_text(name))
    except tomllib.TOMLDecodeError as error:
        problem = f"--map: {show_line(name, 100)} is not TOML: {show_line(str(error), 100)}"
        raise UsageError(problem, "Fix it, or make one: reviewdesk map FILE") from error
    try:
        return checked(value)
    except FieldError as error:
        place = spell_path(error.path)
        problem = f"--map: {show_line(name, 100)}: {place}: {error.text}"
        raise UsageError(problem, error.hint) from error


def checked(value: object) -> TableMap:
    """Return the map of a file's content. Raise FieldError at the first thing that is wrong."""
    # Models take long to build, and most tables are read without a person's own map.
    from pydantic import Field, create_model

    from reviewdesk.reports.validation import Strict, validated

    class MapPart(Strict):
        what = "a map"

    def model(of: type[BallotRule], name: str, **more: Any) -> type[Strict]:
        declared = {
            one.name: (more.get(one.name, one.type), Field(one.default, alias=one.encode_name))
            for one in fields(of)
        }
        made: type[Strict] = create_model(name, __base__=MapPart, **declared)  # type: ignore[call-overload]
        return made

    rule = model(BallotRule, "RuleModel")
    validated(model(TableMap, "MapModel", ballots=list[rule]), value)  # type: ignore[valid-type]
    made = convert(value, TableMap)
    answers = (made.score, made.pass_, made.label, made.each, made.columns, made.certainty)
    if not any((*answers, made.ballots, made.error, made.raw_score, made.human)):
        problem = "names no column that holds what the judges said"
        raise FieldError(("score",), problem, "Name it in score, or in columns.")
    scales: dict[tuple[str, ...], Any] = {("scales", key): one for key, one in made.scales.items()}
    for path, scale in ({("scale",): made.scale} | scales).items():
        if scale is not None and not len(scale) == len({*scale}) == 2:
            problem = "must be the worst and the best score, as [1, 5]"
            raise FieldError(path, problem, "Write two different numbers.")
    return made


USES = frozenset({"models", "pass_labels", "fail_labels", "scale"})
"""The reading options that apply to every table."""

_TEXTS = ("input", "output", "reference")
"""Roles whose columns a map of ours need not name if their names are usual ones."""
_OWN_SCALES = ((0, 1), (0, 100))
"""Scales of one question that say nothing of those of others."""
_SAMPLE_ROWS = 200
_TO_FILL = """\
# Write in judge and score the columns that hold them, or take out judge and score and write
# columns = ["NAME", "NAME"] with the columns of one judge each. The columns and keys of a row:
"""
_SHOWN = 3


def open_table(
    source: Source, layout: Layout, options: ReadOptions, made: TableMap, *, streamed: bool = False
) -> Report:
    """Open a table as a report, by a map; unless ``streamed``, a first pass finds syntax errors."""
    fail = failing(source)
    # The words of the map are added to those that a person gives.
    given = {*options.pass_labels, *options.fail_labels}
    passes, fails = (
        tuple(word for word in made.words.get(key, ()) if word not in given)
        for key in ("pass", "fail")
    )
    options = replace(
        options,
        pass_labels=(*options.pass_labels, *passes),
        fail_labels=(*options.fail_labels, *fails),
    )
    reading = MapReader(made, layout)
    for column, count in Counter(layout.columns).items():
        if count > 1 and column and column in reading.used:
            raise fail("", f'has the column "{show_line(column, 60)}" twice', "Keep one of them.")
    survey = TableSurvey(scale_by_judge=bool(made.name) or made.item == "=*", streamed=streamed)
    looked = ImportTally(lenient=True)
    if not streamed:
        remarks = Remarks()
        with closing(layout.read(source, fail, looked)) as rows:
            try:
                for row in rows:
                    if entries := reading.entries(row, remarks):
                        survey.add(entries)
            except RefusedTableError as error:
                raise fail("", *error.note.split("; ", 1)) from error
        survey.close()
        if not survey.total:
            raise fail("", "is a table without rows that say anything of a jury", "Write it again.")

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        yield from verdicts(layout.rows(stream, fail, tally), survey, reading, options, tally)

    header: dict[str, Any] = {"schema": FORMAT_NAME}
    if made.name:
        header["producer"] = {"name": made.name, "format": made.name}
    named = {*layout.columns}
    whole = [one for one in layout.columns if "." not in one or one.split(".")[0] not in named]
    used = {"", *reading.used, *(one.split(".")[0] for one in reading.used)}
    left = [one for one in whole if one not in used]
    unread = (f"columns not read: {listed(left)}",) if left else ()
    return Report(
        source,
        made.name or "table",
        header,
        items,
        skip_bad=options.skip_bad,
        notes=(*made.notes, *unread),
        lenient=True,
        raw=layout.is_binary,
    )


_ITEMS = frozenset({"item", "item_id", "example_id", "question_id", "case_id", "sample_id"})
"""Item columns that make JSON rows a table without a judge column.

The name ``id`` does so too, together with a score, a vote or a label.
"""

_FOREIGN_COLUMNS = frozenset({"truth", "correct", "escalate_for_review"})
"""Columns of other formats: labels files, which another command reads, and juries."""

_OTHER_FILES = frozenset({"grader reason", "grader\u00a0reason"})


def _layout(source: Source, look: FirstLook, fail: Fail) -> Layout:
    layout = layout_of(look)
    if layout is None:
        of_kind = refusals.of_json if look.kind == "json" else refusals.of_text
        raise of_kind(source, look, unclear)
    if layout.outline is not None and layout.outline.keys.get("schema") == FORMAT_NAME:
        as_it_is = f"Open it as it is: reviewdesk open {source.in_command}"
        raise fail("", "is a report of verdicts, which has no columns", as_it_is)
    if layout.orient == "split":
        # The outline holds only the first names of the list of columns.
        with _rows(source, layout, fail) as rows:
            layout = with_columns(layout, islice(rows, 1), fail)
    return layout


def _read_by(
    source: Source,
    look: FirstLook,
    options: ReadOptions,
    tool: str | None,
    fail: Fail,
    *,
    whole: bool = True,
) -> tuple[Layout, Guess]:
    """Return the layout with the person's map, else one that fits, else a guess.

    All rows are read for the guess if ``whole``.
    """
    layout = _layout(source, look, fail)
    named = read_map(options.map) if options.map else None
    if named and named.rows and layout.outline is not None:
        layout = _at_rows(layout, named.rows)
    if tool is not None and not _fitting_maps(layout, tool):
        what = next(one["about"] for one in maps.packaged().values() if one["name"] == tool)
        raise fail("", f"does not have the columns of {what}", "Leave out --format.")
    own = [] if named or options.format else _own_maps(layout)
    fits = [] if named or options.format == "table" else own or _fitting_maps(layout, tool)
    if len(fits) > 1:
        hint = f"Say which it is: reviewdesk open {source.in_command} --map {fits[0]}"
        raise fail("", f"has the columns of {' and of '.join(fits)}", hint)
    made = named
    if fits:
        made = read_map(fits[0]) if own else packaged_map(fits[0])
    document = layout.outline.keys if layout.outline is not None else {}
    # A file may hold the rows of a tool without the document around them.
    bare = made is not None and made.rows.split(".")[0] not in document
    if made is not None and made.rows not in ("", layout.key) and (named or not bare):
        layout = _at_rows(layout, made.rows)
    if made is None:
        layout = inside(layout)
    if layout.outline is not None:
        with _rows(source, layout, fail) as rows:
            layout = with_columns(layout, rows if whole else islice(rows, _SAMPLE_ROWS), fail)
    _check_columns(source, layout, options, made if named else None, whole=whole)
    ours = bool(fits) and not own
    if made is not None and (made := _by_person(source, layout, made, options, fail, ours=ours)):
        # The hash is part of the run's identity, because a changed map makes another run.
        version = hashlib.sha256(maps.map_text(fits[0]).encode()).hexdigest()[:8] if own else ""
        return layout, Guess(made, format=f"{fits[0]}, map {version}" if own else "")
    with _rows(source, layout, fail) as rows:
        sample = list(islice(rows, _SAMPLE_ROWS))
    inner = not {*options.judge_columns, *options.criteria_columns} <= {*layout.columns}
    plain = replace(options, judge_columns=(), criteria_columns=()) if inner else options
    found = Guesser(layout, sample, plain, source.in_command, options.in_command()).guess()
    found = replace(found, made=replace(found.made, rows=layout.key))
    if inner and (made := _by_person(source, layout, found.made, options, fail)):
        # Whoever names the judges inside the rows has answered what was asked, but for words.
        found = replace(found, made=made, sure=not made.words)
    return layout, _with_scale(found, layout, sample)


def _check_columns(
    source: Source, layout: Layout, options: ReadOptions, named: TableMap | None, *, whole: bool
) -> None:
    """Raise UsageError if a table lacks the columns that a person names, or those of the map."""
    suffix = options.reason_suffix or ""
    suffixed = not suffix or any(one.endswith(suffix) for one in layout.columns)
    said: dict[str, Words] = {
        "--item-column": options.item_column or "",
        "--output-column": options.output_column or "",
        "--reason-suffix": "" if suffixed else f"...{suffix}",
        "--map": named.item if named and not options.item_column else "",
    }
    for option, words in said.items():
        if words and (gone := absent(words, layout.columns)):
            if not whole and layout.outline is not None:
                raise LateFactError  # a later row may have the key
            problem = f'{option}: {source.shown_name} has no column "{show_line(gone, 60)}"'
            columns = f"(its columns: {listed(layout.columns)})"
            raise UsageError(f"{problem} {columns}", "Name its columns as the file does.")


def _by_person(
    source: Source,
    layout: Layout,
    made: TableMap,
    options: ReadOptions,
    fail: Fail,
    *,
    ours: bool = False,
) -> TableMap | None:
    """Return a map with what a person names, or None if that is columns which it does not read.

    All rows are read until every name of a judge or a question is found. In a map of ours, names
    of models form a panel.
    """
    if ours or options.map in maps.packaged():
        roles = roles_of(layout.columns)
        unsaid = [role for role in _TEXTS if role in roles and not getattr(made, role)]
        made = replace(made, **{role: roles[role] for role in unsaid})
    item, output = options.item_column, options.output_column
    made = replace(made, item=item or made.item, output=output or made.output)
    if suffix := options.reason_suffix:
        wide = made.columns or any("columns" in one for one in made.ballots)
        why = "|".join(one for one in layout.columns if one.endswith(suffix))
        more = {"reason": f"*{suffix}" if wide else why}
        made = replace(made, ballots=[one | more for one in made.ballots or [{}]])
    said = (*options.judge_columns, *options.criteria_columns)
    if not said:
        return _with_panel(source, layout, made, fail) if ours else made
    judges: dict[str, str] = {}
    asked: dict[str, str] = {}
    with _rows(source, layout, fail) as rows:
        for vote in _votes(rows, layout, made):
            column = vote.column if vote.judge in vote.column else vote.judge
            judges |= dict.fromkeys((folded(column), folded(vote.judge)), vote.judge)
            asked[folded(vote.dimension)] = vote.dimension
            if judges.keys() >= {*map(folded, said)}:
                break
    panel = [judges.get(folded(one), "") for one in options.judge_columns]
    criteria = [(asked | judges).get(folded(one), "") for one in options.criteria_columns]
    named = [*dict.fromkeys(judges.values())]
    if all(found := (*panel, *criteria)):
        rest = [one for one in named if one not in found] if panel else []
        note = f"not read, because --judge-columns does not name them: {listed(rest)}"
        made = replace(made, notes=[*made.notes, *([note] if rest else [])])
        return by_names(made, panel, criteria)
    if {*said} <= {*layout.columns}:
        return None
    problem = f'has no column "{show_line(said[found.index("")], 60)}" and no judge of that name'
    held = f"judges: {listed(named)}; columns: {listed(layout.columns)}"
    raise fail("", f"{problem} (its {held})", "Name its columns or judges as the file does.")


def _votes(rows: Iterable[TableRow], layout: Layout, made: TableMap) -> Iterator[Vote]:
    """Yield the votes in some rows, as a map reads them, until one cannot be read."""
    entries = MapReader(made, layout).entries
    with suppress(CellError, RefusedTableError, FieldError):
        for row in rows:
            for _, ballots, _ in entries(row, Remarks()):
                yield from (vote for vote, _ in ballots)


def _with_panel(source: Source, layout: Layout, made: TableMap, fail: Fail) -> TableMap:
    """Return a tool's map whose judges are no questions; a note says which form a panel.

    Evaluators that are named after models are judges, even where their names are questions.
    """
    if made.panel:
        return made
    with _rows(source, layout, fail) as rows:
        votes = [*_votes(islice(rows, _SAMPLE_ROWS), layout, made)]
    panel = [*dict.fromkeys(one.judge for one in votes if not (one.dimension or one.check))]
    if made.dimension and made.dimension == made.judge:
        panel = are_models([*dict.fromkeys(one.judge for one in votes)])
        made = by_names(made, panel, (), others=True) if panel else made
    advice = "name those that ask different questions with --criteria-columns"
    note = [f"read as one panel: {listed(panel)}; {advice}"] if len(panel) > 1 else []
    return replace(made, notes=[*made.notes, *note])


def _with_scale(guess: Guess, layout: Layout, sample: Sequence[TableRow]) -> Guess:
    """Return a guess with the usual scale of its scores, which a person sees in its map.

    Questions have scales of their own if some are asked from 0 to 1, or to 100, and others not.
    """
    made = guess.made
    if guess.sure or not guess.judges or made.scale is not None or made.scales:
        return guess
    scores: dict[str, list[Any]] = {}
    for vote in _votes(sample, layout, made):
        scores.setdefault(vote.dimension, []).append(vote.score)
    usual = {name: scale for name, held in scores.items() if (scale := usual_scale(held))}
    rest = [held for name, held in scores.items() if usual.get(name) not in _OWN_SCALES]
    numbers = [held for held in rest if {*map(likely_number, held)} != {None}]
    shared = usual_scale(chain.from_iterable(numbers))
    scales = {name: one if one in _OWN_SCALES else shared for name, one in usual.items()}
    found = {*filter(None, scales.values())}
    if len(found) > 1:
        made = replace(made, scales={name: [*one] for name, one in scales.items() if one})
    elif found - {(0, 1)}:
        made = replace(made, scale=[*found.pop()])
    return replace(guess, made=made)


def _fitting_maps(layout: Layout, tool: str | None = None) -> list[str]:
    """Return the maps that fit the columns, or those of the rows inside a list of documents."""
    outline = layout.outline
    document = outline.keys if outline is not None else {}
    found = maps.fitting(maps.packaged(), layout.columns, document, tool)
    found = [one for one in found if not _misses_answers(packaged_map(one), layout)]
    # A column of judges is read, so a map that does not name it is of other files.
    judge = roles_of(layout.columns).get("judge", "")
    if SURE.search(judge):
        path = re.compile(rf'["|.]{re.escape(judge)}["|.]')
        found = [one for one in found if path.search(maps.map_text(one))]
    if found or outline is None or not (outline.kind == "array" or outline.goes_on):
        return found
    within = inside(layout)
    made = maps.fitting(maps.packaged(), within.columns, document, tool) if within.key else []
    return [one for one in made if maps.packaged()[one].get("rows") == within.key]


def _misses_answers(made: TableMap, layout: Layout) -> bool:
    """Return True if a map finds ballots in the first row of JSON, but none of their answers."""
    outline = layout.outline
    if outline is None or layout.orient or made.rows not in ("", layout.key):
        return False
    row = TableRow(1, outline.first(layout.key) if layout.key else outline.keys, "", 1)
    votes = [*_votes([row], layout, made)]
    unread = [one for one in votes if one.unread or isinstance(one.score, dict)]
    return len(unread) == len(votes) > 0


def _own_maps(layout: Layout) -> list[str]:
    """Return the names of a person's own maps that fit the columns, or the document around them."""
    outline = layout.outline or Outline("object")
    return [
        name
        for name, one in maps.own().items()
        if maps.fitting(
            {name: one},
            (*layout.columns, *outline.keys, *outline.first(str(one.get("rows", "")))),
            outline.keys,
        )
    ]


def _rows(source: Source, layout: Layout, fail: Fail) -> AbstractContextManager[Iterator[TableRow]]:
    return closing(layout.read(source, fail, ImportTally(lenient=True)))


def _at_rows(layout: Layout, rows: str) -> Layout:
    return replace(layout, key=rows, orient="named" if "*" in rows.split(".") else "")


def _open(source: Source, look: FirstLook, options: ReadOptions, tool: str | None = None) -> Report:
    fail = failing(source)
    for whole in (False, True):
        with suppress(LateFactError):
            layout, found = _read_by(source, look, options, tool, fail, whole=whole)
            if found.sure:
                layout = replace(layout, closed=not whole and layout.outline is not None)
                streamed = look.outline.streamed
                report = open_table(source, layout, options, found.made, streamed=streamed)
                report.format = found.format or report.format
                return report
    raise unclear_table(fail, layout.columns, found)


def unclear(source: Source, look: FirstLook) -> InputFileError | None:
    """Return the error for a table without known answers, or None if the file is hardly a table."""
    layout = layout_of(look)
    if layout is None:
        return None
    fail = failing(source)
    outline = layout.outline
    layout, found = _read_by(source, look, ReadOptions(format="table"), None, fail)
    alone = outline is not None and outline.kind == "object" and not outline.goes_on
    named = found.made.item not in ("", "name", "test") or found.made.input
    if alone and not (layout.key or layout.orient or named):
        return None
    if found.sure:
        hint = f"Open it as one: reviewdesk open {source.in_command} --format table"
        judges = found.judges or (found.made.judge,)
        problem = f"is in no known format, but can be read as a table of ratings ({listed(judges)})"
        found = replace(found, judges=judges, problem=problem, hint=hint)
    if outline is not None and not found.judges:
        return None
    return unclear_table(fail, layout.columns, found)


def propose(source: Source, look: FirstLook, options: ReadOptions) -> ProposedMap:
    """Return a map for a table with its first verdicts, or one with its columns to choose from."""
    fail = failing(source)
    layout, found = _read_by(source, look, options, None, fail)
    if found.elsewhere:
        raise fail("", found.problem, found.hint)
    if not found.sure and not found.judges:
        known = toml_of(found.made)
        empty = [f'{one} = ""\n' for one in ("judge", "score") if f"\n{one} = " not in known]
        text = f"{_TO_FILL}# {listed(layout.columns)}\n\n{known}{''.join(empty)}"
        return ProposedMap(source.name, text, (), (found.problem,))
    report = open_table(source, layout, options, found.made)
    notes = [] if found.sure else [f"{found.problem}; this is a guess"]
    bodies: tuple[Any, ...] = ()
    try:
        bodies = tuple(islice(report.verdicts(), _SHOWN))
    except InputFileError as error:
        notes.append(f"correct the map: {error.problem}")
    return ProposedMap(source.name, toml_of(found.made), bodies, tuple(notes))


def _fits(look: FirstLook) -> bool:
    layout = layout_of(look)
    if layout is None:
        return False
    if layout.is_binary or layout.orient or _own_maps(layout):
        return True
    roles = roles_of(layout.columns)
    answer_roles = {"score", "pass", "label"} & roles.keys()
    if look.kind != "json":
        plain = {column.strip().casefold() for column in layout.columns}
        if plain & _OTHER_FILES or {"confidence", "correct"} <= plain:
            return False
        asked = {"item", "input"} & roles.keys() and len(layout.columns) > 1
        return bool(asked or ("judge" in roles and answer_roles))
    outline = layout.outline or look.outline
    first = outline.first(layout.key) if layout.key else outline.keys
    needed = {roles[role] for role in ("item", "judge", *answer_roles) if role in roles}
    if {"item", "judge"} <= roles.keys() and answer_roles:
        return not any(isinstance(first.get(column), dict | list) for column in needed)
    texts = {roles[role] for role in roles.keys() & FACTS}
    scalar = all(
        not isinstance(value, dict | list) for key, value in first.items() if key not in texts
    )
    several = look.outline.goes_on or look.outline.kind == "array" or bool(layout.key)
    if several and "alternative" in roles and roles.get("output", "chosen") != "chosen":
        return True
    other = not _FOREIGN_COLUMNS.isdisjoint(layout.columns)
    if not several or not scalar or other or len(layout.columns) < 2:
        return False
    if roles.get("item") in _ITEMS or (roles.get("item") == "id" and answer_roles):
        return True
    rest = [value for key, value in first.items() if key not in roles.values()]
    return bool({"item", "input"} & roles.keys()) and any(
        isinstance(value, bool | int | float) for value in rest
    )


def _of_tool(tool: str, what: str) -> Dialect:
    def fits(look: FirstLook) -> bool:
        layout = layout_of(look)
        if layout is None:
            return False
        made = [maps.packaged()[name] for name in _fitting_maps(layout, tool)]
        return any(
            all(f'"{key}"' not in look.text for key in one.get("unless", ())) for one in made
        )

    opened = partial(_open, tool=tool)
    return Dialect(tool, what, fits, opened, USES | TABLE_OPTIONS, reads_tables=True)


TOOLS = tuple(
    _of_tool(tool, what)
    for tool, what in {one["name"]: one["about"] for one in maps.packaged().values()}.items()
)
"""The tools whose tables are read by a map of the package."""

DIALECT = Dialect(
    "table", "a table of ratings", _fits, _open, USES | TABLE_OPTIONS, reads_tables=True
)
