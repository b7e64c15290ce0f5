"""Docstrings of public functions document every argument and the result."""

import inspect
import re
import types
from collections.abc import Iterator

import pytest

import infolm_metric
from infolm_metric.baryscore import explanation as plans
from infolm_metric.core.results import Result
from infolm_metric.core.settings import Settings, descriptions, field_types
from infolm_metric.infolm import explanation as drivers
from infolm_metric.scoring.scorer import Scorer

RESULTS = {  # types of results, which users do not import
    "Result": Result,
    **{f"Explanation.{name}": getattr(drivers, name) for name in ("TextView", "TokenContribution")},
    **{f"Plan.{name}": getattr(plans, name) for name in ("Explanation", "TextView", "Move")},
    "Explanation": drivers.Explanation,
}
USER_METHODS = {"score", "stream", "signature", "unload", "matrix", "select"}
USER_METHODS |= {"distributions", "sweep", "explain"}
"""Scorer methods for users. The other methods are for authors of metrics and commands."""
RETURNS = re.compile(r"^(Returns|Yields):$", re.MULTILINE)


def public_members() -> Iterator[tuple[str, object]]:
    """Yield public functions, classes and methods with their names."""
    members = {name: getattr(infolm_metric, name) for name in infolm_metric.__all__} | RESULTS
    for name, member in list(members.items()):
        if isinstance(member, types.ModuleType):
            parts = getattr(member, "__all__", None) or vars(member)
            members |= {f"{name}.{part}": vars(member)[part] for part in parts if part[0] != "_"}
    for name, member in members.items():
        if inspect.isclass(member):
            yield name, member
            yield from ((f"{name}.{key}", method) for key, method in public_methods(member))
        elif inspect.isfunction(member):
            yield name, member


def public_methods(kind: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods of a class with their names, except methods of evaluate."""
    names = [] if issubclass(kind, Settings) else dir(kind)
    for name in [name for name in names if name in USER_METHODS or not issubclass(kind, Scorer)]:
        method = inspect.unwrap(getattr(kind, name))
        function = getattr(method, "__func__", method)
        local = inspect.isfunction(function) and function.__module__.startswith("infolm_metric")
        if local and function.__name__ == name[:1].lstrip("_") + name[1:]:  # skip aliases
            yield name, method


def missing_names(member: object) -> list[str]:
    """Return the parameters that are missing from the docstrings of a function and its module.

    A parameter is documented by an entry under `Args`, or by its name in backticks.
    """
    if inspect.isclass(member) and issubclass(member, Settings):
        return sorted(set(field_types(member)) - set(descriptions(member)))
    documentation = inspect.getdoc(member) or ""
    if inspect.isclass(member) and issubclass(member, Exception):
        return [] if documentation else ["docstring"]
    names = [name for name in inspect.signature(member).parameters if name != "self"]
    if inspect.isclass(member):
        names = [name for name in names if name in vars(member).get("__annotations__", {})]
    entries = section(documentation, "Attributes" if inspect.isclass(member) else "Args")
    names = [name for name in names if not re.search(rf"^ {{4}}\**{name}\b.*:", entries, re.M)]
    text = f"{documentation} {inspect.getdoc(inspect.getmodule(member))}"
    names = [name for name in names if inspect.isclass(member) or f"`{name}`" not in text]
    result = inspect.signature(member).return_annotation
    complete = inspect.isclass(member) or result in (None, "None") or RETURNS.search(documentation)
    return names + (["Returns"] if entries and not complete else [])


def section(documentation: str, name: str) -> str:
    """Return the lines under a heading of a docstring."""
    _, _, after = documentation.partition(f"\n{name}:\n")
    return re.split(r"^\S", after, maxsplit=1, flags=re.MULTILINE)[0]


PUBLIC = dict(public_members())


@pytest.mark.parametrize("name", PUBLIC)
def test_arguments_and_results_are_documented(name):
    assert not missing_names(PUBLIC[name])
