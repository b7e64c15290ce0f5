"""Where the metric's model goes if nobody says: beside the trainer if there is room."""

from __future__ import annotations

import torch

# Beyond its weights a scorer holds a batch of activations and logits, and the distributions that
# it keeps; below this it would compete with a trainer that is about to allocate.
WORKING_MEMORY = 2 << 30  # bytes
# Share of a GPU's memory that stays free for whoever else is at work there.
HEADROOM = 0.1


def has_room(weights: int, free: int, total: int) -> bool:
    """True if a GPU with `free` of `total` bytes can take a model of `weights` bytes.

    >>> has_room(weights=440 << 20, free=8 << 30, total=16 << 30)
    True
    >>> has_room(weights=440 << 20, free=3 << 30, total=16 << 30)  # a trainer fills the rest
    False
    """
    return weights + WORKING_MEMORY + HEADROOM * total <= free


def choose_device(weights: int) -> torch.device:
    """The current GPU if it has room for a model of `weights` bytes, else the CPU.

    The current GPU is the one that accelerate and torchrun scripts give each rank. Memory that
    PyTorch has reserved for a trainer counts as taken, for its next step will want it.

    >>> isinstance(choose_device(440 << 20), torch.device)
    True
    """
    if not torch.cuda.is_available():
        return torch.device("cpu")
    free, total = torch.cuda.mem_get_info()
    if has_room(weights, free, total):
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")
