"""Changes a module in small ways, one at a time, and tells which changes no test notices.

    python tests/benchmarks/mutants.py infolm_metric/infolm/divergences.py \
        tests/unit/infolm/test_measures.py --sample 50

A mutant has one operator, comparison, sign, number or truth value changed. It lives in a process
alone, which executes the changed module in the place of the true one: nothing is written. The tests
run in a forked process, which has the libraries already, stop at the first failure, and have
SECONDS each: a mutant that never ends is noticed, too. Prints the share that was noticed and every
survivor with its line.
"""

import argparse
import ast
import copy
import importlib
import importlib.util
import multiprocessing
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

SECONDS = 300
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult},
    **{
        ast.FloorDiv: ast.Mult,
        ast.LShift: ast.RShift,
        ast.BitOr: ast.BitAnd,
        ast.BitAnd: ast.BitOr,
    },
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq},
    **{
        ast.NotEq: ast.Eq,
        ast.Is: ast.IsNot,
        ast.IsNot: ast.Is,
        ast.In: ast.NotIn,
        ast.NotIn: ast.In,
    },
    **{ast.And: ast.Or, ast.Or: ast.And},
}


def mutants(tree: ast.Module) -> Iterator[tuple[int, str, ast.Module]]:
    """Line, description and tree of each mutant; what no value depends on stays."""
    idle = {id(each) for node in valueless(tree) for each in ast.walk(node)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in idle:
            continue
        for what, change in changes(node):
            mutated = copy.deepcopy(tree)
            changed = next(each for at, each in enumerate(ast.walk(mutated)) if at == number)
            change(changed)
            yield getattr(node, "lineno", 0), what, ast.fix_missing_locations(mutated)


def valueless(tree: ast.Module) -> Iterator[ast.AST]:
    """Annotations, and what decorates, such as `@dataclass(frozen=True)`."""
    for node in ast.walk(tree):
        found = [getattr(node, name, None) for name in ("annotation", "returns")]
        found += getattr(node, "decorator_list", [])
        yield from (each for each in found if isinstance(each, ast.AST))


def changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    """What can be changed in a node, in words and as a function of its copy."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPPED:
        other = SWAPPED[type(node.op)]
        yield (
            f"{ast.unparse(node)}: {type(node.op).__name__} to {other.__name__}",
            setting("op", other),
        )
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        other = SWAPPED[type(node.ops[0])]
        yield (
            f"{ast.unparse(node)}: to {other.__name__}",
            lambda copied: copied.ops.__setitem__(0, other()),
        )
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield f"{ast.unparse(node)}: sign", setting("op", ast.UAdd)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"{node.value}: negated", lambda copied: setattr(copied, "value", not copied.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield f"{node.value}: + 1", lambda copied: setattr(copied, "value", copied.value + 1)


def setting(field: str, kind: type[ast.AST]) -> object:
    """A change that puts another operator into a field."""
    return lambda copied: setattr(copied, field, kind())


class Mutated:
    """Finds one module, and executes a mutant in its place."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path = name, path
        self.code = compile(tree, str(path), "exec")

    def find_spec(self, name: str, *_: object) -> object:
        if name == self.name:
            return importlib.util.spec_from_loader(name, self, origin=str(self.path))
        return None

    def create_module(self, spec: object) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        module.__file__ = str(self.path)
        exec(self.code, vars(module))


def run(finder: Mutated | None, tests: list[str]) -> None:
    """Run the tests, on a mutant if one is given, and exit with pytest's code."""
    sys.stdout = sys.stderr = open("/dev/null", "w")  # noqa: SIM115 (the process ends here)
    if finder is not None:
        for name in [name for name in sys.modules if name.startswith(("infolm_metric", "tests"))]:
            del sys.modules[name]
        sys.meta_path.insert(0, finder)
    sys.exit(pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]))


def noticed(finder: Mutated | None, tests: list[str]) -> bool:
    """True if a test fails, or the tests do not end."""
    process = multiprocessing.get_context("fork").Process(target=run, args=(finder, tests))
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("module", type=Path, help="its file, from the project's root")
    parser.add_argument("tests", nargs="+", help="what pytest is given")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn; default: all")
    parser.add_argument("--seed", type=int, default=0)
    given, more = parser.parse_known_args()
    tests = [*given.tests, *more]
    name = ".".join(given.module.with_suffix("").parts)
    importlib.import_module(name)  # with all the libraries, which the forked processes then have
    made = list(mutants(ast.parse(given.module.read_text())))
    count = min(given.sample or len(made), len(made))
    drawn = sorted(random.Random(given.seed).sample(range(len(made)), count))
    if noticed(None, tests):
        raise SystemExit("the tests fail, or take too long, on the module as it is")
    survivors = []
    for index in drawn:
        line, what, tree = made[index]
        if not noticed(Mutated(name, given.module, tree), tests):
            survivors.append(f"{given.module}:{line}: {what}")
            print("survived", survivors[-1], flush=True)
    killed = len(drawn) - len(survivors)
    print(f"{given.module}: {killed} of {len(drawn)} noticed ({killed / len(drawn):.0%})")


if __name__ == "__main__":
    main()
