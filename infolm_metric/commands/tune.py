"""`infolm tune`: the settings that agree best with people, and what they are worth elsewhere."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from infolm_metric.commands import ratings as shared
from infolm_metric.commands.options import SETTINGS, Command, check_writable, given_settings, option

if TYPE_CHECKING:
    from infolm_metric.infolm.settings import Settings
    from infolm_metric.meta_evaluation.grid import Sweep
    from infolm_metric.meta_evaluation.tuning import Tuning

SWEPT = ("information_measure", "alpha", "beta", "temperature", "idf", "similarity")
FIXED = tuple(entry for entry in SETTINGS if entry.keywords["dest"] not in SWEPT)


def _tune(arguments: argparse.Namespace) -> None:
    """Tries the settings and writes the best."""
    if arguments.output != "-":
        check_writable(arguments.output)
    found = shared.read(arguments)
    size = len(found.samples)
    development = size // 2 if arguments.development is None else arguments.development
    if not 2 <= development <= size - 2:
        raise ValueError(
            f"--development must leave both splits at least 2 of the {size} samples, "
            f"got {development}"
        )

    from datasets.utils import tqdm

    from infolm_metric.infolm.scorer import InfoLMScorer
    from infolm_metric.meta_evaluation.tuning import IDF_FORMS, tune

    scorer = InfoLMScorer(**shared.progress(given_settings(arguments)))
    sweeps = _sweeps(arguments)
    forms = [False if form == "none" else form for form in arguments.idfs or ()] or IDF_FORMS
    texts = len(found.select(found.samples[:1]).predictions) * development
    total = sum(sweep.size for sweep in sweeps) * len(forms) * texts
    quiet = not scorer.settings.verbose
    with tqdm(total=total, unit="score", desc="settings", disable=quiet) as bar:
        result = tune(
            found,
            scorer,
            sweeps=sweeps,
            idf=forms,
            development=development,
            seed=arguments.seed,
            coefficient=arguments.coefficient,
            level=arguments.level,
            missing=arguments.missing,
            resamples=arguments.resamples,
            report=bar.update,
        )
    lines = _json(result) if arguments.json else _report(result, arguments)
    shared.write("".join(line + "\n" for line in lines), arguments.output)


def _sweeps(arguments: argparse.Namespace) -> list[Sweep]:
    """The sweeps asked for: the usual ones, or all combinations of what the options name."""
    from infolm_metric.infolm.settings import Settings, measure_names
    from infolm_metric.meta_evaluation.grid import Sweep
    from infolm_metric.meta_evaluation.tuning import SWEEPS, TEMPERATURES

    if not (arguments.measures or arguments.alphas or arguments.betas or arguments.temperatures):
        return list(SWEEPS)
    temperatures = tuple(arguments.temperatures or TEMPERATURES)
    for heat in temperatures:
        Settings(temperature=heat)  # refuses what no temperature can be
    if not arguments.measures and not (arguments.alphas or arguments.betas):
        measures = tuple(dict.fromkeys(name for sweep in SWEEPS for name in sweep.measures))
    else:
        names = measure_names("information_measure", arguments.measures or ["ab"])
        measures = (names,) if isinstance(names, str) else names
    sweep = Sweep(
        measures,
        temperatures,
        tuple(arguments.alphas or (0.25, 0.5)),
        tuple(arguments.betas or (0.25, 0.5)),
    )
    if not sweep.size:
        raise ValueError("--alpha and --beta hold no value in the domain of the measures")
    return [sweep]


def _report(result: Tuning, arguments: argparse.Namespace) -> Iterator[str]:
    """What was found, in words, tables, and settings to paste."""
    from infolm_metric.infolm.settings import Settings
    from infolm_metric.meta_evaluation.grid import describe
    from infolm_metric.meta_evaluation.tables import aligned, number, p_value, with_interval
    from infolm_metric.meta_evaluation.tuning import DEFAULTS, TUNED, choices

    plain = Settings()
    criteria = ", ".join(result.criteria)
    yield (
        f"{len(result.trials)} settings on {len(result.development_ids)} samples, by "
        f"{result.coefficient.capitalize()} at the {result.level} level with {criteria}"
        + (" (mean)" if len(result.criteria) > 1 else "")
        + "; the best:"
    )
    yield ""
    best = [
        [describe(trial.settings, plain), number(trial.development)]
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
    yield f"infolm score {_flags(result.best)} ..."
    keywords = ", ".join(f"{name}={value!r}" for name, value in choices(result.best).items())
    yield f"InfoLM({keywords})"


def _flags(settings: Settings) -> str:
    """The settings as options of the command line."""
    from infolm_metric.meta_evaluation.tuning import choices

    flags = {entry.keywords["dest"]: entry.flags[-1] for entry in SETTINGS}
    return " ".join(
        f"{flags[name]} {shlex.quote('none' if value is False else str(value))}"
        for name, value in choices(settings).items()
    )


def _json(result: Tuning) -> Iterator[str]:
    from infolm_metric.meta_evaluation.tuning import choices

    def cell(found: Any) -> dict[str, Any]:
        return {
            name: getattr(found, name) for name in ("metric", "criterion", "value", "low", "high")
        } | {"p_values": dict(found.p_values)}

    yield json.dumps(
        {
            "best": choices(result.best),
            "coefficient": result.coefficient,
            "level": result.level,
            "criteria": list(result.criteria),
            "held_out": [cell(found) for found in result.held_out],
            "development_ids": list(result.development_ids),
            "held_out_ids": list(result.held_out_ids),
            "trials": [
                {"settings": choices(trial.settings), "development": trial.development}
                for trial in result.trials
            ],
        }
    )


COMMAND = Command(
    "tune",
    "choose the settings that agree best with human scores",
    _tune,
    {
        "what people said": shared.DATA,
        "what to try": (
            option(
                "-m",
                "--measure",
                dest="measures",
                action="append",
                metavar="NAME",
                help="repeat for several",
            ),
            option(
                "--alpha",
                dest="alphas",
                action="append",
                type=float,
                metavar="A",
                help="repeat for several",
            ),
            option(
                "--beta",
                dest="betas",
                action="append",
                type=float,
                metavar="B",
                help="repeat for several",
            ),
            option(
                "-t",
                "--temperature",
                dest="temperatures",
                action="append",
                type=float,
                metavar="T",
                help="repeat for several",
            ),
            option(
                "--idf",
                dest="idfs",
                action="append",
                metavar="SOURCE",
                help="references, none or the path of a table; repeat for several (default: "
                "references and none)",
            ),
        ),
        "how to choose": (
            option(
                "--development",
                type=int,
                metavar="N",
                help="samples to choose on; the others are held out (default: half)",
            ),
            option(
                "--coefficient",
                choices=("pearson", "spearman", "kendall"),
                default="pearson",
                help="(default: pearson)",
            ),
            option(
                "--level", choices=("system", "text"), default="system", help="(default: system)"
            ),
            *shared.RESAMPLING,
        ),
        "the same for all": FIXED,
        "output": (
            option("--show", type=int, default=10, metavar="N", help="best settings to list"),
            option("--json", action="store_true", help="one JSON object, with every trial"),
            option("-o", "--output", metavar="FILE", default="-", help="write to a file"),
        ),
    },
    epilogue=f"""\
The samples are split at random. The settings are chosen on the development split, averaged over the
criteria, and judged on the samples held out, which nothing was chosen by. Without options under
"what to try", the measures are tried at several temperatures and parameters, with idf and without.
The model reads each text once.

{shared.ROWS}

example:
  infolm tune ratings.jsonl --criterion fluency --development 100 --model bundled
""",
)
