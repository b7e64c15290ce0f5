"""The settings of menli as typed keywords; made by `python -m tests.docs.generated`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from infolm_metric.kernel.baselines import Baseline
    from infolm_metric.kernel.settings import Settings


class Keywords(TypedDict, total=False):
    """What can be given to the scorer, to its methods and to `compute`."""

    formula: str | Sequence[str]
    direction: str
    multi_reference: str
    combine_with: str | Settings | None
    nli_weight: float | None
    combine_baseline: str | os.PathLike[str] | Baseline | None
    labels: str | Sequence[str] | None
    probabilities: bool
    max_length: int | None
    long_text: str
    model_name_or_path: str | os.PathLike[str] | None
    model_revision: str | None
    batch_size: int | str
    device: str | None
    dtype: str
    tokenize_processes: int | None
    reuse_memory: int
    return_scores: bool
    rescale_with_baseline: bool | str | os.PathLike[str] | Baseline
    verbose: bool
