"""Every public name in use, as strict types see it; it runs on the samples and asks no model."""

from pathlib import Path

import reviewdesk as rd
from reviewdesk import stats


def use(samples: Path, desk: Path) -> dict[str, object]:
    """Return what each part gave, by its name."""
    opened: rd.ReviewDesk = rd.open(samples / "library-desk.jsonl", desk=desk, reviewer="ada")
    with opened:
        run: rd.DeskRun = opened.run
        verdicts: rd.DeskRecords[rd.DeskRecord] = run.verdicts
        names = verdicts.names[:2]
        events: list[rd.DeskRecord] = [run.label(name, "pass", note="read") for name in names]
        found: rd.CalibrationRecord = run.calibration(by="decision")
        plot: rd.Plot = found.plot()
        undone: rd.DeskRecord | None = opened.undo()
    return {
        "labels": [event["label"] for event in events],
        "undone": None if undone is None else undone["event"],
        "plot": plot.startswith("<svg"),
        "panel": panel(samples).decision,
        "errors": [refusal(samples, desk), *map(str, panel_refusals())],
        "median": stats.median([0.1, 0.5, 0.6]),
    }


def panel(samples: Path) -> rd.Assessment:
    """Decide by ballots, of a panel that could be asked."""
    juror = rd.Juror("a", "model", "openai", price=rd.Price(1.0, 2.0))
    juror = rd.with_prompt(juror, samples / "prompt-strict.yaml")
    seats: list[rd.Ballot] = [rd.ballot("a", 0.9)]
    found = rd.Panel("mean", jurors=[juror]).decide(seats)
    assert found.decision is rd.Decision.PASS
    return found


async def ask(asked: rd.Panel) -> rd.LiveVerdict:
    """Ask a panel about a case."""
    return await asked.judge(rd.Case("a", "out", checks=(rd.Check("contains", "out"),)))


def refusal(samples: Path, desk: Path) -> str:
    """Return the names of the errors that a wrong path, name, option and desk raise."""
    said = []
    for kind, report, name, share in (
        (rd.ReportError, "none.jsonl", "", 0.5),
        (rd.NotFoundError, "library-desk.jsonl", "none", 0.5),
        (rd.UsageError, "library-desk.jsonl", "", 2.0),
        (rd.DeskError, "library-desk.jsonl", "", 0.5),
    ):
        path = samples / report if kind is rd.DeskError else desk
        try:
            with rd.open(samples / report, desk=path, threshold=share) as opened:
                opened.run.show(name)
        except kind as error:
            said.append(type(error).__name__)
    return " ".join(said)


def panel_refusals() -> list[rd.ReviewDeskError]:
    """Return the errors of a panel file that is not there, and of a panel that nobody answers."""
    said: list[rd.ReviewDeskError] = []
    try:
        rd.Panel.from_file("none.toml")
    except rd.PanelError as error:
        said.append(error)
    try:
        rd.Panel("mean").decide([rd.ballot("a", error="down")])
    except rd.NoJurorsError as error:
        said.append(error)
    return said
