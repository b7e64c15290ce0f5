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
    **{f"Explanation.{name}": getattr(drivers, name) for name in ("TextView", "Share")},
    **{f"Plan.{name}": getattr(plans, name) for name in ("Explanation", "TextView", "Move")},
    "Explanation": drivers.Explanation,
}
SURFACE = {"score", "stream", "signature", "unload", "matrix", "select"}
SURFACE |= {"distributions", "sweep", "explain"}
"""What people call of a scorer; the rest is for whoever writes a metric or a command."""
PRODUCT = re.compile(r"^(Returns|Yields):$", re.MULTILINE)


def public() -> Iterator[tuple[str, object]]:
    """Every public function and class, and every public method of a class, by name."""
    named = {name: getattr(infolm_metric, name) for name in infolm_metric.__all__} | RESULTS
    for name, found in list(named.items()):
        if isinstance(found, types.ModuleType):
            named |= {f"{name}.{each}": getattr(found, each) for each in found.__all__}
    for name, found in named.items():
        if inspect.isclass(found):
            yield name, found
            yield from ((f"{name}.{each}", method) for each, method in methods(found))
        elif inspect.isfunction(found):
            yield name, found


def methods(kind: type) -> Iterator[tuple[str, object]]:
    """The public methods of a class by name, those of evaluate apart."""
    names = [] if issubclass(kind, Settings) else dir(kind)
    for name in [each for each in names if each in SURFACE or not issubclass(kind, Scorer)]:
        found = inspect.unwrap(getattr(kind, name))
        function = getattr(found, "__func__", found)
        own = inspect.isfunction(function) and function.__module__.startswith("infolm_metric")
        if own and function.__name__ == name[:1].lstrip("_") + name[1:]:  # or it is a default
            yield name, found


def missing(found: object) -> list[str]:
    """The names that a docstring should tell of and does not, by its sections."""
    if inspect.isclass(found) and issubclass(found, Settings):
        return sorted(set(field_types(found)) - set(descriptions(found)))
    documentation = inspect.getdoc(found) or ""
    names = [name for name in inspect.signature(found).parameters if name != "self"]
    if inspect.isclass(found):
        names = [name for name in names if name in vars(found).get("__annotations__", {})]
    entries = section(documentation, "Attributes" if inspect.isclass(found) else "Args")
    lacking = [name for name in names if not re.search(rf"^ {{4}}\**{name}\b.*:", entries, re.M)]
    gives = inspect.signature(found).return_annotation
    told = inspect.isclass(found) or gives in (None, "None") or PRODUCT.search(documentation)
    return lacking + (["Returns"] if names and not told else [])


def section(documentation: str, name: str) -> str:
    """The lines under a heading of a docstring."""
    _, _, after = documentation.partition(f"\n{name}:\n")
    return re.split(r"^\S", after, maxsplit=1, flags=re.MULTILINE)[0]


PUBLIC = dict(public())


@pytest.mark.parametrize("name", PUBLIC)
def test_arguments_and_results_are_documented_by_name(name):
    assert not missing(PUBLIC[name])


def test_metrics_scorers_and_measures_are_among_them():
    assert {"InfoLM.compute", "InfoLMScorer.sweep", "measures.compare", "Result"} <= set(PUBLIC)
