"""nacre bench"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.catalogue import HelpGroup
from nacre.cli.cli_context import CliContext
from nacre.cli.options import PATH, command, form_option, option
from nacre.cli.ui.output import DATA, Column, Form, chosen_form, print_rows, print_table, say
from nacre.cli.ui.prompts import progress_line
from nacre.cli.ui.records import count_column

if TYPE_CHECKING:
    from nacre.bench.datasets import Unit
    from nacre.bench.run import Report, Row


# Checked before the run, which takes minutes.
REPORT_FILE = click.Path(dir_okay=False, writable=True, allow_dash=True, path_type=Path)


@click.group("bench", cls=HelpGroup)
def bench_command() -> None:
    """Measure recall on public datasets, and the judge of conflicts on labelled pairs; no language model is asked. Your
    own store is not touched."""


@command("recall", form_option(), group=bench_command)
@option("--suite NAME", "locomo, longmemeval, beam or notes.", required=True)
@option(
    "--data PATH",
    "The dataset's own JSON, plain or gzipped; of notes, the folder or author.",
    to="file",
    type=PATH,
    required=True,
)
@option("--mode NAME", "For longmemeval: pooled (as it is) or haystack.", default="")
@option("--unit NAME", "What is to be found: turn or session, as the suite has it.", default=None)
@option("--limit N", "Ask only N questions, always the same ones.", least=1)
@option("--json FILE", "Write the whole report here; - prints it, and nothing else.", to="out", type=REPORT_FILE)
def recall(
    cli: CliContext,
    suite: str,
    file: Path,
    mode: str,
    unit: Unit | None,
    limit: int | None,
    out: Path | None,
    form: Form,
) -> None:
    """Measure how often the right memory is found, by default and in four plain ways: grep, BM25, vectors, and RRF.

    \b
      nacre bench recall --suite locomo --data locomo10.json --json locomo.report.json
      nacre bench recall --suite longmemeval --data longmemeval_oracle.json --mode haystack --limit 50
      nacre bench recall --suite notes --data FOLDER --json -

    Your settings of reading, trust, conflicts and orders to a model apply: NACRE_RERANK_MS=0 measures without reading.
    The folder of notes holds memories.jsonl, questions.jsonl and, optionally, chains.jsonl (versions of a fact, oldest
    first); training/notes/author5 means the files of that author. Each note is remembered on its date. For changed
    facts, "newest first" is how often the newest version is above every outdated one, before and after the chains are
    settled; "silent" is how often a question got no hit. The area under the curve compares the best relevance of
    questions with and without an answer. The calibration error is that of the five hits shown for each question: the
    mean difference between relevance and the share of answers, in ten bins.
    """
    from nacre.bench.datasets import sample
    from nacre.bench.run import load, run

    if out is not None and not out.absolute().parent.is_dir():
        raise click.UsageError(f"The folder of {out} is not there; make it first, the run takes minutes.")
    if suite == "notes":
        if mode or unit or limit is not None:
            raise click.UsageError("--mode, --unit and --limit are for conversations; notes are asked as a whole.")
        notes_recall(cli, file, out, form)
        return
    loaded = load(suite, file, mode, unit)
    with progress_line() as progress:
        asked = loaded if limit is None else sample(loaded, limit)
        report = run(asked, cli.embedder(), settings=cli.settings(), progress=progress)
    if write_report(report, out):
        print_report(report, form)


def write_report(report: object, out: Path | None) -> bool:
    """Whether a table is to be printed, too."""
    text = json.dumps(report, indent=2)
    if out is not None and str(out) == "-":
        click.echo(text)
        return False
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")
    return True


def notes_recall(cli: CliContext, folder: Path, out: Path | None, form: Form) -> None:
    from nacre.bench.notes import load_notes, run_notes
    from nacre.bench.run import rows

    notes = load_notes(folder)
    with progress_line() as progress:
        report = run_notes(notes, cli.embedder(), settings=cli.settings(), progress=progress)
    if not write_report(report, out):
        return
    print_table(rows(report["n"], report["metrics"]), score_columns("any@1", "any@5", "any@10", "mrr"), report, form)
    if form in DATA:
        return
    for name, changed in report["changed"].items():
        any_5 = changed["metrics"].get("any@5")
        say(f"Changed facts, {name}: newest first {percent(changed['newest_first'])}, any@5 {percent(any_5)}")
    for name, silence in report["silence"].items():
        say(f"Silent, {name}: {percent(silence['silent'])} of {silence['n']}")
    say(f"Area of relevance {report['abstention']['auc']}, calibration error {report['calibration_error']}")
    say(f"{report['n']} questions with an answer about {report['memories']} notes, {report['embedder']}.")


def percent(share: float | None) -> str:
    return "undefined" if share is None else f"{share:.1f} %"


@command("conflicts", form_option(), group=bench_command)
@option("--data PATH", "Pairs, one JSON object a line: old, new, label.", to="file", type=PATH, required=True)
@option("--json FILE", "Write the whole report here; - prints it, and nothing else.", to="out", type=REPORT_FILE)
def conflicts(cli: CliContext, file: Path, out: Path | None, form: Form) -> None:
    """Measure how well the judge tells memories that contradict or update each other from those that look alike.

    \b
      nacre bench conflicts --data pairs.jsonl --json -

    A label is duplicate, contradiction, update or unrelated. Precision and recall are of "these two conflict"; sure
    verdicts are those that may overwrite.
    """
    from nacre.bench.conflicts import LABELS, judge_pairs, read_pairs
    from nacre.conflicts.judge import PairJudge
    from nacre.factory import make_conflict_model

    pairs = read_pairs(file)
    with progress_line() as progress:
        report = judge_pairs(pairs, PairJudge(make_conflict_model(cli.settings())), progress)
    if not write_report(report, out):
        return
    rows = [(label, report["confusion"][label]) for label in LABELS]
    columns: list[Column[tuple[str, dict[str, int]]]] = [Column("label", lambda row: row[0], style="cyan")]
    columns += [verdict_column(kind) for kind in LABELS]
    if chosen_form(form) == "tsv":
        print_rows([[column.name for column in columns]])
    print_table(rows, columns, report, form)
    if form in DATA:
        return
    for name, figures in (("noted", report["noted"]), ("sure", report["sure"])):
        shares = (figures["precision"], figures["recall"], figures["kind_right"])
        precision, recall, kind = ("undefined" if share is None else f"{share:.3f}" for share in shares)
        say(f"{name}: precision {precision}, recall {recall}, kind right {kind}")
    say(f"{report['pairs']} pairs, {report['ms_a_pair']:.1f} ms each, judged by {report['judge']}.")


def verdict_column(kind: str) -> Column[tuple[str, dict[str, int]]]:
    return count_column(f"as {kind}", lambda row: row[1][kind])


def print_report(report: Report, form: Form) -> None:
    from nacre.bench.metrics import MAIN
    from nacre.bench.run import rows

    print_table(rows(report["n"], report["metrics"]), score_columns(*MAIN), report, form)
    if form in DATA:
        return
    say(f"{report['n']} questions of {report['suite']} ({report['mode']}, by {report['unit']}), {report['embedder']}.")
    latency = report["latency_ms"]
    say(
        f"A recall takes {latency['p50']:.1f} ms, one in twenty more than {latency['p95']:.1f};"
        f" {report['ingest_per_s']:.0f} turns are remembered a second."
    )


def score_columns(*names: str) -> list[Column[Row]]:
    def score_column(name: str) -> Column[Row]:
        return Column(name, lambda row: f"{row.scores[name]:.2f}", lambda row: f"{row.scores[name]:.1f}", right=True)

    return [
        Column("ranker", lambda row: row.ranker, style="cyan"),
        Column("questions", lambda row: row.questions, style="magenta"),
        count_column("n", lambda row: row.n),
        *map(score_column, names),
    ]
