"""What InfoLM's model says of a text, kept on disk for study_scores.py."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable
from pathlib import Path

import numpy as np
import torch

from infolm_metric.infolm.distributions import Distributions
from infolm_metric.kernel.reuse import Store

ROOM = 8 * 10**9  # bytes


class DiskStore(Store):
    """What a model says of a text, float32 on disk, by the content of the key."""

    def __init__(self, folder: Path, signature: str) -> None:
        super().__init__(ROOM)
        self.folder, self.signature = folder, signature
        folder.mkdir(parents=True, exist_ok=True)
        self.size = sum(file.stat().st_size for file in os.scandir(folder))

    def get(self, key: Hashable) -> torch.Tensor | None:
        path = self._path(key)
        return torch.from_numpy(np.load(path)).double() if path.exists() else None

    def put(self, key: Hashable, value: torch.Tensor) -> None:
        path = self._path(key)
        if not path.exists() and self.size + 4 * value.numel() <= self.limit:
            part = path.with_suffix(".part.npy")
            np.save(part, value.float().numpy())
            part.replace(path)  # whole or not there
            self.size += 4 * value.numel()

    def shrink(self, limit: int) -> None:
        """Nothing: what is kept here is not bound by the memory that the settings allow."""

    def _path(self, key: Hashable) -> Path:
        name = hashlib.sha256(repr((self.signature, key)).encode()).hexdigest()[:32]
        return self.folder / f"{name}.npy"


class KeptDistributions(Distributions):
    """Distributions whose store is a folder, for the model that a signature names."""

    def __init__(self, folder: Path, signature: str) -> None:
        super().__init__()
        self.folder, self.signature = folder, signature

    def unload(self) -> None:
        super().unload()
        self._store = DiskStore(self.folder, self.signature)
