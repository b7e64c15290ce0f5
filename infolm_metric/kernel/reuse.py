"""What is kept of texts that come again, within a bound of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable

import torch
from torch import Tensor


class Store:
    """Tensors by key, the longest unused dropped beyond `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._kept: OrderedDict[Hashable, Tensor] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> Tensor | None:
        """What is kept under `key`, or None."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def stacked(self, keys: Iterable[Hashable]) -> Tensor | None:
        """What is kept under several keys as one tensor, or None if one of them is missing."""
        found = [self.get(key) for key in keys]
        kept = [value for value in found if value is not None]
        return torch.stack(kept) if len(kept) == len(found) else None

    def put(self, key: Hashable, value: Tensor) -> None:
        """Keep a value as long as there is room; it counts as used just now."""
        if self.get(key) is None and value.nbytes <= self.limit:
            # A copy: a view would keep more alive than is counted, and what was made in the midst
            # of a pass would keep the memory around it from being given back.
            self._kept[key] = value.clone()
            self.size += value.nbytes
            self.shrink(self.limit)

    def shrink(self, limit: int) -> None:
        """Set the limit and drop what exceeds it."""
        self.limit = limit
        while self.size > limit:
            _, dropped = self._kept.popitem(last=False)
            self.size -= dropped.nbytes
