"""Changes the code in small ways, one at a time, and tells which changes no test notices.

    python -m tools.mutants verdicts.csv                       # all rooms, or the rest of them
    python -m tools.mutants verdicts.csv --rooms infolm space --seed 1
    python -m tools.mutants verdicts.csv --rooms core --tests tests/unit/core tests/contract
    python -m tools.mutants verdicts.csv --again               # after the code has changed

A mutant has one operator, comparison, sign, number, truth value or default changed, one `raise`
taken out, or returns None. --drawn of each room are drawn by --seed, and the tests of their room
alone (tests/unit/ROOM, or --tests) have to notice: the first failure ends a run, and so do LONGEST
times the seconds that the tests take without a change. What has a verdict in the file is not tried
again, so that a run that was stopped goes on.

With --again the mutants of the file that were killed and are still in the code, wherever their line
stands now, are tried again, and those that survive now are printed.

A mutant lives in a process alone, which executes the changed module in the place of the true one:
nothing is written. It is forked from one that has the libraries already. What tests start beside
it is not changed, so that modules whose work is done there are left out.
"""

import argparse
import ast
import contextlib
import copy
import csv
import functools
import importlib
import importlib.util
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tools.tables import show

LONGEST = 4
HEAD_START_SECONDS = 60  # of a limit, for a machine that has other work, too
EXCLUSIONS = {"distributed.py", "ray_jobs.py"}
LIBRARIES = ("datasets", "evaluate", "gradio", "hypothesis", "scipy.stats", "torch", "transformers")
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift, ast.BitOr: ast.BitAnd},
    **{ast.BitAnd: ast.BitOr, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq},
    **{ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn},
    ast.NotIn: ast.In,
}


def rooms() -> dict[str, tuple[Path, list[Path]]]:
    """Room -> where its code is, and its tests: each folder of the package, and the page."""
    tests = Path("tests/unit")
    folders = {folder.name: folder for folder in sorted(Path("infolm_metric").iterdir())}
    folders["space"] = Path("space/page")
    return {
        name: (folder, [tests / name, *tests.glob(f"test_{name}_metric.py")])
        for name, folder in folders.items()
        if (tests / name).is_dir() and folder.is_dir()
    }


@dataclass(frozen=True)
class Mutant:
    """A change, told so that it is found again after the file has changed elsewhere."""

    room: str
    file: str
    line: str  # its text
    mutation: str
    number: int  # among those of the file that are alike in line and mutation

    @property
    def words(self) -> tuple[str, str, int]:
        """What it is found by."""
        return self.line, self.mutation, self.number


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: "killed" or "survived", and the test that failed, or "time"."""

    verdict: str
    by: str


def mutants_of(room: str) -> dict[Mutant, int]:
    """Every mutant of a room, with its number among those of its file."""
    mutants: dict[Mutant, int] = {}
    for path in sorted(rooms()[room][0].rglob("*.py")):
        if path.name in EXCLUSIONS:
            continue
        source = path.read_text(encoding="utf-8")
        lines, counts = source.splitlines(), Counter()
        for index, (node, mutation, _) in enumerate(changes_of(ast.parse(source))):
            words = lines[node.lineno - 1].strip(), mutation
            mutants[Mutant(room, path.as_posix(), *words, counts[words])] = index
            counts[words] += 1
    return mutants


def mutate(path: Path, index: int) -> ast.Module:
    """A module's tree with the change of that number made."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    node, _, change = list(changes_of(tree))[index]
    mutant = change(copy.deepcopy(node))
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, mutant)
            elif isinstance(value, list):
                value[:] = [mutant if child is node else child for child in value]
    return ast.fix_missing_locations(tree)


def changes_of(tree: ast.Module) -> Iterator[tuple[ast.AST, str, object]]:
    """Each change as its node, its words and a function from the node to another one.

    What no value depends on stays.
    """
    valueless = {id(node) for root in valueless_parts(tree) for node in ast.walk(root)}
    defaults = {id(node) for node in defaults_of(tree)}
    for node in ast.walk(tree):
        if id(node) not in valueless:
            for mutation, change in changes(node, id(node) in defaults):
                yield node, mutation[:100], change


def valueless_parts(tree: ast.Module) -> Iterator[ast.AST]:
    """Annotations, and what decorates, such as `@dataclass(frozen=True)`."""
    for node in ast.walk(tree):
        parts = [getattr(node, name, None) for name in ("annotation", "returns")]
        parts += getattr(node, "decorator_list", [])
        yield from (part for part in parts if isinstance(part, ast.AST))


def defaults_of(tree: ast.Module) -> Iterator[ast.AST]:
    """The defaults of arguments and of the fields of classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            yield from filter(None, [*node.defaults, *node.kw_defaults])
        elif isinstance(node, ast.ClassDef):
            values = [field.value for field in node.body if isinstance(field, ast.AnnAssign)]
            for value in values:
                inner = value.args[0] if isinstance(value, ast.Call) and value.args else value
                yield from [inner] if isinstance(inner, ast.Constant) else []


def changes(node: ast.AST, default: bool) -> Iterator[tuple[str, object]]:
    """What can be changed in a node, in words, and as a function of a copy of it."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
        swap = SWAPS[type(node.op)]
        words = f"{type(node.op).__name__} to {swap.__name__}: {ast.unparse(node)}"
        yield words, lambda twin: put(twin, op=swap())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        swap = SWAPS[type(node.ops[0])]
        words = f"{type(node.ops[0]).__name__} to {swap.__name__}: {ast.unparse(node)}"
        yield words, lambda twin: put(twin, ops=[swap(), *twin.ops[1:]])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield f"sign: {ast.unparse(node)}", lambda twin: put(twin, op=ast.UAdd())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"negated: {node.value}", lambda twin: put(twin, value=not twin.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield f"+ 1: {node.value}", lambda twin: put(twin, value=twin.value + 1)
    elif isinstance(node, ast.Constant) and default and isinstance(node.value, str):
        yield f"default: {node.value!r}", lambda twin: put(twin, value=f"{twin.value}*")
    elif isinstance(node, ast.Constant) and default and node.value is None:
        yield "default: None", lambda twin: put(twin, value=1)
    elif isinstance(node, ast.Raise):
        yield f"taken out: {ast.unparse(node)}", lambda twin: ast.Pass()
    elif isinstance(node, ast.Return) and ast.unparse(node) not in ("return", "return None"):
        yield f"None: {ast.unparse(node)}", lambda twin: put(twin, value=ast.Constant(None))


def put(node: ast.AST, **values: object) -> ast.AST:
    """The node, with other values of its fields."""
    for name, value in values.items():
        setattr(node, name, value)
    return node


class MutantFinder:
    """Finds one module, and executes a mutant in its place."""

    def __init__(self, path: Path, tree: ast.Module) -> None:
        self.path = path
        self.name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        self.code = compile(tree, str(path), "exec")

    def find_spec(self, name: str, *_: object) -> object:
        """The spec of the one module; of every other none."""
        if name == self.name:
            folders = [str(self.path.parent)] if self.path.stem == "__init__" else None
            spec = importlib.util.spec_from_loader(name, self, is_package=folders is not None)
            spec.origin, spec.submodule_search_locations = str(self.path), folders
            return spec
        return None

    def create_module(self, spec: object) -> None:
        """Leave it to Python."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute the mutant."""
        module.__file__ = str(self.path.resolve())
        exec(self.code, vars(module))


class FirstFailure:
    """A plugin of pytest that tells what failed first."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Tell a test that failed."""
        if report.failed:
            self.pipe.send(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        """Tell a file that cannot be read."""
        if report.failed:
            self.pipe.send(f"{report.nodeid} is not collected")


def run(finder: MutantFinder | None, tests: list[str], pipe: Connection) -> None:
    """Run the tests, on a mutant if one is given, and exit with pytest's code."""
    import pytest

    os.setsid()  # so that what it starts ends with it
    sys.stdout = sys.stderr = open("/dev/null", "w")  # noqa: SIM115 (the process ends here)
    if finder is not None:
        sys.meta_path.insert(0, finder)
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    sys.exit(pytest.main([*options, *tests], plugins=[FirstFailure(pipe)]))


def test(finder: MutantFinder | None, tests: list[str], seconds: float | None = None) -> Verdict:
    """What the tests, in a process of their own and with clean caches, say of a mutant."""
    shutil.rmtree(os.environ["HF_HOME"], ignore_errors=True)
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=run, args=(finder, tests, sender))
    process.start()
    sender.close()
    process.join(seconds)
    if process.is_alive():
        os.killpg(process.pid, 9)
        process.join()
        return Verdict("killed", "time")
    if process.exitcode == 0:
        return Verdict("survived", "")
    if process.exitcode in (4, 5):  # wrong usage, no tests
        raise SystemExit(f"pytest ends with {process.exitcode} on {tests}")
    return Verdict("killed", receiver.recv() if receiver.poll() else f"exit {process.exitcode}")


def tests_for(mutant: Mutant, tests: Sequence[Path] = (), first: str = "") -> list[str]:
    """The test files of the mutant's room, those that `first` or the module's name tells ahead."""
    stem, files = Path(mutant.file).stem, set()
    for place in tests or rooms()[mutant.room][1]:
        files |= {place} if place.is_file() else set(place.rglob("test_*.py"))
    names = sorted(path.as_posix() for path in files)
    return sorted(names, key=lambda name: (not first.startswith(name), stem not in name))


def read(path: Path) -> dict[Mutant, Verdict]:
    """What is in the file of verdicts."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as table:
        _, *rows = csv.reader(table)
    return {
        Mutant(room, file, line, mutation, int(number)): Verdict(verdict, by)
        for room, file, line, mutation, number, verdict, by in rows
    }


def write(path: Path, mutant: Mutant, verdict: Verdict) -> None:
    """Put one more verdict into the file."""
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not file.tell():
            writer.writerow([*asdict(mutant), *asdict(verdict)])
        writer.writerow([*astuple(mutant), *astuple(verdict)])


def limit(room: str, tests: Sequence[Path]) -> float:
    """The seconds that a mutant of a room gets; the tests must pass on the code as it is."""
    start = time.monotonic()
    verdict = test(None, tests_for(Mutant(room, "", "", "", 0), tests))
    if verdict.verdict != "survived":
        raise SystemExit(f"without a change {verdict.by} fails: {room}")
    return HEAD_START_SECONDS + LONGEST * (time.monotonic() - start)


def draw(arguments: argparse.Namespace) -> None:
    """Draws mutants of each room, and writes the verdict of those that have none yet."""
    for room in arguments.rooms:
        mutants, generator = mutants_of(room), random.Random(arguments.seed)
        sample = generator.sample(list(mutants), min(arguments.drawn, len(mutants)))
        sample = [mutant for mutant in sample if mutant not in read(arguments.verdicts)]
        seconds = limit(room, arguments.tests) if sample else 0.0
        for mutant in sample:
            file = Path(mutant.file)
            finder = MutantFinder(file, mutate(file, mutants[mutant]))
            verdict = test(finder, tests_for(mutant, arguments.tests), seconds)
            write(arguments.verdicts, mutant, verdict)
            print(f"{verdict.verdict}: {mutant.file}: {mutant.mutation}", flush=True)
    verdicts = read(arguments.verdicts)
    counts = Counter(mutant.room for mutant in verdicts)
    kills = Counter(mutant.room for mutant in verdicts if verdicts[mutant].verdict == "killed")
    totals = {**counts, "all": counts.total()}
    kills["all"] = kills.total()
    rows = [[room, n, kills[room], f"{kills[room] / n:.0%}"] for room, n in totals.items()]
    show("Mutants", ["room", "drawn", "killed", "share"], rows)


def again(arguments: argparse.Namespace) -> int:
    """Tries what was killed and is now in the rooms; 1 if some of it survives."""
    mutants = {mutant: n for room in arguments.rooms for mutant, n in mutants_of(room).items()}
    by_words: dict[tuple[str, str, int], list[Mutant]] = {}
    for mutant in mutants:
        by_words.setdefault(mutant.words, []).append(mutant)
    limits = functools.cache(lambda room: limit(room, arguments.tests))
    counts = Counter[str]()
    for old_mutant, old_verdict in read(arguments.verdicts).items():
        if old_verdict.verdict != "killed":
            continue
        if old_mutant.words not in by_words:
            counts["not in these rooms"] += 1
            continue
        mutant = min(by_words[old_mutant.words], key=lambda mutant: mutant.file != old_mutant.file)
        file = Path(mutant.file)
        finder = MutantFinder(file, mutate(file, mutants[mutant]))
        tests = tests_for(mutant, arguments.tests, old_verdict.by)
        verdict = test(finder, tests, limits(mutant.room))
        counts[verdict.verdict] += 1
        if verdict.verdict == "survived":
            print(f"survives now: {mutant.file}: {mutant.line}: {mutant.mutation}", flush=True)
            print(f"    was killed by {old_verdict.by}", flush=True)
    print(", ".join(f"{count} {words}" for words, count in counts.items()))
    return int(counts["survived"] > 0)


def main() -> int:
    """Try mutants that have no verdict yet, or with --again those that were killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("verdicts", type=Path, help="the CSV file of verdicts, read and written")
    parser.add_argument("--rooms", nargs="+", choices=rooms(), default=list(rooms()))
    parser.add_argument("--tests", nargs="+", type=Path, default=[], help="instead of the rooms'")
    parser.add_argument("--drawn", type=int, default=30, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="try what is in the file again")
    arguments = parser.parse_args()
    sys.path.insert(0, str(Path.cwd()))
    with tempfile.TemporaryDirectory() as home:
        offline = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        os.environ.update(offline, HF_HOME=str(Path(home) / "huggingface"))
        void = open(os.devnull, "w")  # noqa: SIM115 (what libraries log to for ever)
        with contextlib.redirect_stderr(void):
            for library in LIBRARIES:
                importlib.import_module(library)
        if arguments.again:
            return again(arguments)
        draw(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
