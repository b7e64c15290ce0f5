"""How fast InfoLM is here, beside its peers and beside what the machine can do.

    pip install -c requirements.txt -e ".[test,tools]"
    python tests/benchmarks/speed.py webnlg2020.en.jsonl -o speed

The data is JSON Lines with "prediction" and "references". Timed are the same pairs on the same
cores from one float32 copy of the weights: this package (InfoLM in float32, in bfloat16, with four
masks a pass and with none, and BaryScore), torchmetrics' InfoLM and BERTScore, the last two with
batches of 64. Each runs in a process of its own, is warmed up on other texts, and loading is not
counted. Pairs are the first of the data whose texts are all distinct (mixed lengths), and texts of
equal lengths made from it. The table and the plot are written to the folder: pairs a second, and
memory as infolm / torchmetrics. A second table has more and more pairs, and systems that share
references, without torchmetrics, which would take long.

"of the machine" is the rate at which the encoder's matrix products were worked off, everything else
the encoder does included, divided by the rate of one plain product of that shape. FLOPs are counted
by torch. "memory" is how far the timed call raised the process's peak, which Linux tells. With
--repeats, times are medians of so many calls.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

PEER_BATCH = 64
WARM_UP = ["One sentence to warm up with.", "Another, which is a little longer than the first one."]
Score = Callable[[list[str], list[str]], Any]


def load_ours(folder: str, **settings: Any) -> Score:
    from infolm_metric import InfoLMScorer

    scorer = InfoLMScorer(model_name_or_path=folder, idf=False, reuse_memory=0, **settings)
    return scorer.score


def load_baryscore(folder: str) -> Score:
    from infolm_metric import BaryScorer

    return BaryScorer(model_name_or_path=folder, idf=False, reuse_memory=0).score


def load_torchmetrics(folder: str) -> Score:
    from torchmetrics.text.infolm import InfoLM

    metric = InfoLM(
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
    from bert_score import BERTScorer
    from transformers import AutoConfig

    layers = AutoConfig.from_pretrained(folder).num_hidden_layers
    scorer = BERTScorer(model_type=folder, num_layers=layers, batch_size=PEER_BATCH, device="cpu")
    return scorer.score


RUNNERS: dict[str, Callable[[str], Score]] = {
    "infolm": load_ours,
    "infolm, bfloat16": lambda folder: load_ours(folder, dtype="bfloat16"),
    "infolm, 4 masks a pass": lambda folder: load_ours(folder, masks_per_pass=4),
    "infolm, nothing masked": lambda folder: load_ours(folder, masks_per_pass=0),
    "baryscore": load_baryscore,
    "torchmetrics InfoLM": load_torchmetrics,
    "BERTScore": load_bertscore,
}
COMPARED_AT_LENGTH = ("infolm", "infolm, nothing masked", "baryscore", "BERTScore")


@dataclass(frozen=True)
class Workload:
    """Pairs to score, under a name."""

    name: str
    pairs: list[tuple[str, str]]


def read_pairs(data: Path) -> list[tuple[str, str]]:
    """(prediction, reference) of each row that has a prediction, by its first reference, and on."""
    with data.open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["prediction"]]
    most = max(len(row["references"]) for row in rows)
    return [
        (row["prediction"], row["references"][place])
        for place in range(most)
        for row in rows
        if place < len(row["references"])
    ]


def distinct_pairs(data: Path, count: int) -> list[tuple[str, str]]:
    """The first pairs (prediction, reference) of the data whose texts are all distinct."""
    pairs: list[tuple[str, str]] = []
    seen: set[str] = set()
    for pair in read_pairs(data):
        if len({*pair} - seen) == 2 and len(pairs) < count:
            seen |= {*pair}
            pairs.append(pair)
    if len(pairs) < count:
        raise SystemExit(f"{data} has {len(pairs)} pairs of distinct texts, and {count} are asked")
    return pairs


def equal_pairs(data: Path, tokenizer: Any, length: int, count: int) -> list[tuple[str, str]]:
    """Distinct pairs of texts of exactly `length` tokens, special ones included."""
    running = " ".join(dict.fromkeys(prediction for prediction, _ in read_pairs(data)))
    ids = tokenizer(running, add_special_tokens=False, verbose=False)["input_ids"]
    found: dict[str, None] = {}
    for start in range(0, len(ids), length):
        text = tokenizer.decode(ids[start : start + length - 2])
        if len(tokenizer(text)["input_ids"]) == length:
            found[text] = None
        if len(found) == 2 * count:
            break
    texts = list(found)
    return list(zip(texts[::2], texts[1::2], strict=True))


def save_model(name: str, folder: Path) -> Path:
    """A float32 copy of the bundled model, or a random model of BERT-base's shape."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer, BertConfig, BertForMaskedLM

    import infolm_metric

    source = Path(infolm_metric.__file__).parent / "bundled"
    if name == "bundled":
        model = AutoModelForMaskedLM.from_pretrained(source, dtype=torch.float32)
    else:
        torch.manual_seed(0)
        model = BertForMaskedLM(BertConfig())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return folder


def product_rate(hidden: int, inner: int, tokens: int = 4096) -> float:
    """FLOP/s of a plain float32 product [tokens, hidden] @ [hidden, inner], the best of many."""
    left, right = torch.randn(tokens, hidden), torch.randn(hidden, inner)
    out = torch.empty(tokens, inner)
    best = float("inf")
    for _ in range(40):
        start = time.perf_counter()
        torch.mm(left, right, out=out)
        best = min(best, time.perf_counter() - start)
    return 2 * tokens * hidden * inner / best


def encoder_rate(score: Score, pairs: list[tuple[str, str]]) -> float:
    """FLOP/s of the encoder's matrix products over all the time the encoder takes."""
    from torch.utils.flop_counter import FlopCounterMode

    from infolm_metric.infolm.fast_encoders import MaskedEncoder

    forward, spent, counted = MaskedEncoder.forward, [0.0], [0]

    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        result = forward(self, *args, **kwargs)
        spent[0] += time.perf_counter() - start
        return result

    def counting(self: Any, *args: Any, **kwargs: Any) -> Any:
        with FlopCounterMode(display=False) as counter:
            result = forward(self, *args, **kwargs)
        counted[0] += counter.get_total_flops()
        return result

    columns = [list(column) for column in zip(*pairs, strict=True)]
    for replacement in (timed, counting):
        MaskedEncoder.forward = replacement
        try:
            score(*columns)
        finally:
            MaskedEncoder.forward = forward
    return counted[0] / spent[0]


def peak_memory() -> float:
    """The largest resident size of this process, MB: getrusage counts its parent's, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def run_one(
    name: str, folder: str, pairs: list[tuple[str, str]], with_share: bool, repeats: int
) -> dict[str, float]:
    """What one implementation needs for the pairs; `with_share` of the machine's rate."""
    score = RUNNERS[name](folder)
    score(WARM_UP, WARM_UP[::-1])
    before = peak_memory()
    spent = []
    for _ in range(repeats):
        start = time.perf_counter()
        score(*(list(column) for column in zip(*pairs, strict=True)))
        spent.append(time.perf_counter() - start)
    found = {"seconds": statistics.median(spent), "megabytes": peak_memory() - before}
    if with_share:
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(folder)
        machine = product_rate(config.hidden_size, config.intermediate_size)
        found["machine"] = machine
        found["share"] = encoder_rate(score, pairs) / machine
    return found


def measure(
    name: str,
    folder: Path,
    pairs: list[tuple[str, str]],
    args: argparse.Namespace,
    with_share: bool = False,
) -> dict:
    """`run_one` in a process of its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        job = {"name": name, "folder": str(folder), "pairs": pairs, "with_share": with_share}
        json.dump(job | {"repeats": args.repeats, "threads": args.threads}, file)
        file.flush()
        command = [sys.executable, __file__, "--one", file.name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def has_bfloat16() -> bool:
    """True if this processor multiplies bfloat16 in hardware."""
    return bool({"avx512_bf16", "amx_bf16"} & set(Path("/proc/cpuinfo").read_text().split()))


def run_all(args: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each model, workload and implementation."""
    from transformers import AutoTokenizer

    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for model, most in (("bundled", args.pairs), ("BERT-base shape", args.base_pairs)):
            folder = save_model(model, Path(temporary) / model.replace(" ", "-"))
            tokenizer = AutoTokenizer.from_pretrained(folder)
            loads = [Workload("mixed lengths", distinct_pairs(args.data, most))]
            loads += [
                Workload(f"{length} tokens", equal_pairs(args.data, tokenizer, length, count))
                for length, count in (
                    (10, most),
                    (26, max(2, most // 2)),
                    (100, max(1, most // 16)),
                )
            ]
            for load in loads:
                if args.only not in f"{model}, {load.name}":
                    continue
                rate: dict[str, float] = {}
                for name in RUNNERS:
                    if name == "infolm, bfloat16" and not has_bfloat16():
                        continue
                    found = measure(name, folder, load.pairs, args, name == "infolm")
                    rate[name] = len(load.pairs) / found["seconds"]
                    rows.append({"model": model, "workload": load.name, "pairs": len(load.pairs)})
                    rows[-1] |= {"implementation": name, "pairs_per_second": rate[name]} | found
                    print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
                peer = rate["torchmetrics InfoLM"]
                for row in rows[-len(rate) :]:
                    row["ratio"] = row["pairs_per_second"] / peer
        folder = Path(temporary) / "bundled"
        if args.only in "bundled, growth":
            rows += growth(args, folder)
        if args.only in "bundled, shared references":
            rows += shared_references(args, folder)
    return rows


def growth(args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """More and more pairs."""
    loads = [Workload("growth", distinct_pairs(args.data, count)) for count in args.growth]
    return [row for load in loads for row in few_compared(load, folder, args)]


def few_compared(load: Workload, folder: Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each of COMPARED_AT_LENGTH."""
    rows = []
    for name in COMPARED_AT_LENGTH:
        found = measure(name, folder, load.pairs, args)
        rate = len(load.pairs) / found["seconds"]
        rows.append({"model": "bundled", "workload": load.name, "pairs": len(load.pairs)} | found)
        rows[-1] |= {"implementation": name, "pairs_per_second": rate}
    return rows


def shared_references(args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """16 systems against shared references, and the same pairs with every text made distinct."""
    by_sample: dict[str, list[tuple[str, str]]] = {}
    with args.data.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["prediction"] and not row.get("is_human"):
                pair = row["prediction"], row["references"][0]
                by_sample.setdefault(row["id"], []).append(pair)
    samples = [found[:16] for found in by_sample.values() if len(found) >= 16][: args.samples]
    shared = [pair for sample in samples for pair in sample]
    seen: set[str] = set()

    def own(text: str) -> str:
        """The text, or its words in another order that was not there yet."""
        words = text.split()
        for turn in range(len(words)):
            turned = " ".join(words[turn:] + words[:turn])
            if turned not in seen:
                seen.add(turned)
                return turned
        seen.add(text + " again" * len(seen))
        return text + " again" * len(seen)

    distinct = [(own(candidate), own(reference)) for candidate, reference in shared]
    loads = [Workload("shared references", shared), Workload("all texts distinct", distinct)]
    return [row for load in loads for row in few_compared(load, folder, args)]


def write_table(rows: list[dict[str, Any]], file: Path) -> str:
    """The rows as tables in Markdown, also written to the file: side by side, then ours alone."""
    names = [name for name in RUNNERS if any(row["implementation"] == name for row in rows)]
    lines = [
        f"| model, texts | {' | '.join(names)} | ours/torchmetrics | of the machine | memory, MB |",
        "|---|" + "---:|" * (len(names) + 3),
    ]
    alone = ["| texts | metric | pairs/s | seconds | memory, MB |", "|---|---|---:|---:|---:|"]
    loads: dict[tuple[str, str, int], dict[str, dict[str, Any]]] = {}
    for row in rows:
        key = row["model"], row["workload"], row["pairs"]
        loads.setdefault(key, {})[row["implementation"]] = row
    for (model, workload, pairs), found in loads.items():
        label = f"{model}, {workload}, {pairs} pairs"
        if "torchmetrics InfoLM" not in found:
            alone += [
                f"| {label} | {name} | {each['pairs_per_second']:.2f} | {each['seconds']:.1f} "
                f"| {each['megabytes']:.0f} |"
                for name, each in found.items()
            ]
            continue
        ours = found["infolm"]
        rates = " | ".join(f"{found[name]['pairs_per_second']:.3g}" for name in names)
        memory = f"{ours['megabytes']:.0f} / {found['torchmetrics InfoLM']['megabytes']:.0f}"
        lines.append(
            f"| {label} | {rates} | {ours['ratio']:.1f} | {100 * ours['share']:.0f}% | {memory} |"
        )
    table = "\n".join([*lines, "", *alone] if len(alone) > 2 else lines) + "\n"
    file.write_text(table, encoding="utf-8")
    return table


def draw(rows: list[dict[str, Any]], file: Path) -> None:
    """Pairs a second by length of the texts, for each implementation and model."""
    import matplotlib.pyplot as plt

    models = list(dict.fromkeys(row["model"] for row in rows))
    size = (5 * len(models), 3.6)
    figure, (axes,) = plt.subplots(1, len(models), figsize=size, sharey=True, squeeze=False)
    for axis, model in zip(axes, models, strict=True):
        for name in RUNNERS:
            points = [
                (int(row["workload"].split()[0]), row["pairs_per_second"])
                for row in rows
                if row["model"] == model
                and row["implementation"] == name
                and row["workload"].endswith(" tokens")
            ]
            if points:
                axis.loglog(*zip(*points, strict=True), marker="o", label=name)
        axis.set(title=model, xlabel="tokens of a text")
        axis.grid(True, which="both", alpha=0.3)
    axes[0].set_ylabel("pairs a second")
    axes[-1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?", help="JSON Lines: prediction, references")
    parser.add_argument("-o", "--output", type=Path, default=Path("speed"), help="folder")
    parser.add_argument("--pairs", type=int, default=64, help="of mixed lengths, bundled model")
    parser.add_argument("--base-pairs", type=int, default=16, help="the same, BERT-base shape")
    parser.add_argument("--growth", type=int, nargs="+", default=[16, 64, 256], metavar="PAIRS")
    parser.add_argument("--samples", type=int, default=8, help="that 16 systems share")
    parser.add_argument("--repeats", type=int, default=1, help="calls, whose median time counts")
    parser.add_argument("--only", default="", help="only rows such as 'BERT-base shape, mixed'")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        job = json.loads(args.one.read_text())
        torch.set_num_threads(job["threads"])
        pairs = [(candidate, reference) for candidate, reference in job["pairs"]]
        print(
            json.dumps(
                run_one(job["name"], job["folder"], pairs, job["with_share"], job["repeats"])
            )
        )
        return
    if args.data is None:
        parser.error("name the data: JSON Lines with prediction and references")
    args.output.mkdir(parents=True, exist_ok=True)
    rows = run_all(args)
    (args.output / "speed.json").write_text(json.dumps(rows, indent=1))
    print(write_table(rows, args.output / "speed.md"))
    if any(row["workload"].endswith(" tokens") for row in rows):
        draw(rows, args.output / "speed.png")


if __name__ == "__main__":
    main()
