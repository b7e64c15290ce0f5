"""How fast the metrics are, beside others' and beside what the machine can do; Markdown tables.

    pip install -c requirements.txt -e ".[test,tools]"
    python -m tools.speed rates  webnlg2020.en.jsonl    # by model and length, beside torchmetrics
    python -m tools.speed beside webnlg2020.en.jsonl    # what reads a text once, and BERTScore
    python -m tools.speed sweep  webnlg2020.en.jsonl    # 288 settings from one pass
    python -m tools.speed masks  webnlg2020.en.jsonl    # several masks in one pass
    python -m tools.speed dtypes webnlg2020.en.jsonl    # what half precision does to scores
    python -m tools.speed ranks                         # one process, and ranks of torchrun

The data is JSON Lines with prediction and references. `rates` and `beside` time the same pairs on
the same cores from one float32 copy of the weights; peers have batches of 64. Each runs in a
process of its own, is warmed up on other texts, and loading is not counted. Pairs are the first of
the data whose texts are all distinct, texts of equal lengths made from it, and systems that share
references. "of the machine" is the FLOPs of the call's matrix products, which torch counts, over
its time and the rate of one plain product of that shape. "memory" is how far the timed call raised
the process's peak (Linux). Times are medians of --repeats.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import infolm_metric
from infolm_metric import BaryScorer, InfoLM, InfoLMScorer, MENLIScorer
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
WORDS = "people time year city water school house night river music letter station field winter"
Score = Callable[[list[str], list[str]], Any]
Loader = Callable[[str], Score]


def ours(kind: type, **settings: Any) -> Loader:
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
    "infolm": ours(InfoLMScorer, idf=False),
    "infolm, bfloat16": ours(InfoLMScorer, idf=False, dtype="bfloat16"),
    "infolm, 4 masks a pass": ours(InfoLMScorer, idf=False, masks_per_pass=4),
    "infolm, one pass": ours(InfoLMScorer, idf=False, masks_per_pass=0),
    "baryscore": ours(BaryScorer, idf=False),
    "menli": lambda folder: MENLIScorer(model_name_or_path="bundled", reuse_memory=0).score,
    "torchmetrics InfoLM": load_torchmetrics,
    "BERTScore": load_bertscore,
}
ONCE = ("infolm", "infolm, one pass", "baryscore", "menli", "BERTScore")


def save_model(name: str, folder: Path) -> Path:
    """A float32 copy of the bundled model, or a random model of BERT-base's shape."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer, BertConfig, BertForMaskedLM

    if name == "bundled":
        model = AutoModelForMaskedLM.from_pretrained(BUNDLED, dtype=torch.float32)
    else:
        torch.manual_seed(0)
        model = BertForMaskedLM(BertConfig())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(BUNDLED).save_pretrained(folder)
    return folder


def product_rate(hidden: int, inner: int, tokens: int = 4096) -> float:
    """FLOP/s of a plain float32 product [tokens, hidden] @ [hidden, inner], the best of many."""
    left, right = torch.randn(tokens, hidden), torch.randn(hidden, inner)
    best = min(median_seconds(lambda: torch.mm(left, right)) for _ in range(40))
    return 2 * tokens * hidden * inner / best


def time_one(
    name: str, folder: str, pairs: list[Pair], repeats: int, share: bool = False
) -> dict[str, float]:
    """What one metric needs for the pairs; `share` of the machine's rate."""
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import AutoConfig

    score = RUNNERS[name](folder)
    score(WARM_UP, WARM_UP[::-1])
    before, columns = peak_memory(), [list(column) for column in zip(*pairs, strict=True)]
    seconds = median_seconds(lambda: score(*columns), repeats)
    found = {"seconds": seconds, "rate": len(pairs) / seconds, "memory": peak_memory() - before}
    if share:
        with FlopCounterMode(display=False) as counter:
            score(*columns)
        shape = AutoConfig.from_pretrained(folder)
        machine = product_rate(shape.hidden_size, shape.intermediate_size)
        found["share"] = counter.get_total_flops() / seconds / machine
    return found


def measure(name: str, folder: Path, pairs: list[Pair], given: argparse.Namespace) -> Any:
    """`time_one` in a process of its own."""
    job = {"name": name, "folder": str(folder), "pairs": pairs, "repeats": given.repeats}
    return in_process("tools.speed", {**job, "share": name == "infolm"}, given.threads)


def rates(given: argparse.Namespace) -> None:
    """Pairs a second by model, length of the texts and metric."""
    from transformers import AutoTokenizer

    processor = Path("/proc/cpuinfo").read_text().split()
    native = bool({"avx512_bf16", "amx_bf16"} & set(processor))
    names = [name for name in RUNNERS if native or "bfloat16" not in name]
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for model, most in (("bundled", given.pairs), ("BERT-base shape", given.base_pairs)):
            if given.only.partition(",")[0] not in model:
                continue
            folder = save_model(model, Path(temporary) / model.replace(" ", "-"))
            tokenizer = AutoTokenizer.from_pretrained(folder)
            loads = {"mixed lengths": distinct_pairs(given.data, most)}
            for length, count in ((10, most), (26, most // 2), (100, most // 16)):
                pairs = equal_pairs(given.data, tokenizer, length, max(1, count))
                loads[f"{length} tokens"] = pairs
            for load, pairs in loads.items():
                if given.only not in f"{model}, {load}":
                    continue
                found = {name: measure(name, folder, pairs, given) for name in names}
                us, peer = found["infolm"], found["torchmetrics InfoLM"]
                cells = [f"{each['rate']:.3g}" for each in found.values()]
                cells += [f"{us['rate'] / peer['rate']:.1f}", f"{us['share']:.0%}"]
                cells.append(f"{us['memory']:.0f} / {peer['memory']:.0f}")
                rows.append([f"{model}, {load}, {len(pairs)} pairs", *cells])
                print(rows[-1], file=sys.stderr, flush=True)
    header = ["model, texts", *names, "ours/torchmetrics", "of the machine", "memory, MB"]
    show("Pairs a second", header, rows, given.csv)


def beside(given: argparse.Namespace) -> None:
    """What BERTScore and the metrics that read a text once need for the same pairs."""
    shared = systems_sharing_references(given.data, given.samples)
    loads = {
        f"{given.pairs} pairs of distinct texts": distinct_pairs(given.data, given.pairs),
        f"16 systems, {given.samples} shared references": shared,
    }
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = save_model("bundled", Path(temporary))
        for load, pairs in loads.items():
            found = {name: measure(name, folder, pairs, given) for name in ONCE}
            for name, each in found.items():
                times = each["seconds"] / found["BERTScore"]["seconds"]
                cells = [f"{each['rate']:.2f}", f"{each['seconds']:.1f}", f"{times:.2f}"]
                rows.append([load, name, *cells, f"{each['memory']:.0f}"])
    header = ["texts", "metric", "pairs/s", "seconds", "times BERTScore's", "memory, MB"]
    show("Beside BERTScore", header, rows, given.csv)


def columns_of(given: argparse.Namespace) -> list[list[str]]:
    """The candidates and the references of the first distinct pairs."""
    return [list(side) for side in zip(*distinct_pairs(given.data, given.pairs), strict=True)]


def sweep(given: argparse.Namespace) -> None:
    """What many settings cost beside one score, on the same pairs."""
    columns = columns_of(given)
    scorer = InfoLMScorer(model_name_or_path="bundled", idf=False, reuse_memory=0)
    scorer.score(WARM_UP, WARM_UP[::-1])
    lists = {"temperatures": TEMPERATURES, "interpolations": INTERPOLATIONS}
    every: dict[str, Any] = {"information_measure": [*MEASURES], "alpha": 0.5, "beta": 0.5}
    one = median_seconds(lambda: scorer.score(*columns), given.repeats)
    many = median_seconds(lambda: scorer.sweep(*columns, **lists, **every), given.repeats)
    count = len(MEASURES) * len(TEMPERATURES) * len(INTERPOLATIONS)
    row = [given.pairs, f"{one:.1f}", f"{many:.1f}", f"{many / one:.2f}"]
    header = ["pairs", "one score, s", f"{count} settings, s", "times"]
    show("Many settings from one pass", header, [row], given.csv)


def masks(given: argparse.Namespace) -> None:
    """What several masks in one pass cost in agreement on WebNLG 2020, and save in time."""
    ratings = webnlg(given.data.parent).parts[""]
    if given.only:
        ratings = ratings.select(given.only.split(","))
    texts = list(ratings.predictions), [list(group) for group in ratings.references]
    scorer = InfoLMScorer(
        model_name_or_path="bundled", temperature=1.5, multi_reference="mean", reuse_memory=0
    )
    scorer.score(WARM_UP, WARM_UP[::-1])
    rows, exact, first = [], np.empty(0), 0.0
    for count in (1, 2, 4, 8, 16):
        start = time.perf_counter()
        scores = -np.asarray(scorer.score(*texts, masks_per_pass=count)["scores"])
        seconds = time.perf_counter() - start
        if count == 1:
            exact, first = scores, seconds
        grids = [ratings.grid(each) for each in (exact, scores)]
        agreement = [
            correlation(human, grids[1], coefficient)
            for human in ratings.human.values()
            for coefficient in ("pearson", "spearman", "kendall")
        ]
        orders = spearman(exact, scores), spearman(*(grid.mean(axis=1) for grid in grids))
        cells = [f"{first / seconds:.2f}", *(f"{order:.3f}" for order in orders)]
        rows.append([count, *cells, f"{100 * np.mean(agreement):.1f}"])
    header = ["masks a pass", "speed", "Spearman with exact, texts", "systems"]
    show("Several masks", [*header, "agreement with people"], rows, given.csv)


def dtypes(given: argparse.Namespace) -> None:
    """What half precision does to scores."""
    columns, measures = columns_of(given), [MEASURES[0], MEASURES[1], MEASURES[4]]
    scorer = InfoLMScorer(model_name_or_path="bundled", idf=False, reuse_memory=0)
    exact, half = (
        scorer.score(*columns, information_measure=measures, dtype=dtype)["scores"]
        for dtype in ("float32", "bfloat16")
    )
    rows = []
    for name in measures:
        one, other = np.asarray(exact[name]), np.asarray(half[name])
        far = f"{np.abs(one - other).max():.5f}"
        rows.append([name, far, f"{one.max():.3f}", f"{spearman(one, other):.4f}"])
    header = ["measure", "largest difference", "largest score", "Spearman with float32"]
    show("bfloat16", header, rows, given.csv)


def ranks(given: argparse.Namespace) -> None:
    """One process, then two ranks of torchrun, of one thread each, on texts of 30 tokens."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for count in (1, 2):
        launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(count), "-m"]
        command = [sys.executable, "-m", *launcher, "tools.speed", "rank"]
        subprocess.run([*command, "--pairs", str(given.pairs)], env=environment, check=True)


def rank(given: argparse.Namespace) -> None:
    """What a rank does: scores its share; the first one prints pairs in a second of CPU time."""
    import torch.distributed as dist

    dist.init_process_group("gloo")
    number, count = dist.get_rank(), dist.get_world_size()
    draw, words = random.Random(number), WORDS.split()
    texts = [" ".join(draw.choices(words, k=28)) for _ in range(2 * given.pairs // count)]
    metric = InfoLM(model_name_or_path="bundled", idf=False, reuse_memory=0)
    metric.compute(predictions=["warm up"], references=["warm up"], ranks="share")
    began, busy = time.perf_counter(), time.process_time()
    metric.compute(predictions=texts[::2], references=texts[1::2], ranks="share")
    spent = [0.0] * count
    dist.all_gather_object(spent, time.process_time() - busy)
    seconds, pairs = time.perf_counter() - began, len(texts) // 2 * count
    if number == 0:
        line = {"ranks": count, "rate": pairs / seconds, "cpu_rate": pairs / max(spent)}
        print(json.dumps({name: round(value, 2) for name, value in line.items()}), flush=True)
    dist.destroy_process_group()


WHAT: dict[str, Callable[[argparse.Namespace], None]] = {
    each.__name__: each for each in (rates, beside, sweep, masks, dtypes, ranks, rank)
}


def main() -> None:
    """Measure one thing, or one metric as the worker of such a measurement."""
    if of_a_worker(time_one):
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("data", type=Path, nargs="?", help="JSON Lines: prediction, references")
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--base-pairs", type=int, default=8, help="those of BERT-base shape")
    parser.add_argument(
        "--samples", type=int, default=8, help="that systems share; masks: 0 is all"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="rows, or ids of samples for `masks`")
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--csv", type=Path, help="folder for the tables' rows")
    given = parser.parse_args()
    WHAT[given.what](given)


if __name__ == "__main__":
    main()
