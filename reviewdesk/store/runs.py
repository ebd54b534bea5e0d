"""Find, count, restore and hide loaded runs."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count, groupby
from pathlib import PurePath
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

import msgspec

from reviewdesk.domain.assessment.result import Breach, Flag
from reviewdesk.domain.labels.chain import DESK
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.run.packing import COLUMNS
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import NotFoundError, UsageError
from reviewdesk.store import events
from reviewdesk.store.connect import decision, first_column, lookup, record, value
from reviewdesk.store.events import NewEvent
from reviewdesk.store.verdicts import first_key

if TYPE_CHECKING:
    from reviewdesk.domain.run.details import DecisionCounts
    from reviewdesk.domain.run.digest import RunDigest
    from reviewdesk.domain.run.stats import Stats
    from reviewdesk.domain.run.volatility import RunMeans
    from reviewdesk.domain.run.window import Counts, RunTally

_BATCH = 500


def all_runs(conn: Connection) -> list[Run]:
    return list(_runs(conn, "removed_at IS NULL ORDER BY key"))


def find(conn: Connection, name: str | None) -> Run:
    """Return the run with this name or unique hash prefix; for ``None``, the run opened last.

    Raise NotFoundError if no run fits, and UsageError if several do.
    """
    if name is None:
        last = next(_runs(conn, "removed_at IS NULL ORDER BY opened DESC LIMIT 1"), None)
        if last is None:
            raise NotFoundError("no run is loaded yet", "Load one: reviewdesk open REPORT.")
        return last
    loaded = all_runs(conn)
    found = [run for run in loaded if run.name == name]
    if not found and len(name) >= 4:
        found = [run for run in loaded if run.hash.startswith(name)]
    if not found:
        known = ", ".join(run.name for run in loaded) or "none"
        raise NotFoundError(f"no run {name!r}", f"Loaded runs: {known}.")
    if len(found) > 1:
        names = ", ".join(run.name for run in found)
        raise UsageError(f"{name!r} matches several runs: {names}", "Give more of the hash.")
    return found[0]


def show_only(conn: Connection, run_hash: str) -> None:
    """Hide all other runs and their events from every statement of a connection."""
    run = find(conn, run_hash)
    # SQLite first looks a name up in a connection's own views. They take no bound values.
    shown = {
        "runs": f"key = {int(run.key)}",
        "label_events": f"run = '{bytes.fromhex(run.hash).hex()}'",
    }
    for table, condition in shown.items():
        conn.execute(f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE {condition}")


UNANIMOUS = {
    # A single score also has a range of 0, but no variance and so no mass.
    "unanimous_scores": "(mass IS NOT NULL AND range = 0)",
    # Jurors may vote alike and still give different labels, one of which is neither pass nor fail.
    "unanimous_votes": (
        f"(answered > 1 AND passes IN (0, answered) AND NOT flags & {Flag.SPLIT.value})"
    ),
}
"""SQL conditions that hold if all jurors of a verdict gave the same score, or the same vote."""


def truths(
    conn: Connection, run: int | None = None, without: Collection[bytes] = ()
) -> dict[int, Counter[Truth]]:
    """Count the labelled contents of all runs, or of one, by run key and truth."""
    rows = conn.execute(
        f"""SELECT v.run, t.truth, count(*) FROM truths t CROSS JOIN verdicts v ON v.item = t.item
            WHERE v.run {"= ?2" if run else "IN (SELECT key FROM runs)"} AND v.audit < 2
              AND hex(v.item) NOT IN (SELECT upper(value) FROM json_each(?1))
            GROUP BY v.run, t.truth""",
        (json.dumps([item.hex() for item in without]), *([run] if run else [])),
    )
    found = defaultdict[int, Counter[Truth]](Counter)
    for key, truth, n in rows:
        found[key][Truth(truth)] = n
    return found


def tallies(conn: Connection, run: int | None = None) -> "dict[int, DecisionCounts]":
    """Count the verdicts of all runs, or of one, by run key."""
    # Imported here because opening a run does not count verdicts.
    from reviewdesk.domain.run.details import DecisionCounts
    from reviewdesk.store import measures

    # Rows are in the order of their runs, so a scan of the table is faster than the index.
    source = f"verdicts NOT INDEXED WHERE {measures.SHOWN}"
    source = source if run is None else "verdicts WHERE run = ?"
    rows = conn.execute(
        f"""SELECT run, decision, flags, marks, count(*) AS n,
                   sum({UNANIMOUS["unanimous_scores"]}) AS scores,
                   sum({UNANIMOUS["unanimous_votes"]}) AS votes FROM {source}
            GROUP BY run, decision, flags, marks""",
        () if run is None else (run,),
    )
    decisions = defaultdict[int, Counter[Decision | None]](Counter)
    flags = defaultdict[int, Counter[Flag]](Counter)
    breaches = defaultdict[int, Counter[Breach]](Counter)
    more = defaultdict[int, Counter[str]](Counter)
    for row in rows:
        key = row["run"]
        n = row["n"]
        decisions[key][decision(row)] += n
        flags[key].update({flag: n for flag in Flag if row["flags"] & flag})
        breaches[key].update(dict.fromkeys(Breach(row["marks"]), n))
        more[key].update(unanimous_scores=row["scores"] or 0, unanimous_votes=row["votes"] or 0)
    for key, n in measures.unknown_ballots(conn, run).items():
        more[key].update(unknown_ballots=n)
    found = {
        key: DecisionCounts(dict(counts), dict(flags[key]), dict(breaches[key]), **more[key])
        for key, counts in decisions.items()
    }
    query = "SELECT key FROM runs WHERE archive IS NOT NULL AND key = ifnull(?, key)"
    for key in first_column(conn, query, (run,)):
        if stats := archive_stats(conn, key):
            found[key] = stats.decision_counts()
    return found


def archive_text(conn: Connection, key: int) -> str | None:
    found: str | None = value(conn, "SELECT archive FROM runs WHERE key = ?", (key,))
    return found


def archive_stats(conn: Connection, key: int) -> "Stats | None":
    # Imported here because it loads numpy, which commands that only read do not need.
    from reviewdesk.domain.run.stats import Stats

    found = archive_text(conn, key)
    return None if found is None else msgspec.json.decode(found, type=Stats)


_DIMENSIONS = """SELECT name, count(x) AS n, avg(x) AS mean, total(x * x) AS squares
    FROM (SELECT json_extract(b.body, '$.case.dimension') AS name,
                 ifnull(v.score, CASE v.decision WHEN 'pass' THEN 1.0 WHEN 'fail' THEN 0.0 END) AS x
          FROM verdicts v JOIN bodies b ON b.verdict = v.key
          WHERE v.run = ? AND instr(b.body, '"dimension"'))
    WHERE name IS NOT NULL AND x IS NOT NULL GROUP BY name ORDER BY name"""


def run_means(conn: Connection, run: int) -> "RunMeans":
    """Return a run's mean score by dimension; a decision without a score counts as 1 or 0."""
    # Imported here because opening a run does not compare means.
    from reviewdesk.domain.run.volatility import RunMean, RunMeans

    names = lookup(conn, "SELECT names FROM measures WHERE run = ?", (run,)) or "[]"
    query = f"""SELECT total(answered > 1) AS n, total({UNANIMOUS["unanimous_votes"]}) AS alike
                FROM verdicts WHERE run = ?"""
    row = conn.execute(query, (run,)).fetchone()
    share = row["alike"] / row["n"] if row["n"] else 0.0
    alike = RunMean(int(row["n"]), share, row["alike"] * (1 - share))
    some = """SELECT 1 FROM bodies WHERE instr(body, '"dimension"') AND verdict IN
              (SELECT key FROM verdicts WHERE run = ? ORDER BY key LIMIT 50)"""
    rows = conn.execute(_DIMENSIONS, (run,)) if lookup(conn, some, (run,)) else ()
    dimensions = {
        name: RunMean(n, mean, max(squares - n * mean * mean, 0.0))
        for name, n, mean, squares in rows
    }
    return RunMeans(tuple(sorted(json.loads(names))), dimensions, alike)


def by_hash(conn: Connection, run_hash: str) -> Run | None:
    return next(_runs(conn, "hash = ?", run_hash), None)


def by_key(conn: Connection, key: int) -> Run:
    return next(_runs(conn, "key = ?", key))


def _runs(conn: Connection, where: str, *values: Any) -> Iterator[Run]:
    for row in conn.execute(f"SELECT * FROM runs WHERE {where}", values):
        contents = row["contents"]
        archive = row["archive"]
        yield record(
            Run,
            row,
            notes=json.loads(row["notes"]),
            header=json.loads(row["header"]),
            whole=json.loads(archive)["counts"]["verdicts"] if archive else row["verdicts"],
            contents=row["verdicts"] if contents is None else contents,
            by_verdict=contents is None,
        )


def options(conn: Connection, key: int) -> Any:
    """Return the reading options that made this run, including the policy a person filled in."""
    return json.loads(value(conn, "SELECT options FROM runs WHERE key = ?", (key,)))


def was_drawn_by_verdict(conn: Connection, run_hash: str) -> bool:
    """Return True if the log states that an older version drew a run; its rows may be lost."""
    said = [one.detail for one in events.of_desk(conn, "run", "rules") if one.run == run_hash]
    return bool(said) and "drawn" not in said[-1]


def count_decided(conn: Connection, key: int) -> None:
    if by_key(conn, key).by_verdict:
        return
    rows = conn.execute(
        """SELECT ifnull(sum(decision = 'pass'), 0), ifnull(sum(decision = 'fail'), 0), run, stratum
           FROM verdicts WHERE run = ? GROUP BY stratum""",
        (key,),
    )
    query = "UPDATE strata SET passed = ?, failed = ? WHERE run = ? AND stratum = ?"
    conn.executemany(query, rows.fetchall())


def strata(conn: Connection, key: int) -> list[tuple[int, int, int]]:
    query = "SELECT stratum, size, audit FROM strata WHERE run = ? ORDER BY stratum"
    return list(map(tuple, conn.execute(query, (key,))))


def unique_name(conn: Connection, wanted: str, file: str) -> str:
    """Return the report's own name or else the file's stem, with ``#2``, ``#3`` if it is taken."""
    base = wanted or PurePath(file).name.split(".")[0] or file
    taken = first_column(conn, "SELECT name FROM runs")
    names = chain([base], (f"{base}#{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def touch(conn: Connection, run: int, at: str) -> None:
    """Make a run the one opened last, and restore it if it was removed."""
    set_removed(conn, run, None, at)
    query = "UPDATE runs SET opened = (SELECT max(opened) + 1 FROM runs) WHERE key = ?"
    conn.execute(query, (run,))


def set_removed(conn: Connection, run: int, removed_at: str | None, at: str) -> None:
    """Hide or restore a run and record it, because figures over all runs omit removed ones."""
    query = "SELECT hash, removed_at FROM runs WHERE key = ?"
    run_hash, before = conn.execute(query, (run,)).fetchone()
    if (before is None) == (removed_at is None):
        return
    conn.execute("UPDATE runs SET removed_at = ? WHERE key = ?", (removed_at, run))
    kind = "restored" if removed_at is None else "removed"
    events.append(conn, DESK, [NewEvent(kind, at, run=run_hash)])


_FACTS = (
    "hash", "file_hash", "format", "options", "seed", "header", "verdicts", "ballots",
    "failed_ballots", "flagged", "audit", "passed", "failed", "escalation_stated",
    "confidence_source", "scores_stated", "human_labels",
)  # fmt: skip
_ROWS = (
    "id", "test", "item", "decision", "score", "stated_score", "confidence", "agreement", "band",
    "agreement_source", "ours_band", "margin", "passes", "answered", "seated", "range", "mass",
    "marks", "flags", "stratum", "rank", "draw", "mix", "audit",
)  # fmt: skip


def facts(conn: Connection, key: int) -> dict[str, Any]:
    """Return the facts that the content hash of a run covers besides its verdicts."""
    found: dict[str, Any] = {"strata": strata(conn, key)}
    for name, query in (
        ("run", f"SELECT {', '.join(_FACTS)} FROM runs WHERE key = ?"),
        ("measures", "SELECT * FROM measures WHERE run = ?"),
    ):
        row = dict(conn.execute(query, (key,)).fetchone())
        # The number of a run is its place in this desk, and not part of the judged content.
        found[name] = {column: row[column] for column in row if column != "run"}
    # The hashes of other runs must stay the same as before contents were drawn or archives made.
    run = by_key(conn, key)
    if not run.by_verdict:
        query = "SELECT passed, failed FROM strata WHERE run = ? ORDER BY stratum"
        found["drawn"] = [run.contents, *map(list, conn.execute(query, (key,)))]
    if kept := archive_text(conn, key):
        found["archive"] = kept
    return found


def digest(conn: Connection, key: int) -> "RunDigest":
    from reviewdesk.domain.run.digest import RunDigest

    found = RunDigest()
    names = ("body", *_ROWS)
    query = f"""SELECT {", ".join(names)} FROM verdicts v JOIN bodies b ON b.verdict = v.key
                WHERE v.key >= ? AND +v.run = ? ORDER BY v.key LIMIT ?"""
    rows = conn.execute(query, (first_key(conn, key), key, by_key(conn, key).verdicts))
    while some := rows.fetchmany(_BATCH):
        found.add_rows(names, some)
    return packed_digest(conn, key, found)


def packed_digest(conn: Connection, key: int, found: "RunDigest | None" = None) -> "RunDigest":
    """Hash the packed ballots of a run, after what is already hashed."""
    from reviewdesk.domain.run.digest import RunDigest

    found = found or RunDigest()
    query = f"SELECT {', '.join(COLUMNS)} FROM packed WHERE run = ? ORDER BY first"
    for row in conn.execute(query, (key,)):
        found.add_packed(dict(row))
    return found


def counted(counts: "Counts") -> dict[str, Any]:
    """Return the columns of a run that count its ballots and decisions."""
    return {
        "ballots": counts.ballots,
        "failed_ballots": counts.failed,
        "passed": counts.passes,
        "failed": counts.fails,
        "confidence_source": counts.confidence_source(),
        "human_labels": counts.human_labels,
    }


def counts_are(conn: Connection, key: int, counts: "RunTally") -> bool:
    made = {"verdicts": counts.verdicts, **counted(counts)}
    query = f"SELECT {', '.join(made)} FROM runs WHERE key = ?"
    return tuple(conn.execute(query, (key,)).fetchone()) == tuple(made.values())


def tag_hash(conn: Connection, key: int) -> str:
    from reviewdesk.domain.run.digest import RunDigest

    found = RunDigest()
    first = first_key(conn, key)
    query = "SELECT verdict - ? AS place, tag FROM case_tags WHERE run = ? ORDER BY place, tag"
    rows = conn.execute(query, (first, key))
    for _, some in groupby(rows, lambda row: row["place"] // _BATCH):
        found.add_tags((row["place"], row["tag"]) for row in some)
    return found.hexdigest()


GIVEN = ("id", "test", "item", "body", "stratum", "rank", "draw", "mix", "audit")
"""The columns of a run that stay when it is derived again."""
ABOUT = ("name", "file", "loaded_at", "skipped", "notes")
"""The columns of a run in its event, besides the content hash, which is the same on each desk."""


def about(conn: Connection, key: int) -> dict[str, Any]:
    query = f"SELECT {', '.join(ABOUT)} FROM runs WHERE key = ?"
    return dict(conn.execute(query, (key,)).fetchone())


def cover(conn: Connection, key: int, at: str, kind: str, hashes: Mapping[str, Any]) -> None:
    """Append the event that makes the log's head depend on a run."""
    run = by_key(conn, key)
    drawn = {} if run.by_verdict else {"drawn": "contents"}
    detail = {**about(conn, key), **hashes, **drawn}
    events.append(conn, DESK, [NewEvent(kind, at, run=run.hash, detail=detail)])


def cover_old(conn: Connection, at: str, rules: int = 0) -> None:
    """Append an event for each run that no event covers yet, and one for its removal."""
    covered = {event.run for event in events.of_desk(conn, "run", "rules")}
    rows = conn.execute("SELECT key, hash, content, removed_at FROM runs ORDER BY key").fetchall()
    for key, run_hash, content, removed_at in rows:
        if run_hash in covered:
            continue
        hashes = {"content": content, "tags": tag_hash(conn, key)}
        hashes = _hashed(conn, key) if content is None else hashes
        cover(conn, key, at, "run", {**hashes, "covered_since": at, "rules": rules})
        if removed_at is not None:
            events.append(conn, DESK, [NewEvent("removed", at, run=run_hash)])


def _hashed(conn: Connection, key: int) -> dict[str, Any]:
    """Hash a run, keep the hash of its content, and return all that its event states."""
    found = digest(conn, key)
    content = found.hexdigest(facts(conn, key))
    conn.execute("UPDATE runs SET content = ? WHERE key = ?", (content, key))
    return {"content": content, "columns": found.columns(), "tags": tag_hash(conn, key)}


def cover_again(conn: Connection, key: int) -> None:
    """Hash a run anew after its rows were derived again, if it has a content hash or an event."""
    held = conn.execute("SELECT hash, content FROM runs WHERE key = ?", (key,)).fetchone()
    if held["content"] is None:
        return
    from reviewdesk.domain.run.digest import RULES

    hashes = _hashed(conn, key)
    said = [one.detail for one in events.of_desk(conn, "run", "rules") if one.run == held["hash"]]
    if said and (said[-1]["content"], said[-1]["rules"]) != (hashes["content"], RULES):
        at = value(conn, "SELECT strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')")
        cover(conn, key, at, "rules", {**hashes, "rules": RULES})


def tag_verdicts(conn: Connection) -> None:
    # SQLite's JSON functions end a text at NUL, so Python parses the lists.
    tagged = conn.execute(
        """SELECT v.run, v.key, json_extract(b.body, '$.case.tags')
           FROM verdicts v JOIN bodies b ON b.verdict = v.key
           WHERE json_type(b.body, '$.case.tags') = 'array'"""
    ).fetchall()
    conn.executemany(
        "INSERT OR IGNORE INTO case_tags VALUES (?, ?, ?)",
        [(run, tag, key) for run, key, tags in tagged for tag in json.loads(tags)],
    )
