"""How well InfoLM and other metrics agree with people on WebNLG 2020; prints the tables in docs.

    python tests/benchmarks/webnlg_study.py webnlg2020.en.jsonl [--model bundled] [--scores FILE]

The recipe is that of Colombo et al. 2022, Table 2: 16 systems, 177 samples, sentence scores
averaged over a sample's references, then over the samples; correlations over the systems. InfoLM
is scored with parameters fixed beforehand. What is chosen by human scores is chosen on 100 samples
and reported on the other 77. With --scores the scores are kept in FILE (.npz) and read from there
the next time. Needs: pip install -c requirements.txt -e ".[tools]".
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import webnlg_scores as webnlg

from infolm_metric.commands.output import markdown
from infolm_metric.meta_evaluation import AgreementTable, Ratings, agreement, correlation
from infolm_metric.meta_evaluation.agreement import format_p_value
from infolm_metric.meta_evaluation.correlations import COEFFICIENTS

AT_ONE = "T1|jeffreys|mean|references"
INFOLM = {
    "InfoLM Fisher-Rao (default measure)": f"fisher_rao_distance|{AT_ONE}",
    "InfoLM L1": f"l1_distance|{AT_ONE}",
    "InfoLM L2": f"l2_distance|{AT_ONE}",
    "InfoLM L-infinity": f"l_infinity_distance|{AT_ONE}",
    "InfoLM KL": f"kl_divergence|{AT_ONE}",
    "InfoLM alpha (0.5)": f"alpha_divergence(0.5)|{AT_ONE}",
    "InfoLM Renyi (0.5)": f"renyi_divergence(0.5)|{AT_ONE}",
    "InfoLM beta (0.5)": f"beta_divergence(0.5)|{AT_ONE}",
    "InfoLM AB (0.5, 0.5)": f"ab_divergence(0.5,0.5)|{AT_ONE}",
}
OURS = "InfoLM Fisher-Rao (default measure)"
RIVALS = ("BLEU", "chrF", "BERTScore")
PUBLISHED_BLEU = {
    "data_coverage": (55.7, 50.2, 36.6),
    "fluency": (89.4, 90.5, 78.3),
    "relevance": (63.0, 65.2, 51.6),
}
# Colombo et al. 2022, Table 2: the mean of the 15 figures of a row; with BERT-base.
PUBLISHED_MEANS = {
    OURS: 82.4,
    "BLEU": 69.2,
    "BERTScore": 80.6,
    "InfoLM AB (the paper's parameters)": 83.2,
    "METEOR": 74.0,
    "JS": 77.3,
}
CURVES = ("fisher_rao_distance", "l1_distance", "kl_divergence")
SHORT = {"pearson": "r", "spearman": "rho", "kendall": "tau"}

Grids = Mapping[str, np.ndarray]


def gather(ratings: Ratings, model: str, layers: int, path: Path | None) -> webnlg.Scores:
    """Every metric's scores, from the file where they are there."""
    scores: webnlg.Scores = dict(np.load(path)) if path and path.exists() else {}

    def keep() -> None:
        if path:
            np.savez_compressed(path, **scores)

    if "BLEU" not in scores:
        scores |= webnlg.surface_metrics(ratings)
        keep()
    if "BERTScore" not in scores:
        scores |= webnlg.bert_score(ratings, model, layers)
        keep()
    for _ in webnlg.infolm_passes(ratings, model, scores):
        keep()
    return scores


def agreement_rows(table: AgreementTable, level: str) -> Iterator[str]:
    """A row for each metric: Pearson with its interval and Spearman, x 100, for each criterion."""
    criteria = table.names("criterion")
    rows = []
    for metric in table.names("metric"):
        cells = []
        for criterion in criteria:
            r, rho, tau = (table.find(metric, criterion, level, name) for name in COEFFICIENTS)
            cells.append(
                f"{100 * r.value:.1f} [{100 * r.low:.0f}, {100 * r.high:.0f}] / "
                f"{100 * rho.value:.1f} / {100 * tau.value:.1f}"
            )
        rows.append([metric, *cells])
    yield from markdown(["metric", *(name.replace("_", " ") for name in criteria)], rows)


def published_row() -> str:
    """The paper's sentence BLEU, whose figures are at hand for three criteria."""
    order = ("correctness", "data_coverage", "fluency", "relevance", "text_structure")
    cells = [" / ".join(map(str, PUBLISHED_BLEU.get(name, ("-",)))) for name in order]
    return "| " + " | ".join(["sentence BLEU, published (Table 2)", *cells]) + " |"


def overview_rows(table: AgreementTable) -> Iterator[str]:
    """The mean over criteria and coefficients at system level, x 100, here and as published."""

    def mean(metric: str) -> float:
        criteria = table.names("criterion")
        cells = [table.find(metric, c, "system", name) for c in criteria for name in COEFFICIENTS]
        return 100 * float(np.mean([cell.value for cell in cells]))

    here = {metric: f"{mean(metric):.1f}" for metric in table.names("metric")}
    published = {metric: f"{value:.1f}" for metric, value in PUBLISHED_MEANS.items()}
    rows = [[name, here.get(name, "-"), published.get(name, "-")] for name in here | published]
    yield from markdown(["metric", "here", "published"], rows)


def significance_rows(table: AgreementTable, level: str) -> Iterator[str]:
    """InfoLM's difference in Pearson to each rival, x 100, with its p-value."""
    criteria = table.names("criterion")
    rows = []
    for rival in RIVALS:
        cells = []
        for criterion in criteria:
            ours = table.find(OURS, criterion, level, "pearson")
            theirs = table.find(rival, criterion, level, "pearson")
            difference = 100 * (ours.value - theirs.value)
            cells.append(f"{difference:+.1f} (p {format_p_value(ours.p_values[rival])})")
        rows.append([rival, *cells])
    yield from markdown(
        ["InfoLM Fisher-Rao less", *(name.replace("_", " ") for name in criteria)], rows
    )


def mean_correlation(ratings: Ratings, grid: np.ndarray, coefficient: str = "pearson") -> float:
    """The correlation over the systems, averaged over the criteria, x 100."""
    return 100 * float(
        np.mean([correlation(human, grid, coefficient) for human in ratings.human.values()])
    )


def temperature_rows(ratings: Ratings, scores: webnlg.Scores) -> Iterator[str]:
    """Mean Pearson over the criteria for each measure and temperature."""
    rows = [
        [
            measure,
            *(
                f"{mean_correlation(ratings, ratings.grid(scores[name])):.1f}"
                for heat in webnlg.TEMPERATURES
                for name in [f"{measure}|T{heat:g}|jeffreys|mean|references"]
            ),
        ]
        for measure in CURVES
    ]
    yield from markdown(["measure", *(f"T = {heat:g}" for heat in webnlg.TEMPERATURES)], rows)


def map_rows(part: Ratings, grids: Grids) -> Iterator[str]:
    """Mean Pearson over the criteria for the AB divergence at each alpha and beta."""

    def value(alpha: float, beta: float) -> str:
        low, high = sorted((alpha, beta))
        return f"{mean_correlation(part, grids[f'ab_divergence({low:g},{high:g})|{AT_ONE}']):.1f}"

    yield from markdown(
        ["alpha, beta", *(f"{beta:g}" for beta in webnlg.MAP)],
        [[f"{alpha:g}", *(value(alpha, beta) for beta in webnlg.MAP)] for alpha in webnlg.MAP],
    )


def default_rows(part: Ratings, grids: Grids) -> Iterator[str]:
    """Mean Pearson on the development split for the choices that the defaults make."""
    rows = []
    for measure in ("kl_divergence", "ab_divergence(0.5,0.5)"):
        for form in ("jeffreys", "jensen", "none", "reverse"):
            rows.append([measure, f"symmetrize {form}", f"{measure}|T1|{form}|mean|references"])
    for measure in ("fisher_rao_distance", "l1_distance", "kl_divergence"):
        for idf in ("references", "uniform"):
            rows.append([measure, f"idf {idf}", f"{measure}|T1|jeffreys|mean|{idf}"])
    for measure in CURVES:
        for heat in (0.5, 1.0, 1.5, 2.0):
            name = f"{measure}|T{heat:g}|jeffreys|mean|references"
            rows.append([measure, f"temperature {heat:g}", name])
    for references in ("mean", "min"):
        name = f"fisher_rao_distance|T1|jeffreys|{references}|references"
        rows.append(["fisher_rao_distance", f"multi_reference {references}", name])
    yield from markdown(
        ["measure", "setting", "mean Pearson"],
        [
            [measure, setting, f"{mean_correlation(part, grids[name]):.1f}"]
            for measure, setting, name in rows
            if name in grids
        ],
        left=2,
    )


def tuned_rows(
    ratings: Ratings, chosen: tuple[str, ...], held_out: tuple[str, ...], scores: webnlg.Scores
) -> Iterator[str]:
    """The best of all settings scored on both splits, chosen on one and reported on the other."""
    here, there = ratings.select(chosen), ratings.select(held_out)
    candidates = [
        name
        for name, column in scores.items()
        if "|" in name and name.endswith("references") and not np.isnan(column).any()
    ]
    wanted = set(chosen)
    part = np.asarray([ratings.samples[sample] in wanted for _, sample in ratings.places])
    default = INFOLM[OURS]
    rows = []
    for criterion in ratings.human:
        development = {
            name: correlation(here.human[criterion], here.grid(scores[name][part]))
            for name in candidates
        }
        best = max(development, key=development.__getitem__)
        human = {criterion: there.human[criterion]}
        metrics = {
            name: there.grid(scores[name][~part]) for name in dict.fromkeys([best, default, "BLEU"])
        }
        table = agreement(human, metrics, levels=["system"])
        cells = [table.find(name, criterion, "system", "pearson") for name in metrics]
        if best == default:
            cells.insert(1, cells[0])
        rows.append(
            [
                criterion.replace("_", " "),
                best.split("|references")[0].replace("|jeffreys", "").replace("|", ", "),
                f"{100 * development[best]:.1f}",
                *(f"{100 * c.value:.1f} [{100 * c.low:.0f}, {100 * c.high:.0f}]" for c in cells),
            ]
        )
    header = ["criterion", "chosen on 100 samples", "r there"]
    header += ["r on the 77 held out", "default measure there", "BLEU there"]
    yield from markdown(header, rows, left=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--layers", type=int, default=6, help="layer of BERTScore (default: 6)")
    parser.add_argument("--scores", type=Path, help="keep the scores here (.npz)")
    args = parser.parse_args()
    ratings = webnlg.read(args.data)
    scores = gather(ratings, args.model, args.layers, args.scores)

    others = [name for name in scores if "|" not in name and not name.startswith("done")]
    grids = {name: ratings.grid(scores[key]) for name, key in INFOLM.items()}
    grids |= {name: ratings.grid(scores[name]) for name in others}
    table = agreement(ratings.human, grids, against=RIVALS)
    chosen, held_out = webnlg.halves(ratings)
    here = ratings.select(chosen)
    wanted = set(chosen)
    part = np.asarray([ratings.samples[sample] in wanted for _, sample in ratings.places])
    here_grids = {name: here.grid(column[part]) for name, column in scores.items() if "|" in name}

    print("System level: Pearson [95% interval] / Spearman / Kendall, x 100\n")
    print(*agreement_rows(table, "system"), published_row(), sep="\n")
    print("\nSystem level, mean over criteria and coefficients, x 100\n")
    print(*overview_rows(table), sep="\n")
    print("\nText level, likewise\n")
    print(*agreement_rows(table, "text"), sep="\n")
    print("\nSystem level, difference in Pearson x 100, Williams' test\n")
    print(*significance_rows(table, "system"), sep="\n")
    print("\nText level, difference in Pearson x 100, bootstrap\n")
    print(*significance_rows(table, "text"), sep="\n")
    print("\nSettings chosen on 100 samples, judged on 77\n")
    print(*tuned_rows(ratings, chosen, held_out, scores), sep="\n")
    print("\nTemperature, all samples: mean Pearson over the criteria\n")
    print(*temperature_rows(ratings, scores), sep="\n")
    print("\nAlpha and beta, the 100 samples: mean Pearson over the criteria\n")
    print(*map_rows(here, here_grids), sep="\n")
    print("\nThe other defaults, the 100 samples: mean Pearson over the criteria\n")
    print(*default_rows(here, here_grids), sep="\n")


if __name__ == "__main__":
    main()
