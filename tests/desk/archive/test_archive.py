"""An archive beside the plain load of one report that holds all of its parts."""

import gzip
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.archive import archive_source, put_together
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.run.archived import Archived
from reviewdesk.errors import UsageError
from tests.desk.archive.archivekit import Here, drawn, lines, repeated, verdicts, write_parts
from tests.helpers import load, mostly_slow, open_desk, verdict

WAVERING = verdicts(60)
CALM = [
    verdict(
        f"v{at}", *((0.9, 0.85, 0.8) if at % 3 else (0.1, 0.15, 0.2)), flagged=at % 5 == 0,
        human={"label": "pass"},
    )
    for at in range(60)
]  # fmt: skip
"""Verdicts of jurors that agree, so that nothing but the stated escalations is flagged."""


def archive(desk: Path, *patterns: str, crew: Here | None = None, **options: Any) -> Archived:
    with closing(open_desk(desk)) as opened:
        return put_together(opened, patterns, LoadOptions(**options), crew or Here())


def plain(desk: Path, bodies: Sequence[dict[str, Any]], **options: Any) -> None:
    with closing(open_desk(desk)) as opened:
        load(opened, lines(bodies), "whole.jsonl", **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "bodies",
    mostly_slow([WAVERING, CALM, repeated(WAVERING, 17), repeated(CALM, 45)]),
    ids=["recomputed", "stated", "shared", "stated and shared"],
)
def test_flags_order_and_draw_are_those_of_the_plain_load(tmp_path: Path, bodies: Any) -> None:
    plain(tmp_path / "plain.db", bodies, seed="s")
    parts = write_parts(tmp_path / "parts", bodies, 4)
    made = archive(tmp_path / "archive.db", *reversed(parts), seed="s")
    assert (made.run.whole, made.parts, made.bad) == (60, 4, ())
    rows, mixed, strata = drawn(tmp_path / "archive.db")
    assert (rows, mixed, strata) == drawn(tmp_path / "plain.db")
    assert len(rows) == made.run.verdicts


@pytest.mark.slow
def test_the_default_seed_comes_from_the_contents_in_any_order_and_form(tmp_path: Path) -> None:
    parts = write_parts(tmp_path / "parts", CALM, 3)
    made = archive(tmp_path / "one.db", *parts)
    (tmp_path / "other").mkdir()
    for number, path in enumerate(parts):
        packed = gzip.compress(Path(path).read_bytes())
        (tmp_path / "other" / f"{9 - number}.jsonl.gz").write_bytes(packed)
    assert made.run.seed == archive(tmp_path / "two.db", str(tmp_path / "other" / "*")).run.seed
    assert len(bytes.fromhex(made.run.seed)) == sha256().digest_size
    rows, others = drawn(tmp_path / "one.db")[0], drawn(tmp_path / "two.db")[0]
    assert {row[0] for row in rows} == {row[0] for row in others}
    assert archive(tmp_path / "three.db", *parts[:2]).run.seed != made.run.seed


def test_an_archive_is_written_once(tmp_path: Path) -> None:
    parts = write_parts(tmp_path / "parts", CALM, 2)
    first = archive(tmp_path / "desk.db", *parts)
    again = archive(tmp_path / "desk.db", *parts)
    assert (first.new, again.new, again.run.hash) == (True, False, first.run.hash)


def test_a_single_part_is_counted_as_one(tmp_path: Path) -> None:
    made = archive(tmp_path / "desk.db", *write_parts(tmp_path / "parts", CALM, 1))
    assert any(note.startswith("an archive of 1 part, of which") for note in made.run.notes)


def test_ids_that_several_parts_have_carry_the_part(tmp_path: Path) -> None:
    bodies = [*CALM[:20], {**CALM[20], "id": "v0"}, *CALM[21:]]
    archive(tmp_path / "archive.db", *write_parts(tmp_path / "parts", bodies, 3), seed="s")
    renamed = [dict(body) for body in bodies]
    renamed[0]["id"], renamed[20]["id"] = "part-0:v0", "part-1:v0"
    plain(tmp_path / "plain.db", renamed, seed="s")
    ids, mixed, strata = drawn(tmp_path / "archive.db")
    assert {"part-0:v0", "part-1:v0"} <= {row[0] for row in ids}
    assert (ids, mixed, strata) == drawn(tmp_path / "plain.db")


def test_bad_parts_are_named_and_the_rest_is_the_archive(tmp_path: Path) -> None:
    parts = write_parts(tmp_path / "parts", CALM, 3)
    Path(parts[1]).write_text('{"schema": "reviewdesk.report/1"}\n{"id": \n')
    other = tmp_path / "parts" / "part-9.jsonl"
    other.write_bytes(lines(CALM[:2], defaults={"threshold": 0.9}))
    absent = str(tmp_path / "parts" / "absent.jsonl")
    made = archive(tmp_path / "archive.db", *parts, str(other), absent, seed="s")
    assert made.parts == 2
    assert sorted(reason.split(":")[0] for reason in made.bad) == [absent, parts[1], str(other)]
    assert any("not those of" in reason for reason in made.bad)
    assert sum("left out a part" in note for note in made.run.notes) == 3
    plain(tmp_path / "plain.db", CALM[:20] + CALM[40:], seed="s")
    assert drawn(tmp_path / "archive.db") == drawn(tmp_path / "plain.db")


@pytest.mark.parametrize("reading", ["first", "second"])
def test_a_part_whose_workers_die_is_left_out_of_the_draw(tmp_path: Path, reading: str) -> None:
    parts = write_parts(tmp_path / "parts", CALM, 3)
    lost = Here({"first": parts[1], "second": "part-1"}[reading])
    made = archive(tmp_path / "archive.db", str(tmp_path / "parts" / "*"), crew=lost, seed="s")
    assert made.bad == (f"{parts[1]}: each worker that read it died",)
    plain(tmp_path / "plain.db", CALM[:20] + CALM[40:], seed="s")
    assert drawn(tmp_path / "archive.db") == drawn(tmp_path / "plain.db")


def test_no_part_and_no_match_leave_the_desk_empty(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file matches this"):
        archive(tmp_path / "archive.db", str(tmp_path / "*.jsonl"))
    with pytest.raises(UsageError, match="no part can be read"):
        archive(tmp_path / "archive.db", str(tmp_path / "absent.jsonl"))
    with pytest.raises(UsageError, match="contains a password"):
        archive(tmp_path / "archive.db", "s3://ann:secret@evals/*.jsonl")
    assert drawn(tmp_path / "archive.db") == ([], [], [])


def test_labels_of_the_parts_are_taken_where_the_verdict_is_held(tmp_path: Path) -> None:
    parts = write_parts(tmp_path / "parts", CALM, 2)
    made = archive(tmp_path / "archive.db", *parts, import_labels=True)
    held = made.run.verdicts
    gone = f"{60 - held} left out: the desk does not have the verdict"
    assert made.notes == (f"{held} labels taken from the file; {gone}",)


@pytest.mark.parametrize(
    ("patterns", "parts", "source"),
    [
        (["runs/*.jsonl"], 12, "12 parts of runs/*.jsonl"),
        (["a.jsonl"], 1, "1 part of a.jsonl"),
        (["a.jsonl", "b.jsonl"], 2, "2 parts of a.jsonl, b.jsonl"),
        (
            [f"{i}.jsonl" for i in range(2000)],
            1999,
            "1,999 parts of 0.jsonl, 1.jsonl and 1,998 more",
        ),
    ],
)
def test_the_source_of_an_archive_is_told_in_words(patterns: Any, parts: int, source: str) -> None:
    assert archive_source(patterns, parts) == source
