"""How fast the metrics are, beside others'; Markdown tables.

    pip install -c requirements.txt -e ".[test,tools]"
    python -m tools.speed rates  webnlg2020.en.jsonl    # by length, beside torchmetrics
    python -m tools.speed beside webnlg2020.en.jsonl    # what reads a text once, and BERTScore
    python -m tools.speed sweep  webnlg2020.en.jsonl    # 288 settings from one pass
    python -m tools.speed masks  webnlg2020.en.jsonl    # several masks in one pass
    python -m tools.speed dtypes webnlg2020.en.jsonl    # what half precision does to scores

The data is JSON Lines with prediction and references. `rates` and `beside` time the same pairs on
the same cores from one float32 copy of the weights; peers have batches of 64. Each runs in a
process of its own, is warmed up on other texts, and loading is not counted. Pairs are the first of
the data whose texts are all distinct, texts of equal lengths made from it, and systems that share
references. "memory" is how far the timed call raised the process's peak (Linux). Times are medians
of --repeats.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import infolm_metric
from infolm_metric import BaryScorer, InfoLMScorer, MENLIScorer
from infolm_metric.meta_evaluation import correlation, spearman
from tools.data import Pair, distinct_pairs, equal_pairs, systems_sharing_references, webnlg
from tools.tables import show
from tools.timing import in_process, median_seconds, of_a_worker, peak_memory

BUNDLED = Path(infolm_metric.__file__).parent / "bundled"
PEER_BATCH = 64
WARM_UP = ["One sentence to warm up with.", "Another, which is a little longer than the first one."]
MEASURES = (
    *("fisher_rao_distance", "l1_distance", "l2_distance", "l_infinity_distance", "kl_divergence"),
    *("alpha_divergence", "renyi_divergence", "beta_divergence", "ab_divergence"),
)
TEMPERATURES, INTERPOLATIONS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0), (0.0, 0.1, 0.25, 0.5)
Score = Callable[[list[str], list[str]], Any]
Loader = Callable[[str], Score]


def package_loader(kind: type, **settings: Any) -> Loader:
    """What loads a scorer of ours, which keeps no text from one call to the next."""
    return lambda folder: kind(model_name_or_path=folder, reuse_memory=0, **settings).score


def load_torchmetrics(folder: str) -> Score:
    """InfoLM of torchmetrics."""
    from torchmetrics.text.infolm import InfoLM as Peer

    metric = Peer(
        folder,
        information_measure="fisher_rao_distance",
        temperature=1.0,
        idf=False,
        max_length=512,  # its default breaks with transformers 5
        batch_size=PEER_BATCH,
        device="cpu",
        verbose=False,
    )

    def score(predictions: list[str], references: list[str]) -> Any:
        metric.reset()
        metric.update(predictions, references)
        return metric.compute()

    return score


def load_bertscore(folder: str) -> Score:
    """BERTScore."""
    from bert_score import BERTScorer
    from transformers import AutoConfig

    layers = AutoConfig.from_pretrained(folder).num_hidden_layers
    scorer = BERTScorer(model_type=folder, num_layers=layers, batch_size=PEER_BATCH, device="cpu")
    return scorer.score


RUNNERS: dict[str, Loader] = {
    "infolm": package_loader(InfoLMScorer, idf=False),
    "infolm, one pass": package_loader(InfoLMScorer, idf=False, masks_per_pass=0),
    "baryscore": package_loader(BaryScorer, idf=False),
    "menli": lambda folder: MENLIScorer(model_name_or_path="bundled", reuse_memory=0).score,
    "torchmetrics InfoLM": load_torchmetrics,
    "BERTScore": load_bertscore,
}
ONCE = ("infolm", "infolm, one pass", "baryscore", "menli", "BERTScore")


def save_model(folder: Path) -> Any:
    """Writes a float32 copy of the bundled model into the folder, and gives its tokenizer."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(BUNDLED)
    tokenizer.save_pretrained(folder)
    AutoModelForMaskedLM.from_pretrained(BUNDLED, dtype=torch.float32).save_pretrained(folder)
    return tokenizer


def time_metric(name: str, folder: str, pairs: list[Pair], repeats: int) -> dict[str, float]:
    """What one metric needs for the pairs."""
    score = RUNNERS[name](folder)
    score(WARM_UP, WARM_UP[::-1])
    before, columns = peak_memory(), [list(column) for column in zip(*pairs, strict=True)]
    seconds = median_seconds(lambda: score(*columns), repeats)
    memory = peak_memory() - before
    return {"seconds": seconds, "rate": len(pairs) / seconds, "memory": memory}


def measure(
    names: Iterable[str], folder: str, pairs: list[Pair], arguments: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """`time_metric` of each metric in a process of its own."""
    job = {"folder": folder, "pairs": pairs, "repeats": arguments.repeats}
    return {
        name: in_process("tools.speed", {"name": name, **job}, arguments.threads) for name in names
    }


def rates(arguments: argparse.Namespace) -> None:
    """Pairs a second by length of the texts and metric."""
    rows, count = [], arguments.pairs
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = save_model(Path(folder))
        loads = {"mixed lengths": distinct_pairs(arguments.data, count)}
        for length, divisor in ((10, 1), (26, 2), (100, 16)):
            pairs = equal_pairs(arguments.data, tokenizer, length, max(1, count // divisor))
            loads[f"{length} tokens"] = pairs
        for load, pairs in loads.items():
            if arguments.only not in f"bundled, {load}":
                continue
            results = measure(RUNNERS, folder, pairs, arguments)
            infolm, peer = results["infolm"], results["torchmetrics InfoLM"]
            cells = [f"{result['rate']:.3g}" for result in results.values()]
            cells.append(f"{infolm['rate'] / peer['rate']:.1f}")
            cells.append(f"{infolm['memory']:.0f} / {peer['memory']:.0f}")
            rows.append([f"bundled, {load}, {len(pairs)} pairs", *cells])
            print(rows[-1], file=sys.stderr, flush=True)
    header = ["model, texts", *RUNNERS, "ours/torchmetrics", "memory, MB"]
    show("Pairs a second", header, rows, arguments.csv)


def beside(arguments: argparse.Namespace) -> None:
    """What BERTScore and the metrics that read a text once need for the same pairs."""
    data, count, samples = arguments.data, arguments.pairs, arguments.samples
    loads = {
        f"{count} pairs of distinct texts": distinct_pairs(data, count),
        f"16 systems, {samples} shared references": systems_sharing_references(data, samples),
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder))
        for load, pairs in loads.items():
            results = measure(ONCE, folder, pairs, arguments)
            for name, result in results.items():
                times = result["seconds"] / results["BERTScore"]["seconds"]
                cells = [f"{result['rate']:.2f}", f"{result['seconds']:.1f}", f"{times:.2f}"]
                rows.append([load, name, *cells, f"{result['memory']:.0f}"])
    header = ["texts", "metric", "pairs/s", "seconds", "times BERTScore's", "memory, MB"]
    show("Beside BERTScore", header, rows, arguments.csv)


def columns_of(arguments: argparse.Namespace) -> list[list[str]]:
    """The candidates and the references of the first distinct pairs."""
    pairs = distinct_pairs(arguments.data, arguments.pairs)
    return [list(column) for column in zip(*pairs, strict=True)]


def sweep(arguments: argparse.Namespace) -> None:
    """What many settings cost beside one score, on the same pairs."""
    columns = columns_of(arguments)
    scorer = InfoLMScorer(model_name_or_path="bundled", idf=False, reuse_memory=0)
    scorer.score(WARM_UP, WARM_UP[::-1])
    grid = {"temperatures": TEMPERATURES, "interpolations": INTERPOLATIONS}
    settings: dict[str, Any] = {"information_measure": [*MEASURES], "alpha": 0.5, "beta": 0.5}
    base = median_seconds(lambda: scorer.score(*columns), arguments.repeats)
    whole = median_seconds(lambda: scorer.sweep(*columns, **grid, **settings), arguments.repeats)
    count = len(MEASURES) * len(TEMPERATURES) * len(INTERPOLATIONS)
    row = [arguments.pairs, f"{base:.1f}", f"{whole:.1f}", f"{whole / base:.2f}"]
    header = ["pairs", "one score, s", f"{count} settings, s", "times"]
    show("Many settings from one pass", header, [row], arguments.csv)


def masks(arguments: argparse.Namespace) -> None:
    """What several masks in one pass cost in agreement on WebNLG 2020, and save in time."""
    ratings = webnlg(arguments.data.parent).parts[""]
    if arguments.only:
        ratings = ratings.select(arguments.only.split(","))
    texts = list(ratings.predictions), [list(group) for group in ratings.references]
    scorer = InfoLMScorer(
        model_name_or_path="bundled", temperature=1.5, multi_reference="mean", reuse_memory=0
    )
    scorer.score(WARM_UP, WARM_UP[::-1])
    rows, exact, exact_seconds = [], np.empty(0), 0.0
    for count in (1, 2, 4, 8, 16):
        start = time.perf_counter()
        scores = -np.asarray(scorer.score(*texts, masks_per_pass=count)["scores"])
        seconds = time.perf_counter() - start
        if count == 1:
            exact, exact_seconds = scores, seconds
        grids = [ratings.grid(column) for column in (exact, scores)]
        agreement = [
            correlation(human, grids[1], coefficient)
            for human in ratings.human.values()
            for coefficient in ("pearson", "spearman", "kendall")
        ]
        orders = spearman(exact, scores), spearman(*(grid.mean(axis=1) for grid in grids))
        cells = [f"{exact_seconds / seconds:.2f}", *(f"{order:.3f}" for order in orders)]
        rows.append([count, *cells, f"{100 * np.mean(agreement):.1f}"])
    header = ["masks a pass", "speed", "Spearman with exact, texts", "systems"]
    show("Several masks", [*header, "agreement with people"], rows, arguments.csv)


def dtypes(arguments: argparse.Namespace) -> None:
    """What half precision does to scores."""
    columns, measures = columns_of(arguments), [MEASURES[0], MEASURES[1], MEASURES[4]]
    scorer = InfoLMScorer(model_name_or_path="bundled", idf=False, reuse_memory=0)
    exact, half = (
        scorer.score(*columns, information_measure=measures, dtype=dtype)["scores"]
        for dtype in ("float32", "bfloat16")
    )
    rows = []
    for name in measures:
        scores, half_scores = np.asarray(exact[name]), np.asarray(half[name])
        difference = f"{np.abs(scores - half_scores).max():.5f}"
        order = f"{spearman(scores, half_scores):.4f}"
        rows.append([name, difference, f"{scores.max():.3f}", order])
    header = ["measure", "largest difference", "largest score", "Spearman with float32"]
    show("bfloat16", header, rows, arguments.csv)


TABLES: dict[str, Callable[[argparse.Namespace], None]] = {
    table.__name__: table for table in (rates, beside, sweep, masks, dtypes)
}


def main() -> None:
    """Measure one thing, or one metric as the worker of such a measurement."""
    if of_a_worker(time_metric):
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=TABLES)
    parser.add_argument("data", type=Path, help="JSON Lines: prediction, references")
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--samples", type=int, default=8, help="that systems share")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="rows, or ids of samples for `masks`")
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--csv", type=Path, help="folder for the tables' rows")
    arguments = parser.parse_args()
    TABLES[arguments.what](arguments)


if __name__ == "__main__":
    main()
