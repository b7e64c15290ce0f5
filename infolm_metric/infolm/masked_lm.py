"""Masked language models, evaluated at the requested positions only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from torch import Tensor, nn
from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoModelForMaskedLM
from transformers.utils import ModelOutput

from infolm_metric.models.checkpoints import Architecture
from infolm_metric.models.determinism import deterministic_inference, row_rule
from infolm_metric.models.encoders import Heads, ModelWithHead, run_model
from infolm_metric.models.tokenization import device_limit

MASKED_LM = Architecture(
    AutoModelForMaskedLM,
    fits=lambda config: type(config) in MODEL_FOR_MASKED_LM_MAPPING,
    unfit="which has no masked-LM head in transformers",
    remedy='Choose a masked language model such as "google-bert/bert-base-uncased" or "bundled".',
    part="masked-LM head",
    masks=True,
)

# Maximum number of logits computed in one step, by device type. On Linux, freed blocks above 32 MB
# are returned to the system, and allocating them again takes longer than the computation.
LOGITS_PER_BATCH = {"cpu": 7 << 20, "cuda": 1 << 28}
HEADS: Heads = {
    "bert": attrgetter("cls"),
    "roberta": attrgetter("lm_head"),
    "xlm-roberta": attrgetter("lm_head"),
    "distilbert": lambda model: nn.Sequential(
        model.vocab_transform, model.activation, model.vocab_layer_norm, model.vocab_projector
    ),
    "mpnet": attrgetter("lm_head"),
}


class MaskedLM(ModelWithHead):
    """A loaded masked language model in evaluation mode."""

    def logits(self, ids: Sequence[Tensor], positions: Sequence[Tensor]) -> Iterator[Tensor]:
        """Yield the logits at `positions`, context by context, [positions, vocab] each.

        Each tensor has at most `LOGITS_PER_BATCH` logits, or the logits of one context. `ids`,
        int64 [contexts, tokens] each, are groups of contexts of equal length. `positions` are int64
        [contexts, masks] each.
        """
        ids, positions = ([group.to(self.device) for group in side] for side in (ids, positions))
        most = max(1, device_limit(LOGITS_PER_BATCH, self.device.type) // self.checkpoint.size)
        if self.encoder is None:
            for group, masks in zip(ids, positions, strict=True):
                size = max(1, most // masks.shape[1])
                for part in zip(group.split(size), masks.split(size), strict=True):
                    yield self._full_model_logits(*part)
            return
        with deterministic_inference(self.device):
            states = self.encoder.states_at(ids, positions)
        for rows in states.split(most):
            with deterministic_inference(self.device):
                logits: Tensor = self.model(rows)
            yield logits

    def _full_model_logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Return logits [contexts * masks, vocab]. The head runs at `positions` only."""
        model = self.model
        # Some heads multiply by the embeddings without a linear layer.
        rule = row_rule(model.get_input_embeddings().weight)

        def narrow(module: nn.Module, inputs: object, output: ModelOutput) -> ModelOutput:
            states = output["last_hidden_state"][: len(ids)]
            index = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
            rows = states.gather(1, index).flatten(0, 1)
            padding = max(0, rule.least - len(rows))
            output["last_hidden_state"] = nn.functional.pad(rows, (0, 0, 0, padding))[None]
            return output

        hook = model.base_model.register_forward_hook(narrow)
        try:
            with deterministic_inference(self.device):
                logits: Tensor = run_model(model, ids).logits
        finally:
            hook.remove()
        return logits[0, : positions.numel()]
