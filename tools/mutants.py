"""Mutation testing: find small changes to the code that no test detects.

    python -m tools.mutants                                    # all components
    python -m tools.mutants --components infolm space --seed 1
    python -m tools.mutants --components core --tests tests/unit/core tests/contract

A mutant is the code with one change: a different operator, comparison, sign, number, boolean or
default, a removed `raise`, or None as the return value. For each component, a folder of the package
or the demo, --drawn mutants are sampled and tested by the component's unit tests, or by --tests. A
run ends at the first failure, or after MAX_SLOWDOWN times the duration of the tests on the original
code plus EXTRA_SECONDS. The last table shows the fraction of mutants that a test killed.

Each mutant runs in a process that is forked after the libraries are imported. It executes the
mutant instead of the original module, without writing a file. Processes started by tests run the
original code, so modules that only run in such processes are excluded.
"""

import argparse
import ast
import copy
import importlib
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path

from tools.tables import show

MAX_SLOWDOWN = 4
EXTRA_SECONDS = 60  # added to each time limit, for a busy machine
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
Change = tuple[ast.AST, str, Callable[[ast.AST], ast.AST]]  # node, description, change of a copy


def components() -> dict[str, tuple[Path, list[Path]]]:
    """Return the code folder and the tests of each component."""
    tests = Path("tests/unit")
    folders = {folder.name: folder for folder in sorted(Path("infolm_metric").iterdir())}
    folders["space"] = Path("space/page")
    return {
        name: (folder, [tests / name, *tests.glob(f"test_{name}_metric.py")])
        for name, folder in folders.items()
        if (tests / name).is_dir() and folder.is_dir()
    }


def find_mutants(component: str) -> list[tuple[Path, int, str]]:
    """Return the file, the index of the change in its file, and the description of each mutant."""
    return [
        (path, index, mutation)
        for path in sorted(components()[component][0].rglob("*.py"))
        if path.name not in EXCLUSIONS
        for index, (_, mutation, _) in enumerate(find_changes(ast.parse(path.read_text())))
    ]


def mutate(path: Path, index: int) -> ast.Module:
    """Return the syntax tree of a module with one change applied."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    node, _, change = list(find_changes(tree))[index]
    mutant = change(copy.deepcopy(node))
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, mutant)
            elif isinstance(value, list):
                value[:] = [mutant if child is node else child for child in value]
    return ast.fix_missing_locations(tree)


def find_changes(tree: ast.Module) -> Iterator[Change]:
    """Yield the possible changes to a module, except in annotations and decorators."""
    excluded = {id(node) for root in unchanged_parts(tree) for node in ast.walk(root)}
    defaults = {id(node) for node in find_defaults(tree)}
    for node in ast.walk(tree):
        if id(node) not in excluded:
            for mutation, change in changes(node, id(node) in defaults):
                yield node, mutation[:100], change


def unchanged_parts(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        parts = [getattr(node, name, None) for name in ("annotation", "returns")]
        parts += getattr(node, "decorator_list", [])
        if isinstance(node, ast.keyword) and node.arg == "strict":
            parts.append(node.value)  # strict=True is an assertion
        yield from (part for part in parts if isinstance(part, ast.AST))


def find_defaults(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the default values of arguments and dataclass fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            yield from filter(None, [*node.defaults, *node.kw_defaults])
        elif isinstance(node, ast.ClassDef):
            values = [field.value for field in node.body if isinstance(field, ast.AnnAssign)]
            for value in values:
                inner = value.args[0] if isinstance(value, ast.Call) and value.args else value
                yield from [inner] if isinstance(inner, ast.Constant) else []


def changes(node: ast.AST, default: bool) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """Yield the possible changes to a node: a description, and a function that changes a copy."""
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
        yield f"removed: {ast.unparse(node)}", lambda twin: ast.Pass()
    elif isinstance(node, ast.Return) and ast.unparse(node) not in ("return", "return None"):
        yield f"None: {ast.unparse(node)}", lambda twin: put(twin, value=ast.Constant(None))


def put(node: ast.AST, **values: object) -> ast.AST:
    for name, value in values.items():
        setattr(node, name, value)
    return node


class MutantLoader(SourceFileLoader):
    """Import hook that executes a mutant instead of the original module."""

    def __init__(self, path: Path, tree: ast.Module) -> None:
        module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        super().__init__(module, str(path.resolve()))
        self.tree = tree

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> types.CodeType:
        return compile(self.tree, self.path, "exec")


def run(mutant: MutantLoader | None, tests: list[str]) -> None:
    """Run the tests on a mutant or on the original code, and exit with pytest's exit code."""
    import pytest

    os.setsid()  # so that child processes are killed with this one
    for output in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    if mutant is not None:
        sys.meta_path.insert(0, mutant)
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    options.append("--assert=plain")  # otherwise pytest loads the original tests and modules
    sys.exit(pytest.main([*options, *tests]))


def is_killed(mutant: MutantLoader | None, tests: list[str], seconds: float | None = None) -> bool:
    """Run the tests in a new process, with an empty cache. Return True for a failure or timeout."""
    shutil.rmtree(os.environ["HF_HOME"], ignore_errors=True)
    process = multiprocessing.get_context("fork").Process(target=run, args=(mutant, tests))
    process.start()
    process.join(seconds)
    if process.is_alive():
        os.killpg(process.pid, 9)
        process.join()
    if process.exitcode in (4, 5):  # wrong usage, no tests
        raise SystemExit(f"pytest cannot run {tests}: exit code {process.exitcode}")
    return process.exitcode != 0


def test_files(component: str, stem: str = "", tests: Sequence[Path] = ()) -> list[str]:
    """Return the test files of a component, first the files named after a module."""
    files = set()
    for place in tests or components()[component][1]:
        files |= {place} if place.is_file() else set(place.rglob("test_*.py"))
    return sorted((path.as_posix() for path in sorted(files)), key=lambda name: stem not in name)


def draw(arguments: argparse.Namespace) -> None:
    """Sample and test mutants of each component, and print a summary."""
    rows = []
    for component in arguments.components:
        mutants, start = find_mutants(component), time.monotonic()
        if is_killed(None, test_files(component, tests=arguments.tests)):
            raise SystemExit(f"{component}: the tests fail on the original code. Fix it first.")
        seconds = EXTRA_SECONDS + MAX_SLOWDOWN * (time.monotonic() - start)
        sample = random.Random(arguments.seed).sample(mutants, min(arguments.drawn, len(mutants)))
        killed = 0
        for path, index, mutation in sample:
            tests = test_files(component, path.stem, arguments.tests)
            is_dead = is_killed(MutantLoader(path, mutate(path, index)), tests, seconds)
            killed += is_dead
            print(f"{'killed' if is_dead else 'survived'}: {path}: {mutation}", flush=True)
        rows.append([component, len(sample), killed, f"{killed / max(1, len(sample)):.0%}"])
    tested, killed = (sum(row[column] for row in rows) for column in (1, 2))
    rows.append(["all", tested, killed, f"{killed / max(1, tested):.0%}"])
    show("Mutants", ["component", "tested", "killed", "fraction"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--components", nargs="+", choices=components(), default=list(components()))
    parser.add_argument(
        "--tests", nargs="+", type=Path, default=[], help="tests to run instead of the unit tests"
    )
    parser.add_argument("--drawn", type=int, default=30, help="number of mutants per component")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sys.path.insert(0, str(Path.cwd()))
    with tempfile.TemporaryDirectory() as home:
        offline = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        os.environ.update(offline, HF_HOME=str(Path(home) / "huggingface"))
        for library in LIBRARIES:
            importlib.import_module(library)
        draw(arguments)


if __name__ == "__main__":
    main()
