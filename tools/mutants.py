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
from dataclasses import asdict, astuple, dataclass, fields
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tools.tables import show

LONGEST = 4
HEAD_START_SECONDS = 60  # of a limit, for a machine that has other work, too
LEFT_OUT = {"distributed.py", "keywords.py", "ranks.py", "ray.py", "ray_jobs.py", "ray_tables.py"}
LIBRARIES = ("datasets", "evaluate", "gradio", "hypothesis", "scipy.stats", "torch", "transformers")
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
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
    found = {folder.name: folder for folder in sorted(Path("infolm_metric").iterdir())}
    found["space"] = Path("space/page")
    return {
        name: (folder, [tests / name, *tests.glob(f"test_{name}_metric.py")])
        for name, folder in found.items()
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
    found: dict[Mutant, int] = {}
    for path in sorted(rooms()[room][0].rglob("*.py")):
        if path.name in LEFT_OUT:
            continue
        source = path.read_text(encoding="utf-8")
        lines, seen = source.splitlines(), Counter()
        for index, (node, what, _) in enumerate(changes_of(ast.parse(source))):
            words = lines[node.lineno - 1].strip(), what
            found[Mutant(room, path.as_posix(), *words, seen[words])] = index
            seen[words] += 1
    return found


def mutated(path: Path, index: int) -> ast.Module:
    """A module's tree with the change of that number made."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    node, _, change = list(changes_of(tree))[index]
    changed = change(copy.deepcopy(node))
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, changed)
            elif isinstance(value, list):
                value[:] = [changed if each is node else each for each in value]
    return ast.fix_missing_locations(tree)


def changes_of(tree: ast.Module) -> Iterator[tuple[ast.AST, str, object]]:
    """Each change as its node, its words and a function from the node to another one.

    What no value depends on stays.
    """
    idle = {id(each) for node in valueless(tree) for each in ast.walk(node)}
    defaults = {id(node) for node in defaults_of(tree)}
    for node in ast.walk(tree):
        if id(node) not in idle:
            for what, change in changes(node, id(node) in defaults):
                yield node, what[:100], change


def valueless(tree: ast.Module) -> Iterator[ast.AST]:
    """Annotations, and what decorates, such as `@dataclass(frozen=True)`."""
    for node in ast.walk(tree):
        found = [getattr(node, name, None) for name in ("annotation", "returns")]
        found += getattr(node, "decorator_list", [])
        yield from (each for each in found if isinstance(each, ast.AST))


def defaults_of(tree: ast.Module) -> Iterator[ast.AST]:
    """The defaults of arguments and of the fields of classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            yield from (each for each in [*node.defaults, *node.kw_defaults] if each is not None)
        elif isinstance(node, ast.ClassDef):
            values = [each.value for each in node.body if isinstance(each, ast.AnnAssign)]
            for value in values:
                inner = value.args[0] if isinstance(value, ast.Call) and value.args else value
                yield from [inner] if isinstance(inner, ast.Constant) else []


def changes(node: ast.AST, default: bool) -> Iterator[tuple[str, object]]:
    """What can be changed in a node, in words, and as a function of a copy of it."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPPED:
        other = SWAPPED[type(node.op)]
        yield (
            f"{type(node.op).__name__} to {other.__name__}: {ast.unparse(node)}",
            lambda copied: put(copied, op=other()),
        )
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        other = SWAPPED[type(node.ops[0])]
        yield (
            f"{type(node.ops[0]).__name__} to {other.__name__}: {ast.unparse(node)}",
            lambda copied: put(copied, ops=[other(), *copied.ops[1:]]),
        )
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield f"sign: {ast.unparse(node)}", lambda copied: put(copied, op=ast.UAdd())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"negated: {node.value}", lambda copied: put(copied, value=not copied.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield f"+ 1: {node.value}", lambda copied: put(copied, value=copied.value + 1)
    elif isinstance(node, ast.Constant) and default and isinstance(node.value, str):
        yield f"default: {node.value!r}", lambda copied: put(copied, value=f"{copied.value}*")
    elif isinstance(node, ast.Constant) and default and node.value is None:
        yield "default: None", lambda copied: put(copied, value=1)
    elif isinstance(node, ast.Raise):
        yield f"taken out: {ast.unparse(node)}", lambda copied: ast.Pass()
    elif isinstance(node, ast.Return) and ast.unparse(node) not in ("return", "return None"):
        yield f"None: {ast.unparse(node)}", lambda copied: put(copied, value=ast.Constant(None))


def put(node: ast.AST, **values: object) -> ast.AST:
    """The node, with other values of its fields."""
    for name, value in values.items():
        setattr(node, name, value)
    return node


class Mutated:
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

    def __init__(self, told: Connection) -> None:
        self.told = told

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Tell a test that failed."""
        if report.failed:
            self.told.send(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        """Tell a file that cannot be read."""
        if report.failed:
            self.told.send(f"{report.nodeid} is not collected")


def run(finder: Mutated | None, tests: list[str], told: Connection) -> None:
    """Run the tests, on a mutant if one is given, and exit with pytest's code."""
    import pytest

    os.setsid()  # so that what it starts ends with it
    sys.stdout = sys.stderr = open("/dev/null", "w")  # noqa: SIM115 (the process ends here)
    if finder is not None:
        sys.meta_path.insert(0, finder)
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    sys.exit(pytest.main([*options, *tests], plugins=[FirstFailure(told)]))


def tried(finder: Mutated | None, tests: list[str], seconds: float | None = None) -> Verdict:
    """What the tests, in a process of their own and with clean caches, say of a mutant."""
    shutil.rmtree(os.environ["HF_HOME"], ignore_errors=True)
    heard, told = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=run, args=(finder, tests, told))
    process.start()
    told.close()
    process.join(seconds)
    late = process.is_alive()
    if late:
        os.killpg(process.pid, 9)
        process.join()
    if not late and process.exitcode == 0:
        return Verdict("survived", "")
    if process.exitcode in (4, 5):  # wrong usage, no tests
        raise SystemExit(f"pytest ends with {process.exitcode} on {tests}")
    first = "time" if late else f"exit {process.exitcode}"
    return Verdict("killed", heard.recv() if not late and heard.poll() else first)


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
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{**row, "number": int(row["number"])} for row in csv.DictReader(file)]
    kinds = [[field.name for field in fields(kind)] for kind in (Mutant, Verdict)]
    return {
        Mutant(*(row[name] for name in kinds[0])): Verdict(*(row[name] for name in kinds[1]))
        for row in rows
    }


def write(path: Path, mutant: Mutant, verdict: Verdict) -> None:
    """Put one more verdict into the file."""
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow([*asdict(mutant), *asdict(verdict)])
        writer.writerow([*astuple(mutant), *astuple(verdict)])


def limit(room: str, tests: Sequence[Path]) -> float:
    """The seconds that a mutant of a room gets; the tests must pass on the code as it is."""
    start = time.monotonic()
    verdict = tried(None, tests_for(Mutant(room, "", "", "", 0), tests))
    if verdict.verdict != "survived":
        raise SystemExit(f"without a change {verdict.by} fails: {room}")
    return HEAD_START_SECONDS + LONGEST * (time.monotonic() - start)


def draw(given: argparse.Namespace) -> None:
    """Draws mutants of each room, and writes the verdict of those that have none yet."""
    for room in given.rooms:
        made = mutants_of(room)
        drawn = random.Random(given.seed).sample(list(made), min(given.drawn, len(made)))
        missing = [mutant for mutant in drawn if mutant not in read(given.verdicts)]
        seconds = limit(room, given.tests) if missing else 0.0
        for mutant in missing:
            file = Path(mutant.file)
            finder = Mutated(file, mutated(file, made[mutant]))
            verdict = tried(finder, tests_for(mutant, given.tests), seconds)
            write(given.verdicts, mutant, verdict)
            print(f"{verdict.verdict}: {mutant.file}: {mutant.mutation}", flush=True)
    verdicts = read(given.verdicts)
    drawn = Counter(mutant.room for mutant in verdicts)
    killed = Counter(each.room for each, found in verdicts.items() if found.verdict == "killed")
    rows = [[room, n, killed[room], f"{killed[room] / n:.0%}"] for room, n in drawn.items()]
    total = [drawn.total(), killed.total(), f"{killed.total() / drawn.total():.0%}"]
    show("Mutants", ["room", "drawn", "killed", "share"], [*rows, ["all", *total]])


def again(given: argparse.Namespace) -> int:
    """Tries what was killed and is now in the rooms; 1 if some of it survives."""
    made = {room: mutants_of(room) for room in given.rooms}
    places: dict[tuple[str, str, int], list[Mutant]] = {}
    for mutant in [mutant for room in made.values() for mutant in room]:
        places.setdefault(mutant.words, []).append(mutant)
    limits: dict[str, float] = {}
    counts = Counter[str]()
    for old, verdict in read(given.verdicts).items():
        if verdict.verdict != "killed":
            continue
        here = sorted(places.get(old.words, []), key=lambda each: each.file != old.file)
        if not here:
            counts["not in these rooms"] += 1
            continue
        mutant = here[0]
        if mutant.room not in limits:
            limits[mutant.room] = limit(mutant.room, given.tests)
        file = Path(mutant.file)
        finder = Mutated(file, mutated(file, made[mutant.room][mutant]))
        now = tried(finder, tests_for(mutant, given.tests, verdict.by), limits[mutant.room])
        counts[now.verdict] += 1
        if now.verdict == "survived":
            print(f"survives now: {mutant.file}: {mutant.line}: {mutant.mutation}", flush=True)
            print(f"    was killed by {verdict.by}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
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
    given = parser.parse_args()
    sys.path.insert(0, str(Path.cwd()))
    with tempfile.TemporaryDirectory() as home:
        offline = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        os.environ.update(offline, HF_HOME=str(Path(home) / "huggingface"))
        nowhere = open(os.devnull, "w")  # noqa: SIM115 (what libraries log to for ever)
        with contextlib.redirect_stderr(nowhere):
            for library in LIBRARIES:
                importlib.import_module(library)
        if given.again:
            return again(given)
        draw(given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
