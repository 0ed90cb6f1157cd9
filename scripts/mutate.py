"""Plants small faults (mutants) in a copy of the core, one at a time, and counts which of them the tests notice.

Usage: python scripts/mutate.py [--count 200] [--seed 1] [--packages engine,access,...]. A first run of the tests notes
which functions each test enters; a mutant is then run against the tests that enter its function, the quickest first,
and against the test files of its package. Results are kept in the work folder, so that an interrupted run continues;
the report is written to benchmarks/MUTATION.md. Survivors that were judged to change nothing can be listed in
benchmarks/equivalent_mutants.txt; the file is optional.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from queue import Queue
from random import Random

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "benchmarks" / "MUTATION.md"
EQUIVALENT = ROOT / "benchmarks" / "equivalent_mutants.txt"
PACKAGES = ("engine", "access", "storage", "recall", "conflicts", "safety")
STRICT = ("engine", "access", "storage")  # of these nine in ten must be noticed, of all eight in ten
WANTED, WANTED_STRICT = 80, 90
# The tests that are in process and about the core. Others (command line, MCP) start processes, which no trace sees.
TRACED_TESTS = (
    "access", "conflicts", "contract", "engine", "lifecycle", "memory_store", "model", "property", "recall", "remember",
    "safety", "storage", "transfer", "test_memory_store.py",
)  # fmt: skip
PATIENCE, LEAST_PATIENCE = 10.0, 60.0  # times the tests' own duration, and seconds: the machine may be busy
PLUGIN = "mutation_trace"
TRACE_PLUGIN = """
import json, os, sys, threading, time
SOURCE, OUT = os.environ["MUTATION_SOURCE"], os.environ["MUTATION_OUT"]
seen, entered, known = {}, set(), {}

def note(frame, event, _):
    if event == "call":
        code = frame.f_code
        key = known.get(code)
        if key is None:
            name = code.co_filename
            key = known[code] = f"{name[len(SOURCE) + 1:]}:{code.co_firstlineno}" if name.startswith(SOURCE) else ""
        if key:
            entered.add(key)

import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    entered.clear()
    started = time.perf_counter()
    threading.setprofile(note)
    sys.setprofile(note)
    yield
    sys.setprofile(None)
    threading.setprofile(None)
    seen[item.nodeid] = {"seconds": time.perf_counter() - started, "entered": sorted(entered), "passed": True}

def pytest_runtest_logreport(report):
    if report.failed and report.nodeid in seen:
        seen[report.nodeid]["passed"] = False
    elif report.failed:
        failed.add(report.nodeid)

failed = set()

def pytest_sessionfinish():
    for name in failed & seen.keys():
        seen[name]["passed"] = False
    with open(f"{OUT}.{os.getpid()}", "w") as out:
        json.dump(seen, out)
"""


# Mutants


@dataclass(frozen=True, slots=True)
class Mutant:
    """`start` and `end` are offsets into the file, in characters."""

    path: str
    line: int
    function: str
    entry: int  # the first line of the function, with its decorators; 0 outside of any, and where it has a cache
    kind: str
    old: str
    new: str
    start: int
    end: int

    @property
    def package(self) -> str:
        return self.path.split("/")[0]

    @property
    def key(self) -> str:
        return f"{self.path}:{self.line} {self.kind}: {one_line(self.old)} => {one_line(self.new)}"


def one_line(code: str) -> str:
    return " ".join(code.split()).replace("|", "\\|")


COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
EXTREMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


def changed(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    """Kind, node to replace, and its replacement, for one node of the tree."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = copy.deepcopy(node)
        other.ops = [COMPARISONS[type(node.ops[0])]()]
        yield "comparison", node, f"({ast.unparse(other)})"
    elif isinstance(node, ast.BoolOp):
        swapped = copy.deepcopy(node)
        swapped.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "boolean", node, f"({ast.unparse(swapped)})"
        yield "operand dropped", node, f"({ast.unparse(node.values[0])})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "negation", node, f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "constant", node, other_constant(node.value)
    elif isinstance(node, ast.Return) and node.value is not None and not is_none(node.value):
        yield "return", node.value, other_value(node.value)
    elif (
        isinstance(node, ast.BinOp)
        and type(node.op) in OPERATORS
        and not is_text(node.left)
        and not is_text(node.right)
    ):
        other_sum = copy.deepcopy(node)
        other_sum.op = OPERATORS[type(node.op)]()
        yield "arithmetic", node, f"({ast.unparse(other_sum)})"
    elif isinstance(node, ast.If | ast.While):
        yield "condition", node.test, "False"
    elif isinstance(node, ast.Call):
        yield from changed_call(node)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not is_log(node.value):
        yield "call dropped", node, "pass"


def changed_call(node: ast.Call) -> Iterator[tuple[str, ast.AST, str]]:
    if isinstance(node.func, ast.Name) and node.func.id in EXTREMES:
        yield "extreme", node.func, EXTREMES[node.func.id]
    if len(node.args) >= 2 and type(node.args[0]) is type(node.args[1]) and not isinstance(node.args[0], ast.Starred):
        swapped = copy.deepcopy(node)
        swapped.args[:2] = swapped.args[1::-1]
        yield "arguments swapped", node, ast.unparse(swapped)
    if node.keywords and node.keywords[-1].arg not in (None, "strict"):  # without `strict`, `zip` does the same
        fewer = copy.deepcopy(node)
        fewer.keywords.pop()
        yield "argument dropped", node, ast.unparse(fewer)


def other_constant(value: float) -> str:
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    return repr(value * 1.5 if value else 0.1)


def other_value(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return str(not value.value)
    if isinstance(value, ast.Compare | ast.BoolOp):
        return f"not ({ast.unparse(value)})"
    return "None"


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_log(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "log"
    )


class Sites(ast.NodeVisitor):
    """All mutants of one file, without those in decorators, annotations, docstrings and texts for people."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text, self.mutants = path, text, list[Mutant]()
        self.functions: list[tuple[str, int]] = [("", 0)]
        self.offsets = [0]
        for line in text.encode().splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(line))
        self.visit(ast.parse(text))

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            # Only the first of many tests enters a function with a cache: those that enter the file are asked.
            cached = any("cache" in ast.unparse(each) for each in node.decorator_list)
            self.functions.append((node.name, 0 if cached else first))
            self.visit_all([*node.args.defaults, *(each for each in node.args.kw_defaults if each), *node.body])
            self.functions.pop()
        elif isinstance(node, ast.ClassDef):
            self.visit_all(node.body)
        elif isinstance(node, ast.AnnAssign):
            self.visit_all([node.value] if node.value else [])
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            return
        elif not isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
            for kind, target, new in changed(node):
                self.note(kind, target, new)
            self.visit_all(ast.iter_child_nodes(node))

    def visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def note(self, kind: str, node: ast.AST, new: str) -> None:
        start, end = self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        old = self.text.encode()[start:end].decode()
        function, entry = self.functions[-1]
        if old != new and "TYPE_CHECKING" not in old and not function.startswith("__repr"):
            line = node.lineno  # type: ignore[attr-defined]
            self.mutants.append(Mutant(self.path, line, function, entry, kind, old, new, start, end))

    def place(self, line: int, column: int) -> int:
        return self.offsets[line - 1] + column


def sample(root: Path, packages: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """As many of each package as its share of all, at least a tenth of an equal share."""
    random = Random(seed)
    source = root / "src" / "nacre"
    by_package = {
        package: [
            mutant
            for file in sorted((source / package).rglob("*.py"))
            for mutant in Sites(file.relative_to(source).as_posix(), file.read_text()).mutants
        ]
        for package in packages
    }
    total = sum(map(len, by_package.values()))
    chosen = []
    for mutants in by_package.values():
        share = max(round(count * len(mutants) / total), count // len(packages) // 3)
        chosen += random.sample(mutants, min(share, len(mutants)))
    random.shuffle(chosen)
    return chosen[:count] if len(chosen) > count else chosen


# Running


@dataclass(slots=True)
class Trace:
    """Which tests enter which function, and how long each takes."""

    tests: dict[str, dict[str, object]]

    def entering(self, mutant: Mutant) -> list[str]:
        where = f"{mutant.path}:"
        wanted = {f"{where}{mutant.entry}"} if mutant.entry else set()
        names = [
            name
            for name, test in self.tests.items()
            if test["passed"]
            and any(each in wanted or (not wanted and each.startswith(where)) for each in test["entered"])  # type: ignore[attr-defined]
        ]
        return sorted(names, key=self.seconds)

    def seconds(self, name: str) -> float:
        return float(str(self.tests[name]["seconds"]))


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
    subprocess.run([sys.executable, "-m", "compileall", "-q", "src", "tests"], cwd=target, check=True)


def digest(tree: Path) -> str:
    """Of the code and the tests: what was found out about other ones does not hold."""
    whole = sha256()
    for file in sorted(path for part in ("src", "tests") for path in (tree / part).rglob("*.py")):
        whole.update(file.read_bytes())
    return whole.hexdigest()[:12]


def environment(tree: Path, **more: str) -> dict[str, str]:
    """The copy's package comes before the installed one, also in the processes that tests start."""
    paths = {"PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree)]), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **paths, **more}


def traced(tree: Path, folder: Path, tests: Sequence[str]) -> Trace:
    """Runs the tests of the core once with a note of every function that each enters; later runs read the note."""
    out = folder / "trace.json"
    if not out.exists():
        say("tracing which functions each test enters")
        (tree / f"{PLUGIN}.py").write_text(TRACE_PLUGIN)
        for part in folder.glob("trace.part.*"):
            part.unlink()
        known = {"MUTATION_SOURCE": str(tree / "src" / "nacre"), "MUTATION_OUT": str(folder / "trace.part")}
        chosen = [f"tests/{name}" for name in tests if (tree / "tests" / name).exists()]
        command = [sys.executable, "-m", "pytest", "-q", "-n2", "-p", PLUGIN, "-m", "not slow", *chosen]
        subprocess.run(command, cwd=tree, env=environment(tree, **known), check=False, stdout=sys.stderr)
        merged: dict[str, object] = {}
        for part in folder.glob("trace.part.*"):
            merged |= json.loads(part.read_text())
        out.write_text(json.dumps(merged))
    return Trace(json.loads(out.read_text()))


def noticed(tree: Path, mutant: Mutant, trace: Trace) -> tuple[str, str]:
    """What became of a mutant: `noticed`, `timeout` or `survived`, and the test that noticed it."""
    file = tree / "src" / "nacre" / mutant.path
    original = file.read_bytes()
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()  # its time may be that of the mutant to the second
    file.write_bytes(original[: mutant.start] + mutant.new.encode() + original[mutant.end :])
    try:
        for tests in stages(tree, mutant, trace):
            outcome = run_tests(tree, tests, trace)
            if outcome[0] != "survived":
                return outcome
        return "survived", ""
    finally:
        file.write_bytes(original)


QUICK = 60  # tests of the first stage


def stages(tree: Path, mutant: Mutant, trace: Trace) -> Iterator[list[str]]:
    entering = trace.entering(mutant)
    first, rest = entering[:QUICK], entering[QUICK:]
    yield from (stage for stage in (first, rest) if stage)
    mirrored = tree / "tests" / mutant.package
    wider = [str(each.relative_to(tree)) for each in sorted(mirrored.rglob("test_*.py"))]
    unseen = [name for name in wider if not any(each.startswith(f"{name}::") for each in trace.tests)]
    if unseen:
        yield unseen


def run_tests(tree: Path, tests: Sequence[str], trace: Trace) -> tuple[str, str]:
    usual = sum(trace.seconds(name) for name in tests if name in trace.tests)
    listed = tree / "chosen_tests.txt"
    listed.write_text("\n".join(tests))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n0",
        "-m",
        "not slow",
        "--no-header",
        "-p",
        "no:cacheprovider",
    ]
    try:
        done = subprocess.run(
            [*command, f"@{listed.name}"], cwd=tree, env=environment(tree), capture_output=True, text=True,
            timeout=LEAST_PATIENCE + PATIENCE * usual,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "timeout", ""
    if done.returncode in (0, 5):  # 5: nothing was collected
        return "survived", ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "noticed", (failed[0] if failed else done.stdout[-200:]).split(" - ")[0][:160]


def run_all(
    mutants: Sequence[Mutant], trees: Sequence[Path], trace: Trace, folder: Path
) -> Iterator[dict[str, dict[str, object]]]:
    """All results so far, each time that one is added."""
    kept = folder / "results.jsonl"
    lines = kept.read_text().splitlines() if kept.exists() else []
    results = {row["key"]: row for row in map(json.loads, lines)}
    free: Queue[Path] = Queue()
    for tree in trees:
        free.put(tree)

    def one(mutant: Mutant) -> None:
        if mutant.key in results:
            return
        tree = free.get()
        try:
            outcome, test = noticed(tree, mutant, trace)
        finally:
            free.put(tree)
        results[mutant.key] = {"key": mutant.key, "outcome": outcome, "test": test, **asdict(mutant)}
        with kept.open("a") as out:
            out.write(json.dumps(results[mutant.key]) + "\n")
        say(f"{sum(each.key in results for each in mutants)}/{len(mutants)} {outcome}: {mutant.key[:110]}")

    with ThreadPoolExecutor(len(trees)) as pool:
        for _ in pool.map(one, mutants):
            yield {mutant.key: results[mutant.key] for mutant in mutants if mutant.key in results}


# The report


def equivalents() -> dict[str, str]:
    """Judged by a person: `path function: old => new # why it changes nothing that anybody could see`."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []
    pairs = (line.split(" # ", 1) for line in lines if " # " in line)
    return {judged.strip(): why.strip() for judged, why in pairs}


def judged_key(row: dict[str, object]) -> str:
    """Without the line number, which moves."""
    return f"{row['path']} {row['function']}: {one_line(str(row['old']))} => {one_line(str(row['new']))}"


def report(results: dict[str, dict[str, object]], seed: int) -> str:
    equivalent = equivalents()
    rows = sorted(results.values(), key=lambda row: (str(row["path"]), int(str(row["line"]))))
    survivors = [row for row in rows if row["outcome"] == "survived"]
    harmless = [row for row in survivors if judged_key(row) in equivalent]
    open_ones = [row for row in survivors if judged_key(row) not in equivalent]
    table = [line_of(package, [row for row in rows if str(row["path"]).startswith(f"{package}/")], equivalent)
             for package in PACKAGES]  # fmt: skip
    strict = [row for row in rows if str(row["path"]).split("/")[0] in STRICT]
    return "\n".join([
        "# Which small faults the tests notice",
        "",
        f"Written by `make mutate` (scripts/mutate.py): {len(rows)} mutants, drawn at random with seed {seed} from the "
        "core, each run against the tests that enter its function and the test files of its package.",
        "",
        "| package | mutants | noticed | of these by timeout | equivalent | survived | noticed of the rest | wanted |",
        "|---|---|---|---|---|---|---|---|",
        *(line for line in table if line),
        line_of("all", rows, equivalent, WANTED),
        line_of(", ".join(STRICT), strict, equivalent, WANTED_STRICT),
        "",
        "## Survived",
        "",
        *(f"- `{row['path']}:{row['line']}` in `{row['function'] or 'the module'}`, {row['kind']}: "
          f"`{one_line(str(row['old']))[:100]}` => `{one_line(str(row['new']))[:100]}`" for row in open_ones),
        *([] if open_ones else ["None."]),
        "",
        "## Equivalent",
        "",
        *(f"- `{row['path']}:{row['line']}` `{one_line(str(row['old']))[:80]}` => `{one_line(str(row['new']))[:80]}`: "
          f"{equivalent[judged_key(row)]}" for row in harmless),
        *([] if harmless else ["None was judged so."]),
        "",
    ])  # fmt: skip


def line_of(name: str, rows: Sequence[dict[str, object]], equivalent: dict[str, str], wanted: int | None = None) -> str:
    if not rows:
        return ""
    outcomes = Counter(str(row["outcome"]) for row in rows)
    harmless = sum(row["outcome"] == "survived" and judged_key(row) in equivalent for row in rows)
    caught = outcomes["noticed"] + outcomes["timeout"]
    share = 100 * caught / max(1, len(rows) - harmless)
    needed = (WANTED_STRICT if name in STRICT else WANTED) if wanted is None else wanted
    return (
        f"| {name} | {len(rows)} | {caught} | {outcomes['timeout']} | {harmless} | {outcomes['survived'] - harmless} | "
        f"{share:.0f} % | {needed} % |"
    )


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--packages", default=",".join(PACKAGES))
    parser.add_argument("--tests", default=",".join(TRACED_TESTS), help="folders and files of tests that may notice")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "nacre-mutation")
    parser.add_argument("--fresh", action="store_true", help="forget the results and the trace of earlier runs")
    parser.add_argument("--report", type=Path, default=REPORT)
    given = parser.parse_args()
    if given.fresh:
        shutil.rmtree(given.folder, ignore_errors=True)
    trees = [given.folder / f"copy{number}" for number in range(given.processes)]
    for tree in trees:
        copy_tree(tree)
    kept = given.folder / f"{digest(trees[0])}-{sha256(given.tests.encode()).hexdigest()[:6]}"
    kept.mkdir(exist_ok=True)
    trace = traced(trees[0], kept, given.tests.split(","))
    mutants = sample(trees[0], given.packages.split(","), given.count, given.seed)
    for results in run_all(mutants, trees, trace, kept):
        given.report.write_text(report(results, given.seed))  # an interrupted run has its report, too
    say(f"Written to {given.report}.")


if __name__ == "__main__":
    main()
