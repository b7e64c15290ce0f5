"""Benchmark the metrics, and print Markdown tables.

    pip install -c requirements.txt -e ".[test,tools]"
    python -m tools.speed rates  webnlg2020.en.jsonl    # by text length, with torchmetrics
    python -m tools.speed peers  webnlg2020.en.jsonl    # comparison with bert-score and GEMM
    python -m tools.speed sweep  webnlg2020.en.jsonl    # 288 settings from one pass
    python -m tools.speed dtypes webnlg2020.en.jsonl    # effect of data types on scores
    python -m tools.speed profile webnlg2020.en.jsonl   # time in matrix products, copies and so on
    python -m tools.speed evaluations webnlg2020.en.jsonl --pairs 500   # in a training loop

`rates` and `peers` run all metrics on the same pairs and device with the same float32 weights.
Other libraries use batches of 64. Each metric runs in a separate process and is warmed up on other
texts. Times are medians over --repeats and do not include loading the model. "memory" is the
increase of the peak memory during the timed calls (Linux). "of GEMM" is the throughput in matrix
multiplications and attention, relative to a multiplication of large matrices in the same data type.

The file has the fields prediction and references. Texts are the first pairs without repeated texts,
texts of equal length cut from the data, or outputs of 16 systems that share references.
"""

import argparse
import math
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from infolm_metric import BaryScorer, BERTScorer, InfoLMScorer, MENLIScorer
from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.meta_evaluation import spearman
from infolm_metric.models.determinism import linear
from tools.data import Pair, distinct_pairs, equal_pairs, systems_sharing_references
from tools.study import encoder_settings
from tools.tables import show
from tools.timing import cpu_name, in_process, median_seconds, peak_memory, run_worker

PEER_BATCH = 64
GEMM_SIZES = 2048, 16_384  # on CPUs and GPUs
WARM_UP = ["One sentence to warm up with.", "Another, which is a little longer than the first one."]
MEASURES = (
    *("fisher_rao_distance", "l1_distance", "l2_distance", "l_infinity_distance", "kl_divergence"),
    *("alpha_divergence", "renyi_divergence", "beta_divergence", "ab_divergence"),
)
TEMPERATURES, INTERPOLATIONS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0), (0.0, 0.1, 0.25, 0.5)
OPERATIONS = {  # groups of `profile`: patterns of names of operations
    "products": r"addmm|::mm|bmm|linear",
    "attention": r"attention|softmax",
    "copies": r"index|copy|cat|clone|contiguous|gather|pad|select|slice|split|stack",
    "other operations": "",
}
Score = Callable[[list[str], list[str]], Any]
Loader = Callable[..., Score]


def package_loader(kind: type, **settings: Any) -> Loader:
    """Return a function that loads a scorer of this package without a cache of encodings."""
    settings["reuse_memory"] = 0
    return lambda folder, **changed: (
        kind(**{"model_name_or_path": folder, **settings, **changed}).score
    )


def bertscore_layer(folder: str) -> int:
    """Return BERTScore's layer for an encoder: 5 for a copy of the bundled one."""
    return int(encoder_settings("BERTScore", folder).get("layer", 5))


def load_bertscorer(folder: str, **changed: Any) -> BERTScorer:
    layer = bertscore_layer(folder)
    return BERTScorer(model_name_or_path=folder, layer=layer, reuse_memory=0, **changed)


def load_combination(folder: str, **changed: Any) -> Score:
    """Load the bundled MENLI combined with this package's BERTScore."""
    other = load_bertscorer(folder, **changed).settings
    settings: dict[str, Any] = {"combine_with": other, "reuse_memory": 0, **changed}
    return MENLIScorer(model_name_or_path="bundled", **settings).score


def load_torchmetrics(folder: str, device: str) -> Score:
    from torchmetrics.text.infolm import InfoLM as Peer

    metric = Peer(
        folder,
        information_measure="fisher_rao_distance",
        temperature=1.0,
        idf=False,
        max_length=512,  # the default raises an error with transformers 5
        batch_size=PEER_BATCH,
        device=device,
        verbose=False,
    )

    def score(predictions: list[str], references: list[str]) -> Any:
        metric.reset()
        metric.update(predictions, references)
        return metric.compute()

    return score


def load_bert_score(folder: str, device: str, dtype: str = "float32") -> Score:
    import bert_score

    options = {"num_layers": bertscore_layer(folder), "batch_size": PEER_BATCH, "device": device}
    scorer = bert_score.BERTScorer(model_type=folder, **options)
    scorer._model.to(getattr(torch, dtype))  # bert-score has no option for the data type
    return scorer.score


RUNNERS: dict[str, Loader] = {
    "infolm": package_loader(InfoLMScorer, idf=False),
    "infolm, one pass": package_loader(InfoLMScorer, idf=False, masking="none"),
    "baryscore": package_loader(BaryScorer, idf=False),
    "bertscore": lambda folder, **changed: load_bertscorer(folder, **changed).score,
    "menli": package_loader(MENLIScorer, model_name_or_path="bundled"),
    "menli with bertscore": load_combination,
    "torchmetrics InfoLM": load_torchmetrics,
    "bert-score": load_bert_score,
}
OURS = tuple(RUNNERS)[:6]
TYPED = (*OURS, "bert-score")  # metrics that can run in another data type


def save_model(folder: Path) -> Any:
    """Save a float32 copy of the bundled model, and return its tokenizer."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(BUNDLED_FOLDER)
    tokenizer.save_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(BUNDLED_FOLDER, dtype=torch.float32)
    model.save_pretrained(folder)
    return tokenizer


def time_metric(
    name: str, folder: str, pairs: list[Pair], settings: dict[str, Any], count: bool
) -> dict[str, float]:
    """Measure a metric's time and memory on the pairs, and optionally count its operations."""
    score = RUNNERS[name](folder, **settings)
    columns = [list(column) for column in zip(*pairs, strict=True)]
    on_gpu = settings.get("device", "cpu") != "cpu"
    score(*(columns[::-1] if on_gpu else (WARM_UP, WARM_UP[::-1])))  # a GPU loads its kernels
    before = peak_memory()
    seconds = median_seconds(lambda: score(*columns), 5 if on_gpu else 1)
    memory = peak_memory() - before
    onednn = {torch.ops.mkldnn._linear_pointwise: linear_flops}
    with FlopCounterMode(display=False, custom_mapping=onednn) as counter:
        score(*(columns if count else (WARM_UP, WARM_UP)))
    return {"seconds": seconds, "memory": memory, "operations": counter.get_total_flops()}


def linear_flops(rows: Any, weight: Any, *more: Any, **options: Any) -> int:
    """Return the number of operations of a linear layer from the shapes of rows and weight."""
    return 2 * math.prod(rows) * int(weight[0])


def gemm_rate(dtype: str, device: str) -> float:
    """Return the operations per second of a linear layer with a large weight and many rows."""
    size = GEMM_SIZES[device != "cpu"]
    matrix = torch.ones(size, size, dtype=getattr(torch, dtype), device=device)
    return 2 * size**3 / median_seconds(lambda: linear(matrix, matrix, matrix[0])[0, 0].item(), 3)


def measure(
    runs: Mapping[str, tuple[str, str, str]], pairs: list[Pair], arguments: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """Time metrics (name, folder, dtype) alternately, in separate processes.

    Returns medians over --repeats. "of GEMM" is relative to matrix products timed before and after
    the process.
    """
    threads = {"OMP_NUM_THREADS": str(arguments.threads)} if arguments.threads else {}
    results: dict[str, list[dict[str, float]]] = {title: [] for title in runs}
    for repeat in range(arguments.repeats):
        for title, (name, folder, dtype) in runs.items():
            settings = {"device": arguments.device} | ({"dtype": dtype} if name in TYPED else {})
            job = {"name": name, "folder": folder, "pairs": pairs, "settings": settings}
            before = gemm_rate(dtype, arguments.device)
            result = in_process("tools.speed", {**job, "count": repeat == 0}, **threads)
            peak = (before + gemm_rate(dtype, arguments.device)) / 2
            operations = (results[title] or [result])[0]["operations"]
            result["of GEMM"] = operations / result["seconds"] / peak
            results[title].append(result)
    medians = {
        title: {key: statistics.median(result[key] for result in column) for key in column[0]}
        for title, column in results.items()
    }
    return {
        title: {**result, "rate": len(pairs) / result["seconds"]}
        for title, result in medians.items()
    }


def rates(arguments: argparse.Namespace) -> None:
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
            runs = {name: (name, folder, "float32") for name in RUNNERS}
            results = measure(runs, pairs, arguments)
            infolm, peer = results["infolm"], results["torchmetrics InfoLM"]
            cells = [f"{result['rate']:.3g}" for result in results.values()]
            cells.append(f"{infolm['rate'] / peer['rate']:.1f}")
            cells.append(f"{infolm['memory']:.0f} / {peer['memory']:.0f}")
            rows.append([f"bundled, {load}, {len(pairs)} pairs", *cells])
            print(rows[-1], file=sys.stderr, flush=True)
    header = ["model, texts", *RUNNERS, "ours/torchmetrics", "memory, MB"]
    show("Pairs per second", header, rows, arguments.csv)


def peers(arguments: argparse.Namespace) -> None:
    """Print the time and memory of this package's metrics and bert-score on the same pairs."""
    data, count, samples = arguments.data, arguments.pairs, arguments.samples
    loads = {
        f"{count} pairs of distinct texts": distinct_pairs(data, count),
        f"16 systems, {samples} shared references": systems_sharing_references(data, samples),
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder))
        runs = {"bert-score": ("bert-score", folder, "float32")}
        for word in arguments.dtypes:
            names = arguments.metrics if word == "float32" else (*arguments.metrics, "bert-score")
            runs |= {f"{name}, {word}": (name, folder, word) for name in names}
        if arguments.model:
            title = Path(arguments.model).name
            for name in ("baryscore", "bertscore", "menli with bertscore", "bert-score"):
                runs[f"{name}, {title}"] = (name, arguments.model, "float32")
        for load, pairs in loads.items():
            if arguments.only not in load:
                continue
            results = measure(runs, pairs, arguments)
            for name, result in results.items():
                times = result["seconds"] / results["bert-score"]["seconds"]
                cells = [f"{result['rate']:.2f}", f"{result['seconds']:.2f}", f"{times:.2f}"]
                cells += [f"{100 * result['of GEMM']:.0f}%", f"{result['memory']:.0f}"]
                rows.append([load, name, *cells])
    header = ["texts", "metric", "pairs/s", "seconds", "time, bert-score = 1", "of GEMM"]
    on_gpu = arguments.device != "cpu"
    device = torch.cuda.get_device_name(arguments.device) if on_gpu else cpu_name()
    show(f"Comparison with bert-score on {device}", [*header, "memory, MB"], rows, arguments.csv)


def read_columns(arguments: argparse.Namespace) -> list[list[str]]:
    """Return the candidates and references of the first few pairs, without repeated texts."""
    pairs = distinct_pairs(arguments.data, arguments.pairs)
    return [list(column) for column in zip(*pairs, strict=True)]


def sweep(arguments: argparse.Namespace) -> None:
    columns = read_columns(arguments)
    scorer = InfoLMScorer(model_name_or_path="bundled", idf=False, reuse_memory=0)
    scorer.score(WARM_UP, WARM_UP[::-1])
    settings: dict[str, Any] = {"information_measure": [*MEASURES], "alpha": 0.5, "beta": 0.5}
    settings |= {"temperatures": TEMPERATURES, "interpolations": INTERPOLATIONS}
    predictions, references = columns
    base = median_seconds(lambda: scorer.score(predictions, references), arguments.repeats)
    whole = median_seconds(
        lambda: scorer.sweep(predictions, references, **settings), arguments.repeats
    )
    count = len(MEASURES) * len(TEMPERATURES) * len(INTERPOLATIONS)
    row = [arguments.pairs, f"{base:.1f}", f"{whole:.1f}", f"{whole / base:.2f}"]
    header = ["pairs", "1 setting, s", f"{count} settings, s", "ratio"]
    show("Many settings from one pass", header, [row], arguments.csv)


def dtypes(arguments: argparse.Namespace) -> None:
    """Compare scores in several data types on a device with float32 on the CPU."""
    columns, measures, rows = read_columns(arguments), [MEASURES[0], MEASURES[1], MEASURES[4]], []
    infolm = InfoLMScorer(model_name_or_path="bundled", information_measure=measures, idf=False)
    for scorer in (infolm, BaryScorer(model_name_or_path="bundled", idf=False)):
        exact = scorer.score(*columns, device="cpu").columns()
        for dtype in arguments.dtypes:
            result = scorer.score(*columns, device=arguments.device, dtype=dtype).columns()
            for name, column in exact.items():
                x, y = np.asarray(column), np.asarray(result[name])
                cells = [f"{np.abs(x - y).max():.1e}", f"{x.max():.3f}", f"{spearman(x, y):.4f}"]
                rows.append([dtype, name, *cells])
    header = ["dtype", "score", "largest difference", "largest score", "Spearman correlation"]
    show(f"Scores on {arguments.device} and float32 on the CPU", header, rows, arguments.csv)


def profile(arguments: argparse.Namespace) -> None:
    """Print how the time of each metric is divided among groups of operations."""
    columns, rows = read_columns(arguments), []
    for name in arguments.metrics:
        score = RUNNERS[name]("bundled")
        with torch.profiler.profile():  # the first profile takes longer
            score(WARM_UP, WARM_UP[::-1])
        with torch.profiler.profile() as profiler:
            seconds = median_seconds(partial(score, *columns))
        groups: dict[str, float] = dict.fromkeys((*OPERATIONS, "outside torch"), 0.0)
        for event in profiler.key_averages():
            words = (word for word, part in OPERATIONS.items() if re.search(part, event.key))
            groups[next(words)] += event.self_cpu_time_total / 1e6
        groups["outside torch"] = max(seconds - sum(groups.values()), 0.0)
        total = sum(groups.values())
        rows.append([name, *(f"{part / total:.0%}" for part in groups.values())])
    show("Time of groups of operations", ["metric", *groups], rows, arguments.csv)


def evaluations(arguments: argparse.Namespace) -> None:
    """Print the seconds of two evaluations in a training loop, which share their references."""
    predictions, references = read_columns(arguments)
    changed = [" ".join(text.split()[::-1]) for text in predictions]
    options: dict[str, Any] = {"model_name_or_path": "bundled", "device": arguments.device}
    scorers: dict[str, Any] = {
        "InfoLM": InfoLMScorer(**options),
        "InfoLM, one pass": InfoLMScorer(masking="none", **options),
        "BERTScore": BERTScorer(**options),
    }
    rows = []
    for name, scorer in scorers.items():
        scorer.score(WARM_UP, WARM_UP[::-1])
        calls = (partial(scorer.score, texts, references) for texts in (predictions, changed))
        rows.append([name, *(f"{median_seconds(call):.1f}" for call in calls)])
    header = ["metric", "first evaluation, s", "second evaluation, s"]
    show(f"{arguments.pairs} pairs on {cpu_name()}", header, rows, arguments.csv)


TABLES: dict[str, Callable[[argparse.Namespace], None]] = {
    table.__name__: table for table in (rates, peers, sweep, dtypes, profile, evaluations)
}


def main() -> None:
    if run_worker(time_metric):
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("benchmark", choices=TABLES)
    parser.add_argument("data", type=Path, help="JSON Lines file of predictions and references")
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--samples", type=int, default=8, help="number of shared references")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="part of a row title of `rates` or `peers`")
    parser.add_argument(
        "--metrics", nargs="+", choices=OURS, default=OURS, help="for `peers`, `profile`"
    )
    parser.add_argument("--dtypes", nargs="+", default=["float32"], help="for `peers` and `dtypes`")
    parser.add_argument(
        "--device", default="cpu", help="for `rates`, `peers`, `dtypes` and `evaluations`"
    )
    parser.add_argument("--model", help="folder of another encoder for `peers`")
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--csv", type=Path, help="folder to save the tables in")
    arguments = parser.parse_args()
    TABLES[arguments.benchmark](arguments)


if __name__ == "__main__":
    main()
