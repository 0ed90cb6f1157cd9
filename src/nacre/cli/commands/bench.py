"""nacre bench"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

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


@click.group("bench")
def bench_command() -> None:
    """Measure recall on public datasets, and the judge of conflicts on labelled pairs; no language model is asked. Your
    own store is not touched."""


@command("recall", form_option(), group=bench_command)
@option("--suite NAME", "locomo, longmemeval or beam.", required=True)
@option("--data PATH", "The dataset's own JSON, plain or gzipped.", to="file", type=PATH, required=True)
@option("--mode NAME", "For longmemeval: pooled (as it is) or haystack.", default="")
@option("--unit NAME", "What is to be found: turn or session, as the suite has it.", default=None)
@option("--limit N", "Ask only N questions, always the same ones.", least=1)
@option("--json FILE", "Write the whole report here.", to="out", type=REPORT_FILE)
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
    """
    from nacre.bench.datasets import sample
    from nacre.bench.run import load, run

    if out is not None and not out.absolute().parent.is_dir():
        raise click.UsageError(f"The folder of {out} is not there; make it first, the run takes minutes.")
    loaded = load(suite, file, mode, unit)
    with progress_line() as progress:
        report = run(loaded if limit is None else sample(loaded, limit), cli.embedder(), progress=progress)
    if out is not None:
        out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print_report(report, form)


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
    text = json.dumps(report, indent=2)
    if out is not None and str(out) == "-":
        click.echo(text)
        return
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")
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

    def score_column(name: str) -> Column[Row]:
        return Column(name, lambda row: f"{row.scores[name]:.2f}", lambda row: f"{row.scores[name]:.1f}", right=True)

    columns: list[Column[Row]] = [
        Column("ranker", lambda row: row.ranker, style="cyan"),
        Column("questions", lambda row: row.questions, style="magenta"),
        count_column("n", lambda row: row.n),
        *map(score_column, MAIN),
    ]
    print_table(rows(report), columns, report, form)
    if form in DATA:
        return
    say(f"{report['n']} questions of {report['suite']} ({report['mode']}, by {report['unit']}), {report['embedder']}.")
    latency = report["latency_ms"]
    say(
        f"A recall takes {latency['p50']:.1f} ms, one in twenty more than {latency['p95']:.1f};"
        f" {report['ingest_per_s']:.0f} turns are remembered a second."
    )
