"""The metrics as torchmetrics, for Lightning and for loops of one's own, on any number of ranks."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor

from infolm_metric.baryscore.scorer import BaryScorer
from infolm_metric.core.distributed import distributed_score
from infolm_metric.core.inputs import check_pairs
from infolm_metric.core.results import Result
from infolm_metric.core.scorer import Scorer
from infolm_metric.infolm.scorer import InfoLMScorer
from infolm_metric.integrations import needed
from infolm_metric.menli.scorer import MENLIScorer

with needed("torchmetrics"):
    import torchmetrics


class TextMetric(torchmetrics.Metric):
    """Keeps texts, and scores them together in `compute`, on all ranks that `compute` is called on.

    Texts stay on their rank: ranks exchange counts of documents and scores.

    Args:
        process_group: the ranks that take part (default: all).
        **settings: those of the metric.

    Raises:
        TypeError, ValueError: a setting is unknown or wrong; no model is loaded yet.
    """

    scorer_type: ClassVar[type[Scorer]]
    is_differentiable = False
    full_state_update = False

    def __init__(self, process_group: dist.ProcessGroup | None = None, **settings: Any) -> None:
        # distributed_score syncs; every compute calls it, so that no rank waits for a cached one.
        super().__init__(
            process_group=process_group, sync_on_compute=False, compute_with_cache=False
        )
        self.scorer = self.scorer_type(**settings)
        self.preds: list[str] = []
        self.target: list[Any] = []

    def update(self, preds: Any, target: Any) -> None:
        """Keep pairs for `compute`.

        Args:
            preds: a list of strings, possibly empty.
            target: for each its reference, or a list of its references.

        Raises:
            TypeError, ValueError: an argument is wrong.
        """
        pairs = check_pairs(preds, target, allow_empty=True)
        self.preds += pairs.predictions
        self.target += pairs.references

    def compute(self) -> Tensor | dict[str, Tensor]:
        """The mean score of all pairs since `reset`, those of all ranks.

        Returns:
            A float tensor, or a dictionary of them by name where settings ask for a list of scores.

        Raises:
            TypeError, ValueError, RuntimeError: as for `distributed_score`.
            OSError: the model cannot be found.
        """
        result = distributed_score(self.scorer, self.preds, self.target, group=self.process_group)
        assert result is not None
        return self._mean(result)

    def forward(self, preds: Any, target: Any) -> Tensor | dict[str, Tensor]:
        """Keep pairs for `compute`, and score them by themselves, on this rank alone.

        Args:
            preds: as for `update`.
            target: likewise.

        Returns:
            As of `compute`.
        """
        self.update(preds, target)
        score = self._mean(self.scorer.score(preds, target))
        self._forward_cache: Any = score  # what Lightning logs on a step
        return score

    def reset(self) -> None:
        """Forget the pairs; the model is kept."""
        super().reset()
        self.preds, self.target = [], []

    def _mean(self, result: Result) -> Tensor | dict[str, Tensor]:
        means = {
            name: torch.tensor(result.mean(name), device=self.device) for name in result.scores
        }
        return means if result.several else next(iter(means.values()))


class InfoLM(TextMetric):
    """InfoLM; lower is better. Settings are those of `InfoLMSettings`.

    >>> metric = InfoLM(model_name_or_path="bundled", idf=False)
    >>> metric.update(["The cat sat on the mat."], ["The cat sat on the mat."])
    >>> metric.compute()
    tensor(0.)
    """

    scorer_type = InfoLMScorer
    higher_is_better = InfoLMScorer.higher_is_better


class BaryScore(TextMetric):
    """BaryScore; lower is better. Settings are those of `BaryScoreSettings`."""

    scorer_type = BaryScorer
    higher_is_better = BaryScorer.higher_is_better


class MENLI(TextMetric):
    """MENLI; higher is better. Settings are those of `MENLISettings`."""

    scorer_type = MENLIScorer
    higher_is_better = MENLIScorer.higher_is_better
