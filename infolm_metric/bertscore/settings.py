"""Settings of BERTScore, and recommended layers by model."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from infolm_metric.core.checks import InputError, check_at_least, score_names
from infolm_metric.core.settings import BUNDLED, IDF_VALUES, EncodingSettings, IDFSetting, setting

SCORES = ("f1", "precision", "recall")
# Recommended layers by owner and name of the model on the Hub.
RECOMMENDED: dict[str, dict[str, int]] = tomllib.loads(
    Path(__file__).with_name("layers.toml").read_text(encoding="utf-8")
)
# Layers by name, with or without the owner.
LAYERS = {
    name: layer
    for owner, models in RECOMMENDED.items()
    for model, layer in models.items()
    for name in (model, f"{owner}/{model}")
} | {BUNDLED: 5}


@dataclass(frozen=True, kw_only=True)
class BERTScoreSettings(EncodingSettings):
    """Settings of BERTScore.

    Args:
        score: f1, precision or recall, or several of them.
        layer: index of the hidden state to compare, where 0 means the embeddings. Default: the
            recommended layer of the model. Required for models without one.

    >>> BERTScoreSettings(model_name_or_path="bert-base-uncased").recommended_layer
    9
    >>> BERTScoreSettings(score="f2")
    Traceback (most recent call last):
    infolm_metric.InputError: unknown score 'f2'. Did you mean 'f1'? Known: 'f1', 'precision', ...
    """

    metric = "bertscore"
    names_field = "score"
    default_model = "FacebookAI/roberta-large"
    best_of_references = "max"

    score: str | tuple[str, ...] = "f1"
    layer: int | None = setting(allowed="a whole number (in a combination: combine_layers=N)")
    idf: IDFSetting = setting(False, allowed=IDF_VALUES)
    multi_reference: Literal["max", "mean"] = "max"

    def __post_init__(self) -> None:
        super().__post_init__()
        names = score_names("score", self.score, {name: name for name in SCORES}, every=True)
        object.__setattr__(self, "score", names)
        check_at_least("layer", self.layer, 0)

    @property
    def recommended_layer(self) -> int | None:
        """Recommended layer of the model, or None if the model is unknown."""
        return LAYERS.get(str(self.model_name_or_path))

    def index(self, states: int) -> int:
        """Return the index of the state to compare in a model with `states` hidden states.

        >>> BERTScoreSettings(model_name_or_path="someone/model").index(13)
        Traceback (most recent call last):
        infolm_metric.InputError: layer must be set for the model 'someone/model', ... layer=8 ...
        """
        depth, name = states - 1, str(self.model_name_or_path)
        layer = self.recommended_layer if self.layer is None else self.layer
        if layer is None:
            first = LAYERS.get(os.path.basename(name), round(depth * 2 / 3))
            raise InputError(
                f"layer must be set for the model {name!r}, which has {depth} layers and is not in "
                f"the table of recommended layers. Try layer={first} first (in a combination: "
                f"combine_layers={first}). To compare layers on human scores, use python -m "
                "tools.layers in the repository of infolm.",
                setting="layer",
            )
        if layer > depth:
            raise InputError(
                f"layer must be from 0 (the embeddings) to {depth} (the last hidden state of this "
                f"model), got {layer}. In a combination, set combine_layers={depth}, for example.",
                setting="layer",
            )
        return layer

    def signature_fields(self) -> dict[str, object]:
        """Return the signature fields, with the layer in use.

        >>> BERTScoreSettings(model_name_or_path="bundled").signature_fields()["layer"]
        5
        """
        layer = self.recommended_layer if self.layer is None else self.layer
        return super().signature_fields() | {"layer": layer}

    def baseline_settings(self) -> list[Any]:
        """Return the settings that a baseline covers: all scores, once per token weighting."""
        return [settings.replace(score=SCORES) for settings in super().baseline_settings()]
