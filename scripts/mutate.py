"""Plants small faults (mutants) in a copy of the source, one at a time, and counts which of them the tests notice.

Usage: python scripts/mutate.py [--count 200] [--seed 1] [--part core | all]. A first run of the tests notes which
parts of each function every test enters; a mutant is then run against the tests that enter its part, the quickest
first, until one fails. Results are kept in the work folder, so that an interrupted run continues: a mutant that was
noticed is not run again while its function stays as it is, one that survived only when tests were changed. The report
is written to benchmarks/MUTATION.md; each part has its own section, and the other one stays. Survivors that were judged
to change nothing can be listed in benchmarks/equivalent_mutants.txt. Needs an operating system with `fork`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from mutation_plugin import MARK_MODULE, MARKS, SERVER_VARIABLE
from mutation_sites import OUTSIDE, Mutant, Sites, marked, one_line

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "benchmarks" / "MUTATION.md"
EQUIVALENT = ROOT / "benchmarks" / "equivalent_mutants.txt"
CORE = ("engine", "access", "storage", "recall", "conflicts", "safety")
STRICT = ("engine", "access", "storage")  # of these nine in ten must be noticed, of all eight in ten
WANTED, WANTED_STRICT = 80, 90
# Those of the core are traced first.
FIRST_TESTS = (
    "access", "conflicts", "contract", "engine", "lifecycle", "memory_store", "model", "property", "recall", "remember",
    "safety", "storage", "transfer", "text", "test_memory_store.py",
)  # fmt: skip
# Left out: those of the code's text, and those that need a browser or a network.
NO_TESTS = ("architecture", "browser", "docs", "torture", "clients/real", "test_wheel.py", "test_extras.py")
BUDGET = 60.0  # seconds of tests, by their usual duration, that one mutant may be run against
STAGES = (1.0, 4.0, 12.0, 30.0, BUDGET)  # within a stage the tests of a file run together
FEW = 5  # where fewer tests enter a part of a function, all that enter its file are asked
OWN_FILE, OWN_PACKAGE = 0.2, 0.6  # tests that mirror the mutant's file or package come as early as if they were quicker
GROUP = 100  # mutants for which one process of pytest is started


def packages(tree: Path, part: str) -> list[str]:
    if part == "core":
        return list(CORE)
    return [OUTSIDE, *sorted(path.parent.name for path in (tree / "src" / "nacre").glob("*/__init__.py"))]


def sample(tree: Path, part: str, count: int, seed: int) -> list[Mutant]:
    """As many of each package as its share of all, at least a third of an equal share. Each mutant has a number that is
    drawn from the seed and its text, and the lowest are taken: a change elsewhere leaves the sample as it is."""
    source = tree / "src" / "nacre"
    by_package = {
        package: [
            mutant
            for file in sorted(source.glob("*.py") if package == OUTSIDE else (source / package).rglob("*.py"))
            for mutant in Sites(file.relative_to(source).as_posix(), file.read_text()).mutants
        ]
        for package in packages(tree, part)
    }
    total = sum(map(len, by_package.values()))
    chosen = [
        (number, mutant)
        for mutants in by_package.values()
        for number, mutant in drawn(mutants, seed)[
            : max(round(count * len(mutants) / total), count // len(by_package) // 3)
        ]
    ]
    return [mutant for _, mutant in sorted(chosen, key=lambda each: each[0])[:count]]


def drawn(mutants: Sequence[Mutant], seed: int) -> list[tuple[str, Mutant]]:
    seen = Counter[str]()
    numbered = []
    for mutant in mutants:
        seen[mutant.judged] += 1
        text = f"{seed} {mutant.judged} {mutant.kind} {seen[mutant.judged]}"
        numbered.append((sha256(text.encode()).hexdigest(), mutant))
    return sorted(numbered, key=lambda each: each[0])


# Which tests enter what


@dataclass(slots=True)
class Trace:
    """Which tests enter which part of a function, how long each takes, and what importing them enters."""

    seconds: dict[str, float] = field(default_factory=dict)  # of the tests that passed
    entering: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # by part, and by file
    on_import: set[str] = field(default_factory=set)

    def add(self, row: dict[str, Any]) -> None:
        if not row["test"]:
            self.on_import.update(row["entered"])
        elif row["passed"]:
            self.seconds[row["test"]] = row["seconds"]
            self.enter(row["test"], row["entered"])

    def enter(self, test: str, segments: Sequence[str]) -> None:
        for segment in segments:
            self.entering[segment].add(test)
            self.entering[segment.partition(":")[0]].add(test)

    def chosen(self, mutant: Mutant) -> list[tuple[str, float]]:
        """The tests to run, with their usual seconds, as much as the budget allows."""
        tests = self.entering.get(mutant.segment, set()) if mutant.segment else self.entering.get(mutant.path, set())
        if len(tests) < FEW or mutant.segment in self.on_import:
            tests = tests | self.entering.get(mutant.path, set())

        def rank(name: str) -> float:
            own_file, own_package = name.startswith(f"{mutant.mirror}::"), name.startswith(f"tests/{mutant.package}/")
            return self.seconds[name] * (OWN_FILE if own_file else OWN_PACKAGE if own_package else 1.0)

        staged, spent = list[tuple[int, str, float]](), 0.0
        for name in sorted((name for name in tests if name in self.seconds), key=lambda name: (rank(name), name)):
            spent += self.seconds[name]
            stage = next((number for number, limit in enumerate(STAGES) if spent <= limit), None)
            if stage is None and staged:
                break
            staged.append((stage or 0, name, self.seconds[name]))
        staged.sort(key=lambda each: (each[0], each[1].partition("::")[0]))
        return [(name, seconds) for _, name, seconds in staged]


def trace(tree: Path, folder: Path, files: Sequence[str], processes: int) -> Trace:
    """Runs the tests of these files once with marks in the code; those of files that did not change are on record."""
    kept = folder / "trace"
    kept.mkdir(exist_ok=True)
    missing = [name for name in files if not record_of(kept, tree, name).exists()]
    if missing:
        say(f"tracing what the tests of {len(missing)} files enter")
        for start in range(0, len(missing), TRACED_AT_ONCE):
            some = missing[start : start + TRACED_AT_ONCE]
            trace_files(tree, kept, some, processes)
            say(f"{min(len(missing), start + TRACED_AT_ONCE)}/{len(missing)} files traced")
    result = Trace()
    for name in files:
        for line in record_of(kept, tree, name).read_text().splitlines():
            result.add(json.loads(line))
    return result


TRACED_AT_ONCE = 40  # files; what was traced is kept when a run is interrupted


def record_of(folder: Path, tree: Path, name: str) -> Path:
    return folder / f"{name.replace('/', '-')}.{sha256((tree / name).read_bytes()).hexdigest()[:10]}.jsonl"


def trace_files(tree: Path, folder: Path, files: Sequence[str], processes: int) -> None:
    notes = folder.parent / "notes"
    shutil.rmtree(notes, ignore_errors=True)
    notes.mkdir()
    source = tree / "src" / "nacre"
    marks = tree / "src" / f"{MARKS.replace('.', '/')}.py"
    plain = {file: file.read_bytes() for file in source.rglob("*.py")}
    try:
        for file, text in plain.items():
            file.write_text(marked(file.relative_to(source).as_posix(), text.decode(), MARKS))
        marks.write_text(MARK_MODULE % str(notes))
        compile_all(tree)
        command = [*pytest_command(tree, folder.parent / "tmp-trace"), f"-n{processes if processes > 1 else 0}", *files]
        subprocess.run(
            command, cwd=tree, env=environment(tree, MUTATION_TRACE=str(notes)), check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    finally:
        marks.unlink(missing_ok=True)
        for file, text in plain.items():
            file.write_bytes(text)
        compile_all(tree)
    rows = [json.loads(line) for each in notes.glob("tests.*") for line in each.read_text().splitlines()]
    in_processes: dict[str, set[str]] = defaultdict(set)
    for each in notes.glob("process.*"):
        for line in each.read_text().splitlines():
            with suppress(ValueError):  # it was killed while it wrote
                name, entered = json.loads(line)
                in_processes[name].update(entered)
    on_import = sorted({segment for row in rows if not row["test"] for segment in row["entered"]})
    for name in files:
        own = [row for row in rows if row["test"].startswith(f"{name}::")]
        for row in own:
            row["entered"] = sorted({*row["entered"], *in_processes[row["test"]]})
        first = {"test": "", "seconds": 0.0, "passed": True, "entered": on_import}
        record_of(folder, tree, name).write_text("".join(json.dumps(row) + "\n" for row in (first, *own)))


def test_files(tree: Path, only: str) -> list[str]:
    """All of them, those of the core first; `only` may name folders and files instead."""
    names = sorted(path.relative_to(tree / "tests").as_posix() for path in (tree / "tests").rglob("test_*.py"))
    left_out = tuple(f"{each}/" if "." not in each else each for each in NO_TESTS)
    wanted = tuple(filter(None, only.split(",")))
    names = [each for each in names if not each.startswith(left_out) and (not wanted or each.startswith(wanted))]
    names.sort(key=lambda name: not name.startswith(FIRST_TESTS))
    return [f"tests/{name}" for name in names]


# Running


def copy_tree(target: Path) -> None:
    """The tracked files and new ones, without what is ignored; the working tree itself is never touched."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True,
        text=True,
    )  # fmt: skip
    shutil.rmtree(target, ignore_errors=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    compile_all(target)


def compile_all(tree: Path) -> None:
    subprocess.run([sys.executable, "-m", "compileall", "-q", "src", "tests"], cwd=tree, check=True)


def environment(tree: Path, **more: str) -> dict[str, str]:
    """The copy's package comes before the installed one, also in the processes that tests start."""
    paths = {
        "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree), str(ROOT / "scripts")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {**os.environ, **paths, **more}


def read(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def pytest_command(tree: Path, temporary: Path) -> list[str]:
    return [
        sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "mutation_plugin",
        f"--rootdir={tree}", f"--basetemp={temporary}",
    ]  # fmt: skip


def digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()[:12]


class Results:
    """What became of each mutant, in a file of the work folder; the last line about a mutant holds."""

    def __init__(self, folder: Path, tree: Path, tests: Sequence[str]) -> None:
        self.file, self.tree = folder / "results.jsonl", tree
        self.equivalent = equivalents()
        self.tests = sha256("".join(digest(tree / name) for name in tests).encode()).hexdigest()[:12]
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        self.rows: dict[str, dict[str, Any]] = {row["key"]: row for row in map(json.loads, lines)}

    def stands(self, mutant: Mutant) -> bool:
        row = self.rows.get(mutant.key)
        if row is not None and row["outcome"] == "survived" and mutant.judged in self.equivalent:
            return True  # no test can notice it
        if row is None:
            return False
        if row["outcome"] == "survived":
            return bool(row["tests"] == self.tests)
        return not row["test"].startswith("tests/") or (self.tree / row["test"].partition("::")[0]).exists()

    def is_outdated(self, mutant: Mutant) -> bool:
        """Whether it survived tests that were changed since, and was not run against them again."""
        return self.rows.get(mutant.key, {}).get("outcome") == "survived" and not self.stands(mutant)

    def add(self, mutant: Mutant, outcome: str, test: str, ran: int) -> None:
        row = {**asdict(mutant), "key": mutant.key, "outcome": outcome, "test": test, "ran": ran}
        row["tests"] = self.tests
        self.rows[mutant.key] = row
        with self.file.open("a") as out:
            out.write(json.dumps(row) + "\n")


def run_all(
    mutants: Sequence[Mutant], trees: Sequence[Path], known: Trace, folder: Path, results: Results
) -> Iterator[None]:
    """Yields after each result. As many processes of pytest as there are trees, each for a group of mutants."""
    waiting = [mutant for mutant in mutants if not results.stands(mutant)]
    by_key = {mutant.key: mutant for mutant in waiting}
    groups = [waiting[start : start + GROUP] for start in range(0, len(waiting), GROUP)]
    running: dict[Path, tuple[subprocess.Popen[bytes], Path, int]] = {}
    free = list(trees)
    say(f"{len(mutants) - len(waiting)} of {len(mutants)} mutants are on record")
    done = 0
    try:
        while groups or running:
            while groups and free:
                tree = free.pop()
                running[tree] = (*start_group(tree, folder, groups.pop(0), known), 0)
            time.sleep(0.5)
            for tree, (process, out, taken) in list(running.items()):
                ended = process.poll() is not None
                lines = out.read_text().splitlines() if out.exists() else []
                for row in map(json.loads, lines[taken:]):
                    mutant = by_key[row["key"]]
                    results.add(mutant, row["outcome"], row["test"], row["ran"])
                    done += 1
                    say(f"{done}/{len(waiting)} {row['outcome']} after {row['ran']}: {describe(mutant)}")
                    yield
                running[tree] = (process, out, len(lines))
                if ended:
                    del running[tree]
                    free.append(tree)
    finally:
        for process, _, _ in running.values():
            process.terminate()


def start_group(
    tree: Path, folder: Path, mutants: Sequence[Mutant], known: Trace
) -> tuple[subprocess.Popen[bytes], Path]:
    jobs = folder / f"{tree.name}.jobs"
    chosen = [known.chosen(mutant) for mutant in mutants]
    rows = [
        asdict(mutant)
        | {"key": mutant.key, "tests": tests, "swappable": mutant.swappable and mutant.segment not in known.on_import}
        | {"slow": [name for name in [mutant.mirror] if "mark.slow" in read(tree / name)]}
        for mutant, tests in zip(mutants, chosen, strict=True)
    ]
    jobs.write_text(json.dumps(rows))
    out = jobs.with_suffix(".results")
    out.unlink(missing_ok=True)
    files = sorted({name.partition("::")[0] for tests in chosen for name, _ in tests})
    listed = jobs.with_suffix(".files")
    listed.write_text("\n".join(files))
    log = jobs.with_suffix(".log").open("wb")
    command = [*pytest_command(tree, folder / f"tmp-{tree.name}"), "-n0", f"@{listed}"]
    process = subprocess.Popen(
        command, cwd=tree, env=environment(tree, MUTATION_JOBS=str(jobs)), stdout=log, stderr=subprocess.STDOUT
    )
    return process, out


def database_server() -> str:
    """The address of one PostgreSQL for all mutants, where its packages are installed: starting it takes seconds."""
    sys.path.insert(0, str(ROOT))
    from tests import postgres_server

    return postgres_server.server() if postgres_server.available() else ""


# The report


def equivalents() -> dict[str, str]:
    """Judged by a person: `path function: old => new # why it changes nothing that anybody could see`."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []
    pairs = (line.rsplit(" # ", 1) for line in lines if " # " in line)
    return {judged.strip(): why.strip() for judged, why in pairs}


def commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "tests")
    return git("rev-parse", "--short=10", "HEAD") + (" with changes that are not committed" if changed else "")


class Section:
    """The figures of one part, as Markdown."""

    def __init__(
        self, part: str, mutants: Sequence[Mutant], results: Results, *, seed: int, tests: str, commit: str
    ) -> None:
        self.part, self.seed, self.tests, self.commit = part, seed, tests, commit
        self.equivalent = equivalents()
        self.outcomes = {
            mutant: results.rows[mutant.key]["outcome"]
            for mutant in sorted(mutants, key=lambda each: (each.path, each.line))
            if (results.stands(mutant) or results.is_outdated(mutant))
            and results.rows[mutant.key]["outcome"] != "invalid"
        }
        self.outdated = {mutant for mutant in self.outcomes if results.is_outdated(mutant)}
        self.drawn = len(mutants)

    def text(self) -> str:
        survivors = [mutant for mutant, outcome in self.outcomes.items() if outcome == "survived"]
        harmless = [mutant for mutant in survivors if mutant.judged in self.equivalent]
        open_ones = [mutant for mutant in survivors if mutant.judged not in self.equivalent]
        by_package: dict[str, list[Mutant]] = defaultdict(list)
        for mutant in self.outcomes:
            by_package[mutant.package].append(mutant)
        strict = [mutant for package in STRICT for mutant in by_package.get(package, [])]
        missing = self.drawn - len(self.outcomes)
        unfinished = f" Of {self.drawn} that were drawn, {missing} have not been run." if missing else ""
        if self.tests:
            unfinished += (
                " Only a part of the tests was asked, those whose paths below `tests` begin with: "
                f"{self.tests.replace(',', ', ')}."
            )
        return "\n".join([
            f"## {HEADINGS[self.part]}",
            "",
            f"{len(self.outcomes)} mutants, drawn at random with seed {self.seed}, on commit {self.commit}."
            + unfinished,
            "",
            "| package | mutants | noticed | by timeout | by slow tests | equivalent | survived "
            "| of these not run again | noticed of the rest | wanted |",
            "|---|---|---|---|---|---|---|---|---|---|",
            *(
                self.row(f"`{package}`", mutants, WANTED_STRICT if package in STRICT else WANTED)
                for package, mutants in sorted(by_package.items())
            ),
            self.row("all", list(self.outcomes), WANTED),
            self.row(", ".join(f"`{each}`" for each in STRICT), strict, WANTED_STRICT),
            "",
            "Survived:",
            "",
            *(f"- {describe(mutant)}{NOT_AGAIN if mutant in self.outdated else ''}" for mutant in open_ones),
            *([] if open_ones else ["None."]),
            "",
            "Equivalent:",
            "",
            *(f"- {describe(mutant)}: {self.equivalent[mutant.judged]}" for mutant in harmless),
            *([] if harmless else ["None was judged so."]),
            "",
        ])  # fmt: skip

    def row(self, name: str, mutants: Sequence[Mutant], wanted: int) -> str:
        outcomes = Counter(self.outcomes[mutant] for mutant in mutants)
        harmless = sum(self.outcomes[each] == "survived" and each.judged in self.equivalent for each in mutants)
        caught = outcomes["noticed"] + outcomes["timeout"] + outcomes["noticed slowly"]
        share = 100 * caught / max(1, len(mutants) - harmless)
        missed = " MISSED" if share < wanted else ""
        return (
            f"| {name} | {len(mutants)} | {caught} | {outcomes['timeout']} | {outcomes['noticed slowly']} "
            f"| {harmless} | {outcomes['survived'] - harmless} | {len(self.outdated.intersection(mutants))} "
            f"| {share:.0f} %{missed} | {wanted} % |"
        )


def describe(mutant: Mutant) -> str:
    return (
        f"`{mutant.path}:{mutant.line}` in `{mutant.function or 'the module'}`, {mutant.kind}: "
        f"`{one_line(mutant.old)[:100]}` => `{one_line(mutant.new)[:100]}`"
    )


NOT_AGAIN = " (not run again since tests were changed)"
HEADINGS = {"core": "The core", "all": "All of src/nacre"}


def write_report(path: Path, section: Section) -> None:
    """The section of the other part stays as it is."""
    kept = path.read_text() if path.exists() else ""
    texts = {}
    for part, heading in HEADINGS.items():
        if part == section.part:
            texts[part] = section.text()
        elif f"## {heading}\n" in kept:
            texts[part] = f"## {heading}\n" + kept.split(f"## {heading}\n")[1].split("\n## ")[0].rstrip() + "\n"
    introduction = (
        "# Which small faults the tests notice\n\n"
        "Written by `make mutate` (scripts/mutate.py). Each mutant is run against the tests of `make test` that enter "
        f"the part of the function that it changes, the quickest first, up to {BUDGET:.0f} s of tests, and "
        "where none of these notices it, against the slow tests of the file that mirrors it. Left out are the tests of "
        + ", ".join(NO_TESTS)
        + ". The outcome of a mutant is kept while its function stays as it is; one that survived is run again when "
        "tests were changed, and until then counts as survived.\n"
    )
    path.write_text("\n".join([introduction, *texts.values()]))


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=HEADINGS, default="core", help="core: " + ", ".join(CORE))
    parser.add_argument("--tests", default="", help="only these folders and files of tests")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "nacre-mutation")
    parser.add_argument("--fresh", action="store_true", help="forget the results and the trace of earlier runs")
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--report-only", action="store_true", help="run nothing, and write what is on record")
    parser.add_argument("--control", action="store_true", help="plant nothing, and say which tests fail nevertheless")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # with the processes that it has started
    if options.fresh:
        shutil.rmtree(options.folder, ignore_errors=True)
    trees = [options.folder / f"copy{number}" for number in range(options.processes)]
    source = options.folder / "commit"  # of which the copies are; a report may be written later
    if not options.report_only:
        for tree in trees:
            copy_tree(tree)
        source.write_text(commit())
    tests = test_files(trees[0], options.tests)
    results = Results(options.folder, trees[0], tests)
    mutants = sample(trees[0], options.part, options.count, options.seed)

    def report() -> None:
        known = {"seed": options.seed, "tests": options.tests, "commit": read(source)}
        write_report(options.report, Section(options.part, mutants, results, **known))

    if options.report_only:
        report()
        return
    os.environ[SERVER_VARIABLE] = database_server()
    known = trace(trees[0], options.folder, tests, options.processes)
    if options.control:
        results.rows, results.file = {}, options.folder / "control.jsonl"
        for _ in run_all([replace(each, new=each.old) for each in mutants], trees, known, options.folder, results):
            pass
        failed = [row["test"] for row in results.rows.values() if row["outcome"] != "survived"]
        say(f"{len(failed)} of {len(mutants)} failed without a fault: {', '.join(failed) or 'none'}.")
        return
    for _ in run_all(mutants, trees, known, options.folder, results):
        report()
    report()
    say(f"Written to {options.report}.")


if __name__ == "__main__":
    main()
