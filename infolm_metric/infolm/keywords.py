"""The settings of infolm as typed keywords; made by `python -m tests.docs.generated`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from infolm_metric.kernel.baselines import Baseline
    from infolm_metric.kernel.idf.table import IDF


class Keywords(TypedDict, total=False):
    """What can be given to the scorer, to its methods and to `compute`."""

    information_measure: str | Sequence[str]
    alpha: float | None
    beta: float | None
    symmetrize: str
    temperature: float
    idf: bool | str | os.PathLike[str] | IDF
    multi_reference: str
    interpolation: float
    masks_per_pass: int
    model_name_or_path: str | os.PathLike[str] | None
    model_revision: str | None
    max_length: int | None
    long_text: str
    batch_size: int | str
    device: str | None
    dtype: str
    tokenize_processes: int | None
    reuse_memory: int
    return_scores: bool
    rescale_with_baseline: bool | str | os.PathLike[str] | Baseline
    verbose: bool
