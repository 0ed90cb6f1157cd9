"""The small faults (mutants) that scripts/mutate.py can plant in a file, and marks that say which parts tests enter."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

OUTSIDE = "."  # the package of files that are in none


@dataclass(frozen=True, slots=True)
class Mutant:
    """`start` and `end` are offsets into the file, in bytes."""

    path: str
    line: int
    function: str
    segment: str  # that of `Segments`; empty outside of any function, and where the function has a cache
    swappable: bool  # whether a new code object for a function is enough to plant it
    kind: str
    old: str
    new: str
    start: int
    end: int
    scope: str  # a digest of the function that it is in, or of the statement outside of any
    within: int  # where it begins in that

    @property
    def package(self) -> str:
        return self.path.split("/")[0] if "/" in self.path else OUTSIDE

    @property
    def key(self) -> str:
        """The same while its function stays as it is, wherever that is in the file."""
        return f"{self.judged} {self.kind} @{self.within} {self.scope}"

    @property
    def mirror(self) -> str:
        """The file where its tests are looked for first."""
        folder, _, name = self.path.removesuffix(".py").rpartition("/")
        return "/".join(filter(None, ("tests", folder, f"test_{name}.py")))

    @property
    def judged(self) -> str:
        """Without the line number, which moves."""
        return f"{self.path} {self.function}: {one_line(self.old)} => {one_line(self.new)}"


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
        self.functions = [""]  # names, of nested ones the innermost last
        self.scope: ast.AST | None = None  # the outermost function, or the statement outside of any
        self.cached = False
        self.offsets = [0]
        for line in text.encode().splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(line))
        tree = ast.parse(text)
        self.segments = Segments(path, tree)
        self.visit(tree)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt) and len(self.functions) == 1:
            self.scope = node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.visit_all([*node.args.defaults, *(each for each in node.args.kw_defaults if each)])
            outer = self.cached
            # Only the first of many tests enters a function with a cache: those that enter the file are asked.
            self.cached = outer or any(
                "cache" in name and "property" not in name for name in map(ast.unparse, node.decorator_list)
            )
            self.functions.append(node.name)
            self.visit_all(node.body)
            self.functions.pop()
            self.cached = outer
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
        function = self.functions[-1]
        if old != new and "TYPE_CHECKING" not in old and not function.startswith("__repr"):
            line = node.lineno  # type: ignore[attr-defined]
            segment = "" if self.cached else self.segments.at(line)
            begin, text = self.source(self.scope or node)
            place = (start, end, sha256(text).hexdigest()[:10], start - begin)
            self.mutants.append(Mutant(self.path, line, function, segment, bool(function), kind, old, new, *place))

    def source(self, node: ast.AST) -> tuple[int, bytes]:
        start, end = self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return start, self.text.encode()[start:end]

    def place(self, line: int, column: int) -> int:
        return self.offsets[line - 1] + column


class Segments:
    """The parts of a file's functions that are entered as one: each begins a block, or follows one that may leave.

    A name is PATH:FUNCTION~DIGEST#NUMBER: what was noted of a function does not hold once it is changed, and still
    does when others are.
    """

    def __init__(self, path: str, tree: ast.Module, mark: str = "") -> None:
        self.path, self.mark = path, mark
        self.spans: list[tuple[int, int, str]] = []  # first and last line, name
        self.numbers: dict[str, int] = {}
        self.outside(tree.body, "")

    def at(self, line: int) -> str:
        """The innermost segment of a line; empty outside of any function."""
        around = [(last - first, name) for first, last, name in self.spans if first <= line <= last]
        return min(around)[1] if around else ""

    def outside(self, body: Sequence[ast.stmt], name: str) -> None:
        """Statements that run on import: only the functions among them have segments."""
        for statement in body:
            for node in self.definitions(statement):
                inner = f"{name}.{node.name}" if name else node.name
                if isinstance(node, ast.ClassDef):
                    self.outside(node.body, inner)
                else:
                    digest = sha256(ast.dump(node).encode()).hexdigest()[:6]
                    self.block(node.body, f"{inner}~{digest}")

    def definitions(self, node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        elif isinstance(node, ast.stmt):
            for child in ast.iter_child_nodes(node):
                yield from self.definitions(child)

    def block(self, body: list[ast.stmt], name: str) -> None:
        """Notes the segments of a block, and puts a mark at the beginning of each where marks are wanted."""
        parts: list[list[ast.stmt]] = [[]]
        for statement in body:
            parts[-1].append(statement)
            inner = list(blocks(statement))
            if inner:
                parts.append([])
            for each in inner:
                self.block(each, name)
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self.block(statement.body, f"{name}.{statement.name}")
            elif isinstance(statement, ast.ClassDef):
                self.outside(statement.body, f"{name}.{statement.name}")
        marked = []
        for part in filter(None, parts):
            number = self.numbers[name] = self.numbers.get(name, 0) + 1
            segment = f"{self.path}:{name}#{number}"
            self.spans.append((part[0].lineno, part[-1].end_lineno or part[-1].lineno, segment))
            call = ast.parse(f"{self.mark}({segment!r})").body if self.mark else []
            documented = bool(call) and part[0] is body[0] and is_docstring(part[0])
            marked += [part[0], *call, *part[1:]] if documented else [*call, *part]
        if self.mark:
            body[:] = marked


def blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Those within a statement, without functions and classes."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for field in ("body", "orelse", "finalbody"):
        if block := getattr(statement, field, None):
            yield block
    for part in [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]:
        yield part.body


def is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def marked(path: str, text: str, module: str) -> str:
    """The same code, which also calls `entered` of a module with the name of every segment that it enters."""
    tree = ast.parse(text)
    Segments(path, tree, mark="_entered_")
    place = next(
        (number for number, each in enumerate(tree.body) if not is_docstring(each) and not is_future(each)),
        len(tree.body),
    )
    tree.body[place:place] = ast.parse(f"from {module} import entered as _entered_").body
    return ast.unparse(ast.fix_missing_locations(tree))


def is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
