"""`infolm tune`: the settings that agree best with people, and what they are worth elsewhere."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from infolm_metric import metrics
from infolm_metric.commands import ratings as shared
from infolm_metric.commands.options import (
    Command,
    amount,
    as_given,
    choice,
    scorer_of,
    setting,
    setting_options,
)
from infolm_metric.commands.output import JSON, OUTPUT, check_output, write

if TYPE_CHECKING:
    from infolm_metric.kernel.settings import Settings
    from infolm_metric.meta_evaluation.tuning import Tuning


def _tune(arguments: argparse.Namespace) -> None:
    """Tries the settings and writes the best."""
    check_output(arguments)
    own = metrics.find(arguments.metric).settings_type()
    given = {
        name: tuple(dict.fromkeys(vars(arguments).pop(name)))
        for name in _tunable(own)
        if name in arguments
    }
    settings = shared.settings_before(arguments)
    grids, choices = own.tried(**given), own.choices()
    words = {choices[name].check(name, each): each for name in given for each in given[name]}
    found = shared.read(arguments)
    size = len(found.samples)
    development = size // 2 if arguments.development is None else arguments.development

    from infolm_metric.kernel.progress import bar
    from infolm_metric.meta_evaluation.tuning import candidates, tune

    scorer = scorer_of(settings)
    texts = len(found.select(found.samples[:1]).predictions) * development
    total = len(candidates(scorer.settings, grids)) * texts
    with bar(scorer.settings.verbose, total=total, unit="score", desc="settings") as shown:
        result = tune(
            found,
            scorer,
            grids=grids,
            development=development,
            seed=arguments.seed,
            coefficient=arguments.coefficient,
            level=arguments.level,
            missing=arguments.missing,
            resamples=arguments.resamples,
            report=shown.update,
        )
    lines = _json(result, words) if arguments.json else _report(result, words, arguments)
    write(lines, arguments.output)


def _report(
    result: Tuning, words: Mapping[Any, Any], arguments: argparse.Namespace
) -> Iterator[str]:
    """What was found, in words, tables, and settings to paste; `words` are the values as given."""
    from infolm_metric.meta_evaluation.tables import aligned, number, p_value, with_interval
    from infolm_metric.meta_evaluation.tuning import DEFAULTS, TUNED

    plain = type(result.best)()
    criteria = ", ".join(result.criteria)
    yield (
        f"{len(result.trials)} settings on {len(result.development_ids)} samples, by "
        f"{result.coefficient.capitalize()} at the {result.level} level with {criteria}"
        + (" (mean)" if len(result.criteria) > 1 else "")
        + "; the best:"
    )
    yield ""
    best = [
        [trial.settings.describe(plain), number(trial.development)]
        for trial in result.trials[: arguments.show]
    ]
    yield from aligned(["settings", "development"], best)
    yield ""
    yield (
        f"On the {len(result.held_out_ids)} samples held out, which is the figure to report; in "
        "brackets 95% bootstrap intervals:"
    )
    yield ""
    rows = []
    for cell in result.held_out:
        rows.append(
            [cell.criterion, cell.metric, with_interval(cell), p_value(cell.p_values.get(DEFAULTS))]
        )
    if len(result.criteria) > 1:
        for name in (TUNED, DEFAULTS):
            rows.append(["mean", name, number(result.held_out_mean(name)), ""])
    header = ["criterion", "metric", result.coefficient.capitalize(), "p vs the default settings"]
    yield from aligned(header, rows, left=2)
    yield ""
    yield "To use them:"
    yield ""
    chosen = _chosen(result.best, words)
    own = type(result.best)
    given = [name for name in own.choices() if name in arguments and name not in chosen]
    flags = [*_flags(result.best, chosen), *as_given(own, arguments, given)]
    yield " ".join(["infolm score", *flags, "..."])
    used = {**chosen, **{name: getattr(result.best, name) for name in given}}
    keywords = ", ".join(f"{name}={value!r}" for name, value in used.items())
    kind = metrics.find(result.best.metric).evaluate.partition(":")[2]
    yield f"{kind}({keywords})"
    yield f"signature: {result.signature}"


def _chosen(settings: Settings, words: Mapping[Any, Any]) -> dict[str, Any]:
    """The choices that `tune` made, a table by the path that it was given by."""
    return {
        name: value if isinstance(value, bool | int | float | str) else words.get(value, str(value))
        for name, value in settings.chosen().items()
    }


def _flags(best: Settings, chosen: Mapping[str, Any]) -> Iterator[str]:
    """The metric and its settings as options of the command line."""
    if best.metric != metrics.DEFAULT:
        yield f"--metric {best.metric}"
    words = {name: "none" if value is False else str(value) for name, value in chosen.items()}
    yield from as_given(type(best), argparse.Namespace(**words), words)


def _json(result: Tuning, words: Mapping[Any, Any]) -> Iterator[str]:
    from infolm_metric.meta_evaluation.agreement_table import plain

    fields = ("metric", "criterion", "value", "low", "high", "p_values")
    yield json.dumps(
        {
            "best": _chosen(result.best, words),
            "signature": result.signature,
            "coefficient": result.coefficient,
            "level": result.level,
            "criteria": list(result.criteria),
            "held_out": [
                plain({name: vars(cell)[name] for name in fields}) for cell in result.held_out
            ],
            "development_ids": list(result.development_ids),
            "held_out_ids": list(result.held_out_ids),
            "trials": [
                {
                    "settings": _chosen(trial.settings, words),
                    "development": plain(trial.development),
                }
                for trial in result.trials
            ],
        },
        allow_nan=False,
    )


def _tunable(own: type[Settings]) -> list[str]:
    """The settings of a metric that can be chosen, each an option here."""
    return [name for name, each in own.choices().items() if each.tunable and each.flags]


COMMAND = Command(
    "tune",
    "choose the settings that agree best with human scores",
    _tune,
    lambda own: {
        "what people said": shared.DATA,
        "what to try (repeat an option for several values)": [
            setting(own, name, several=True) for name in _tunable(own)
        ],
        "how to choose": (
            amount(
                "--development", "samples to choose on; the others are held out (default: half)"
            ),
            choice("--coefficient", ("pearson", "spearman", "kendall"), "(default: pearson)"),
            choice("--level", ("system", "text"), "(default: system)"),
            *shared.RESAMPLING,
        ),
        "the same for all": (
            shared.METRIC,
            *setting_options(own, set(shared.settings(own)) - {*_tunable(own)}),
        ),
        "output": (
            amount("--show", "best settings to list", 10),
            JSON,
            OUTPUT,
        ),
    },
    epilogue=f"""\
The samples are split at random. The settings are chosen on the development split, averaged over the
criteria, and judged on the samples held out, which nothing was chosen by. Without options under
"what to try" the usual values are tried: for infolm the measures at several temperatures and
parameters, with idf and without. Its model reads each text once.

{shared.ROWS}

example:
  infolm tune ratings.jsonl --criterion fluency --development 100 --model bundled
""",
)
