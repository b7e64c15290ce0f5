"""Loads and checks a masked language model; gives its logits at the masked position."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import try_to_load_from_cache
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer
from transformers.utils import logging

from infolm_metric.infolm.fast_encoders import MaskedEncoder, exchange_encoder
from infolm_metric.infolm.masking import Template, find_template
from infolm_metric.infolm.settings import BUNDLED, DTYPES
from infolm_metric.kernel.devices import choose_device

BUNDLED_FOLDER = Path(__file__).parents[1] / "bundled"
HASHED = (
    *("*.safetensors", "config.json", "tokenizer*", "vocab*", "merges.txt", "*.model"),
    *("added_tokens.json", "special_tokens_map.json", "*.index.json", "bpe.codes"),
)


@dataclass(frozen=True)
class Vocabulary:
    """A model's tokenizer with the facts that turn texts into contexts; needs no weights."""

    tokenizer: Any
    template: Template
    size: int  # entries of the model's output, V
    limit: int | None  # tokens a text may have by default, special ones included; None: any
    positions: int | None  # tokens the model can read at most; None: any

    def text_limit(self, max_length: int | None) -> int | None:
        """Tokens a text may have, special ones included: `max_length`, or else the model's limit.

        Raises ValueError if `max_length` leaves no room for a token or exceeds the model's limit.
        """
        if max_length is None:
            return self.limit
        if max_length <= self.template.overhead:
            raise ValueError(
                f"max_length must be at least {self.template.overhead + 1}, because the tokenizer "
                f"adds {self.template.overhead} special tokens, got {max_length}"
            )
        if self.positions is not None and max_length > self.positions:
            raise ValueError(
                f"max_length must be at most {self.positions}, the positions this model has, "
                f'got {max_length}; long_text="window" reads longer texts'
            )
        return max_length


@dataclass(frozen=True)
class MaskedLM:
    """A loaded model in evaluation mode."""

    model: nn.Module
    vocabulary: Vocabulary
    device: torch.device
    identity: str  # name and revision or content hash, as the signature shows it
    encoder: MaskedEncoder | None = None  # in place of the model's own, for families known here

    @torch.inference_mode()
    def logits(self, ids: Tensor, positions: Tensor, sizes: Sequence[int]) -> Tensor:
        """Logits at the masked positions of each context.

        ids int64 [contexts, tokens], positions int64 [contexts, masks] -> [contexts, masks, V]. The
        contexts have no padding; `sizes` of them side by side are of one text and differ only at
        their masks. The vocabulary head runs at the masks only.
        """
        ids, positions = ids.to(self.device), positions.to(self.device)
        precision = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            # The caller's autocast and matrix precision must not change a score.
            with torch.autocast(self.device.type, enabled=False), self._only_at(positions, sizes):
                logits = self.model(
                    input_ids=ids, attention_mask=torch.ones_like(ids), return_dict=True
                ).logits
        finally:
            torch.set_float32_matmul_precision(precision)
        # Apple's GPUs have no float64, in which all that follows is computed.
        return logits.cpu() if self.device.type == "mps" else logits

    @contextmanager
    def _only_at(self, positions: Tensor, sizes: Sequence[int]) -> Iterator[None]:
        """Lets the head see nothing but the encoder's states at these positions."""
        if self.encoder is not None:
            self.encoder.positions, self.encoder.sizes = positions, sizes
            yield
            return

        def narrow(module: nn.Module, inputs: Any, output: Any) -> Any:
            states = output["last_hidden_state"]
            index = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
            output["last_hidden_state"] = states.gather(1, index)
            return output

        base: Any = self.model.base_model
        hook = base.register_forward_hook(narrow)
        try:
            yield
        finally:
            hook.remove()


def load_vocabulary(name: str, revision: str | None = None) -> Vocabulary:
    """The tokenizer of a model and what its configuration says, without its weights.

    Raises:
        OSError: the model is not there, is damaged or cannot be reached.
        ValueError: it has no masked-LM architecture, or its tokenizer no mask token or no words.
    """
    source = _source(name, revision)
    config = _fetch(AutoConfig.from_pretrained, name, source, revision)
    tokenizer = _fetch(AutoTokenizer.from_pretrained, name, source, revision)
    if tokenizer.mask_token_id is None:
        raise ValueError(
            f"the tokenizer of {name!r} has no mask token, so its model cannot predict masked "
            'tokens; choose a masked language model such as "google-bert/bert-base-uncased" or '
            '"bundled"'
        )
    skeleton = _skeleton(name, config)
    positions = _positions(skeleton, config)
    limits = [limit for limit in (positions, tokenizer.model_max_length) if limit]
    # Tokenizers without a limit of their own report a number near 1e30.
    limit = min(limits) if min(limits, default=1e30) < 1e29 else None
    size = config.vocab_size
    # Where a tokenizer's files are missing, transformers makes one that knows no words.
    if not size / 10 <= len(tokenizer) <= size:
        raise ValueError(
            f"the tokenizer of {name!r} has {len(tokenizer)} entries and the model {size}: its "
            "files are missing, or it is another model's; use the tokenizer that the model was "
            "trained with"
        )
    return Vocabulary(tokenizer, find_template(tokenizer), size, limit, positions)


def load(
    name: str,
    revision: str | None,
    device: str | None,
    dtype: str,
    vocabulary: Vocabulary,
    fast: bool = True,
) -> MaskedLM:
    """The model `name` on `device`, checked to have trained weights throughout.

    `fast` False keeps the model's own encoder, with which scores are the same, for comparison.

    Raises:
        OSError: its weights are not there, are damaged, or are not safetensors.
        ValueError: a part of it, such as the masked-LM head, is missing from the checkpoint.
    """
    source = _source(name, revision)
    # `dtype` is given even for float32: transformers 5 otherwise keeps a checkpoint's own dtype.
    options: dict[str, Any] = {
        "dtype": DTYPES[dtype],
        "use_safetensors": True,
        "ignore_mismatched_sizes": True,  # reported all the same, and refused below
        "output_loading_info": True,
    }
    # Random numbers that transformers draws for missing weights must not move the caller's.
    with torch.random.fork_rng(devices=[]), _no_progress_bar():
        model, report = _fetch(
            AutoModelForMaskedLM.from_pretrained, name, source, revision, **options
        )
        if report["missing_keys"] and getattr(model.config, "legacy", False):
            # DeBERTa checkpoints as Microsoft published them name their head differently.
            model, report = _fetch(
                AutoModelForMaskedLM.from_pretrained,
                name,
                source,
                revision,
                legacy=False,
                **options,
            )
    missing = sorted(report["missing_keys"]) + sorted(map(str, report["mismatched_keys"]))
    if missing:
        shown = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise ValueError(
            f"the checkpoint {name!r} lacks {len(missing)} weights of {type(model).__name__} "
            f"({shown}): its masked-LM head is missing or does not fit, and a random one would "
            'give random scores; choose a checkpoint with a masked-LM head, or "bundled"'
        )
    weights = sum(parameter.nbytes for parameter in model.parameters())
    place = choose_device(weights) if device is None else torch.device(device)
    model = model.eval().requires_grad_(False).to(place)
    encoder = exchange_encoder(model) if fast else None
    return MaskedLM(model, vocabulary, place, _identity(name, source, revision), encoder)


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Loads without transformers' progress bar, and leaves its switch as it was."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _source(name: str, revision: str | None) -> str:
    """The folder or Hub name to load from."""
    if name == BUNDLED:
        if revision is not None:
            raise ValueError(f'model_name_or_path="bundled" has no revisions, got {revision!r}')
        return str(BUNDLED_FOLDER)
    path = os.path.expanduser(name)
    # A name on the Hub has one slash at most and does not begin like a path: no need to ask there.
    if not os.path.isdir(path) and (path.startswith((".", os.sep)) or path.count("/") > 1):
        raise OSError(
            f"cannot load the model {name!r}: there is no such folder. Check the path, or use the "
            'model that ships with infolm: model_name_or_path="bundled"'
        )
    return path


def _fetch(
    loader: Callable[..., Any], name: str, source: str, revision: str | None, **options: Any
) -> Any:
    """What `loader` gives, with errors that say what to do."""
    if revision is not None:
        options["revision"] = revision
    try:
        # Said outright, because transformers would otherwise ask at the terminal whether to run it.
        return loader(source, trust_remote_code=False, **options)
    except (OSError, ValueError, SafetensorError) as error:
        at = "" if revision is None else f" at revision {revision!r}"
        reason = str(error).strip().partition("\n")[0].rstrip(" .:")
        raise OSError(
            f"cannot load the model {name!r}{at}: {reason}. Check the name or path; weights must "
            "be safetensors files, others are not read. Without a "
            "connection to the Hub use a local folder or the model that ships with infolm: "
            'model_name_or_path="bundled"'
        ) from error


def _skeleton(name: str, config: Any) -> nn.Module:
    """The model's modules without memory for weights."""
    try:
        with torch.device("meta"):
            return AutoModelForMaskedLM.from_config(config)
    except ValueError as error:
        raise ValueError(
            f"{name!r} is a {config.model_type} model, which has no masked-LM head in "
            'transformers; choose a masked language model such as "google-bert/bert-base-uncased" '
            'or "bundled"'
        ) from error


def _positions(skeleton: nn.Module, config: Any) -> int | None:
    """Number of positions the model has, less the padding offset of RoBERTa-like models."""
    declared = getattr(config, "max_position_embeddings", None)
    for module_name, module in skeleton.named_modules():
        if module_name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            # Some families keep spare rows, so what the configuration declares counts too.
            return min(module.num_embeddings - offset, declared or module.num_embeddings)
    return declared


def _identity(name: str, source: str, revision: str | None) -> str:
    """The model's name with its commit on the Hub, or with a hash of the files for a folder."""
    folder = Path(source)
    if not folder.is_dir():
        cached = try_to_load_from_cache(source, "config.json", revision=revision)
        # Downloads lie in snapshots/<commit>; what the Hub's client does not keep has no commit.
        commit = Path(cached).parent.name if isinstance(cached, str) else revision
        return f"{name}@{commit}"
    digest = hashlib.sha256()
    files = {file for pattern in HASHED for file in folder.glob(pattern) if file.is_file()}
    for file in sorted(files):
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    label = name if name == BUNDLED else os.path.basename(os.path.abspath(name))
    return f"{label}@sha256:{digest.hexdigest()[:12]}"
