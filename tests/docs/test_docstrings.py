"""Everything public says what it takes and gives, name by name."""

import inspect
import re
import types
from collections.abc import Iterator

import pytest

import infolm_metric
from infolm_metric.baryscore import explanation as plans
from infolm_metric.core.results import Result
from infolm_metric.core.scorer import Scorer
from infolm_metric.core.settings import Settings, descriptions, field_types
from infolm_metric.infolm import explanation as drivers

RESULTS = {  # what calls give, and nobody imports
    "Result": Result,
    **{f"Explanation.{name}": getattr(drivers, name) for name in ("TextView", "TokenContribution")},
    **{f"Plan.{name}": getattr(plans, name) for name in ("Explanation", "TextView", "Move")},
    "Explanation": drivers.Explanation,
}
SURFACE = {"score", "stream", "signature", "unload", "matrix", "select"}
SURFACE |= {"distributions", "sweep", "explain"}
"""What people call of a scorer; the rest is for whoever writes a metric or a command."""
PRODUCT = re.compile(r"^(Returns|Yields):$", re.MULTILINE)


def public() -> Iterator[tuple[str, object]]:
    """Every public function and class, and every public method of a class, by name."""
    members = {name: getattr(infolm_metric, name) for name in infolm_metric.__all__} | RESULTS
    for name, member in list(members.items()):
        if isinstance(member, types.ModuleType):
            members |= {f"{name}.{part}": getattr(member, part) for part in member.__all__}
    for name, member in members.items():
        if inspect.isclass(member):
            yield name, member
            yield from ((f"{name}.{attribute}", method) for attribute, method in methods(member))
        elif inspect.isfunction(member):
            yield name, member


def methods(kind: type) -> Iterator[tuple[str, object]]:
    """The public methods of a class by name, those of evaluate apart."""
    names = [] if issubclass(kind, Settings) else dir(kind)
    for name in [name for name in names if name in SURFACE or not issubclass(kind, Scorer)]:
        method = inspect.unwrap(getattr(kind, name))
        function = getattr(method, "__func__", method)
        local = inspect.isfunction(function) and function.__module__.startswith("infolm_metric")
        if local and function.__name__ == name[:1].lstrip("_") + name[1:]:  # or it is a default
            yield name, method


def missing_names(member: object) -> list[str]:
    """Return the parameters that the docstrings of a function and its module leave out.

    A parameter is documented by an entry under `Args`, or by its name in backticks.
    """
    if inspect.isclass(member) and issubclass(member, Settings):
        return sorted(set(field_types(member)) - set(descriptions(member)))
    documentation = inspect.getdoc(member) or ""
    names = [name for name in inspect.signature(member).parameters if name != "self"]
    if inspect.isclass(member):
        names = [name for name in names if name in vars(member).get("__annotations__", {})]
    entries = section(documentation, "Attributes" if inspect.isclass(member) else "Args")
    names = [name for name in names if not re.search(rf"^ {{4}}\**{name}\b.*:", entries, re.M)]
    text = f"{documentation} {inspect.getdoc(inspect.getmodule(member))}"
    names = [name for name in names if inspect.isclass(member) or f"`{name}`" not in text]
    gives = inspect.signature(member).return_annotation
    complete = inspect.isclass(member) or gives in (None, "None") or PRODUCT.search(documentation)
    return names + (["Returns"] if entries and not complete else [])


def section(documentation: str, name: str) -> str:
    """The lines under a heading of a docstring."""
    _, _, after = documentation.partition(f"\n{name}:\n")
    return re.split(r"^\S", after, maxsplit=1, flags=re.MULTILINE)[0]


PUBLIC = dict(public())


@pytest.mark.parametrize("name", PUBLIC)
def test_arguments_and_results_are_documented_by_name(name):
    assert not missing_names(PUBLIC[name])


def test_metrics_scorers_and_measures_are_among_them():
    assert {"InfoLM.compute", "InfoLMScorer.sweep", "measures.compare", "Result"} <= set(PUBLIC)
