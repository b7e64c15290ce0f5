"""Metrics for torchmetrics, Lightning and custom training loops on any number of ranks."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor

from infolm_metric.core.inputs import Pairs, check_pairs
from infolm_metric.integrations import require
from infolm_metric.metrics import find
from infolm_metric.scoring.distributed import distributed_score
from infolm_metric.scoring.scorer import Scorer

with require("torchmetrics"):
    import torchmetrics


class TextMetric(torchmetrics.Metric):
    """Metric that collects pairs of texts in `update`, and scores them on all ranks in `compute`.

    Texts stay on their rank. Ranks exchange only document counts and scores. The state `pairs` is a
    list with one tensor per batch, which torchmetrics can merge, save and share.

    The keyword arguments are settings of the metric. As in torchmetrics, `model_name_or_path` can
    be passed positionally. `process_group` contains the participating ranks (default: all). Raises
    InputError if a setting is unknown or invalid.
    """

    scorer_type: ClassVar[type[Scorer[Any]]]
    is_differentiable = False
    full_state_update = False

    def __init_subclass__(cls, metric: str | None = None) -> None:
        if metric:
            cls.scorer_type = find(metric).scorer_type()
            cls.higher_is_better = cls.scorer_type.higher_is_better

    def __init__(
        self,
        model_name_or_path: str | os.PathLike[str] | None = None,
        *,
        process_group: dist.ProcessGroup | None = None,
        **settings: object,
    ) -> None:
        # distributed_score synchronizes the ranks, so all ranks must call it, even if a rank has
        # already computed its result.
        super().__init__(
            process_group=process_group, sync_on_compute=False, compute_with_cache=False
        )
        if model_name_or_path is not None:
            settings["model_name_or_path"] = model_name_or_path
        self.scorer = self.scorer_type(**settings)
        self.pairs: list[Tensor]
        self.add_state("pairs", [], dist_reduce_fx="cat")

    def update(self, preds: object, target: object) -> None:
        """Store pairs for `compute`.

        `preds` is a list of candidates, possibly empty. `target` contains a reference or a list of
        references for each candidate. Raises InputError if an argument is invalid.
        """
        if pairs := check_pairs(preds, target, allow_empty=True):
            # A new list, because loaded checkpoints and `Running` share the old one.
            self.pairs = [*self.pairs, encode(pairs)]

    def compute(self) -> Tensor | dict[str, Tensor]:
        """Return the mean score over all pairs on all ranks since the last `reset`.

        The result is a float tensor, or a dictionary from score names to tensors if the settings
        request several scores. Raises InputError or RuntimeError as `distributed_score`
        does, and OSError if the model cannot be found.
        """
        predictions, references = decode(self.pairs)
        result = distributed_score(self.scorer, predictions, references, group=self.process_group)
        assert result is not None
        return self._tensors({name: result.mean(name) for name in result.scores})

    def forward(self, preds: object, target: object) -> Tensor | dict[str, Tensor]:
        """Store pairs for `compute`, and return the mean score of only these pairs.

        The score of an empty batch is NaN, as in torchmetrics. If an error is raised, nothing is
        stored.
        """
        if check_pairs(preds, target, allow_empty=True):
            result = self.scorer.score(preds, target)
            means = {name: result.mean(name) for name in result.scores}
        else:
            means = dict.fromkeys(self.scorer.settings.names, math.nan)
        self.update(preds, target)
        self._forward_cache: Any = self._tensors(means)  # Lightning logs it in every step
        return self._forward_cache

    def reset(self) -> None:
        """Delete the stored pairs. Keep the model."""
        self.pairs = []  # a new list, because torchmetrics clears the old one, which `Running` uses
        super().reset()

    def plot(self, *arguments: object, **options: object) -> Any:
        """Raise NotImplementedError, because there are no plots."""
        raise NotImplementedError("there are no plots. Plot the values that compute() returns.")

    def _sync_dist(self, *arguments: object, **options: object) -> None:
        """Do nothing, because `compute` gathers the scores of all ranks."""

    def _tensors(self, means: Mapping[str, float]) -> Tensor | dict[str, Tensor]:
        tensors = {name: torch.tensor(mean, device=self.device) for name, mean in means.items()}
        return tensors if self.scorer.settings.several else next(iter(tensors.values()))


def encode(pairs: Pairs) -> Tensor:
    """Encode pairs as lines of JSON, uint8 [bytes]."""
    rows = zip(pairs.predictions, pairs.all_references, strict=True)
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    return torch.tensor(list(lines.encode()), dtype=torch.uint8, device="cpu")


def decode(batches: Iterable[Tensor]) -> tuple[list[str], list[list[str]]]:
    """Decode batches (tensors of any dtype) into predictions and references.

    >>> decode([encode(Pairs(["A cat."], [["The cat.", "One cat."]]))])
    (['A cat.'], [['The cat.', 'One cat.']])
    """
    lines = b"".join(bytes(batch.byte().tolist()) for batch in batches).splitlines()
    pairs = [json.loads(line) for line in lines]
    return [prediction for prediction, _ in pairs], [references for _, references in pairs]


class InfoLM(TextMetric, metric="infolm"):
    """InfoLM with the settings of `InfoLMSettings`. Lower is better.

    >>> metric = InfoLM(model_name_or_path="bundled", idf=False)
    >>> metric.update(["The cat sat on the mat."], ["The cat sat on the mat."])
    >>> metric.compute()
    tensor(0.)
    """


class BaryScore(TextMetric, metric="baryscore"):
    """BaryScore with the settings of `BaryScoreSettings`. Lower is better."""


class BERTScore(TextMetric, metric="bertscore"):
    """BERTScore with the settings of `BERTScoreSettings`. Higher is better."""


class MENLI(TextMetric, metric="menli"):
    """MENLI with the settings of `MENLISettings`. Higher is better."""
