"""The top of a page: the run and its file, its counts, and the reader's notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.run.measures import RunAlphas
from reviewdesk.domain.verdict import Decision
from reviewdesk.pages import words
from reviewdesk.pages.blocks import facts, items, paragraph, section, table
from reviewdesk.pages.htmltext import Child, Html, el, line
from reviewdesk.pages.records import RunPage

_DECISIONS = (*Decision, None)


def title(page: RunPage) -> str:
    """Return the title of the report, or else the name of the run."""
    stated = page.run.header.get("title")
    return line(stated if isinstance(stated, str) and stated.strip() else page.run.name, 300)


def head(page: RunPage) -> Html:
    """Return the page header: the title, and what identifies the run."""
    return el(
        "header",
        el("h1", title(page)),
        paragraph("A run of LLM judges, as reviewed at a reviewdesk.", class_="lead"),
        facts(_about(page)),
    )


def _about(page: RunPage) -> Iterator[tuple[str, Child]]:
    run, header = page.run, page.run.header
    yield "run", line(run.name)
    yield "file", line(run.file)
    yield "format", line(run.format)
    yield "made", words.moment(header.get("created_at")) if header.get("created_at") else None
    yield "producer", _join_fields(header.get("producer"), ("name", "version", "format"))
    yield "generator", _join_fields(header.get("generator"), ("model", "vendor"))
    yield "defaults", _settings(header.get("defaults")) or "none stated"
    yield "set by you", _settings(page.filled)
    yield "loaded", f"{words.moment(run.loaded_at)} UTC"
    yield "page written", f"{words.moment(page.written_at)} UTC"
    yield "file hash", el("code", f"sha256:{page.file_hash}")
    yield "log head", el("code", page.head)


def _join_fields(stated: Any, keys: tuple[str, ...]) -> str | None:
    found = [line(stated[key], 200) for key in keys if stated.get(key)] if stated else []
    return ", ".join(found) or None


def _settings(values: Mapping[str, Any] | None) -> str | None:
    kept = {name: value for name, value in (values or {}).items() if value not in (None, {}, [])}
    return ", ".join(f"{line(name, 60)} {line(value, 300)}" for name, value in kept.items()) or None


def summary(page: RunPage) -> Html:
    """Return the section of counts: decisions, flags, labels, ballots and agreement."""
    run, progress = page.run, page.progress
    rows = [
        (words.decision(decision), words.count(n), words.share(n, run.verdicts))
        for decision in _DECISIONS
        if (n := page.decisions.get(decision, 0))
    ]
    return section(
        "summary",
        "Summary",
        el(
            "div",
            _card("verdicts", words.count(run.verdicts)),
            _card("flagged for review", words.count(run.flagged)),
            _card("labelled by people", words.count(progress.labelled)),
            _card("ballots", words.count(run.ballots), f"{run.failed_ballots:,} failed"),
            class_="cards",
        ),
        el(
            "div",
            table("What the panels decided", ("decision", "verdicts", "share"), rows),
            table("Why verdicts are flagged", ("flag", "verdicts"), _flags(page)),
            table("How far the jurors agree", ("alpha", "value", "about"), _alphas(page.alphas)),
            table("How far the labels have come", ("labels", "verdicts"), _labels(page)),
            class_="pair",
        ),
    )


def _card(name: str, value: str, more: str | None = None) -> Html:
    return el(
        "div",
        el("span", value, class_="big"),
        el("span", name),
        el("span", more, class_="muted") if more else None,
    )


def _flags(page: RunPage) -> list[tuple[str, str]]:
    carried = [
        (flag.label.replace("_", " "), words.count(page.flags[flag]))
        for flag in Flag
        if page.flags.get(flag)
    ]
    return carried or [("no verdict carries a flag", "0")]


def _alphas(found: RunAlphas) -> list[tuple[str, str, str]]:
    about = {
        "alpha": ("scores", f"95% {words.ends(found.alpha_low, found.alpha_high)}"),
        "alpha_votes": ("votes", "nominal"),
        "alpha_ordinal": ("ranks", "ordinal"),
    }
    return [
        (
            f"on {name}",
            words.number(getattr(found, key)),
            found.reasons[key].words if key in found.reasons else note,
        )
        for key, (name, note) in about.items()
    ]


def _labels(page: RunPage) -> list[tuple[str, str]]:
    found = page.progress
    return [
        ("with a label", words.count(found.labelled)),
        ("of the flagged", f"{found.flagged_done:,} of {found.flagged:,}"),
        ("of the audit", f"{found.audit_done:,} of {found.audit:,}"),
        ("can't tell", words.count(found.unsure)),
        ("disputed", words.count(found.disputed)),
    ]


def notes(page: RunPage) -> Html:
    """Return the section of notes that the reader made about the file."""
    run = page.run
    texts: list[Child] = [line(note, 5000) for note in run.notes]
    if run.failed_ballots:
        texts.insert(0, f"{run.failed_ballots:,} of {run.ballots:,} ballots failed")
    content = items(texts) if texts else paragraph("Nothing.", class_="muted")
    return section("notes", "What the reader noticed", content)
