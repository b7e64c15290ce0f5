"""The settings of metrics that read texts with a model."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import Any, ClassVar

from infolm_metric.kernel import checks
from infolm_metric.kernel.checks import (
    BUNDLED,
    idf_source,
    natural_number,
    one_of,
    optional,
    text,
    whole_number,
)
from infolm_metric.kernel.settings import Own, Settings, choice

LONG_TEXT = ("truncate", "window", "error")
MULTI_REFERENCE = ("min", "mean")
REUSED_BYTES = 1 << 30
MODEL_HELP = (
    "the model: a folder, a name on the Hub, or 'bundled', the small English one that needs no "
    "network (default: ${model_variable}, else {default_model})"
)


@dataclass(frozen=True)
class ModelSettings(Settings):
    """The settings of metrics that read texts with a model.

    What the environment says is read here, once: a value never means two models.
    """

    default_model: ClassVar[str] = ""
    model_variable: ClassVar[str] = "INFOLM_MODEL"

    model_name_or_path: str = choice(
        None, optional(text), MODEL_HELP, "--model", given="str | os.PathLike[str] | None"
    )
    model_revision: str | None = choice(
        None, optional(text), "branch, tag or commit of a model on the Hub", "--revision"
    )
    max_length: int | None = choice(
        None,
        optional(whole_number),
        "tokens of the longest text, special ones included (default: what the model allows)",
        "--max-length",
    )
    long_text: str = choice(
        "truncate",
        one_of(LONG_TEXT),
        "what to do with longer texts: truncate (default), window or error",
        "--long-text",
    )
    batch_size: int | str = choice(
        "auto", checks.batch_size, "rows in one forward pass (default: auto)", "--batch-size"
    )
    device: str | None = choice(
        None,
        optional(checks.device_name),
        "cpu, cuda, cuda:1 ... (default: a GPU that has room)",
        "--device",
    )
    dtype: str = choice(
        "float32", checks.dtype_name, "float32 (default), bfloat16 or float16", "--dtype"
    )
    tokenize_processes: int | None = choice(
        None, optional(whole_number), "processes that tokenise a large corpus", "--processes"
    )
    reuse_memory: int = choice(
        REUSED_BYTES, natural_number, "bytes kept of texts that come again (default: 1 GiB)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        name = self.model_name_or_path or os.environ.get(self.model_variable) or self.default_model
        path = os.path.expanduser(name)
        if name != BUNDLED and os.path.isdir(path):
            name = os.path.abspath(path)  # workers have other working folders
        object.__setattr__(self, "model_name_or_path", name)

    def reading(self: Own, *own: str) -> Own:
        """The defaults, but for what a model reads texts by: equal where one reading serves.

        `own` are the metric's own settings that it reads by, too.
        """
        made_of_it = ("return_scores", "rescale_with_baseline")
        names = [each.name for each in dataclasses.fields(ModelSettings)]
        kept = {*names, *own}.difference(made_of_it)
        return type(self)(**{name: getattr(self, name) for name in kept})


def idf_choice() -> Any:
    """The field `idf` of a metric that weighs tokens by inverse document frequencies."""
    return choice(
        "references",
        idf_source,
        "what weighs the tokens: references (default), separate (each side by its own texts), "
        "none (all alike), bundled (a table of English prose, for models with the bundled one's "
        "vocabulary), or the path of a table saved by infolm idf",
        "--idf",
        given="bool | str | os.PathLike[str] | IDF",
        signed=True,
    )


def multi_reference_choice() -> Any:
    """The field `multi_reference` of a metric whose score is lower where texts are closer."""
    return choice(
        "min",
        one_of(MULTI_REFERENCE),
        "score of several references: their min (default) or mean",
        "--multi-reference",
        signed=True,
    )
