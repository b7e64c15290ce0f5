"""A model and its tokenizer from a folder, the Hub or the package: identity, limits, device."""

from __future__ import annotations

import copy
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from huggingface_hub import try_to_load_from_cache
from torch import nn
from transformers import AutoConfig, AutoTokenizer
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME, cached_file, logging
from transformers.utils.hub import get_checkpoint_shard_files

from infolm_metric.kernel.checks import BUNDLED, BUNDLED_FOLDER
from infolm_metric.kernel.model_files import Stamp, fetch, files_of, silence_of, source_of, stamp_of
from infolm_metric.kernel.model_settings import ModelSettings
from infolm_metric.kernel.tokens import Template, find_template
from infolm_metric.kernel.unread import is_unread, token_weights

if TYPE_CHECKING:
    from infolm_metric.kernel.idf.table import IDF

# Beyond its weights a scorer holds a batch of activations and logits, and the distributions that
# it keeps; below this it would compete with a trainer that is about to allocate.
WORKING_MEMORY = 2 << 30  # bytes
# Share of a GPU's memory that stays free for whoever else is at work there.
HEADROOM = 0.1
# To make a model transformers changes what is the whole process's, such as the default dtype: two
# threads at once would spoil each other's models, and leave the caller another dtype.
LOADING = threading.RLock()


@dataclass(frozen=True)
class Checkpoint:
    """A model's tokenizer with the facts that turn texts into what it reads; needs no weights."""

    name: str
    source: str  # a folder, or a name on the Hub
    revision: str | None
    tokenizer: Any
    template: Template
    size: int  # entries of the model's vocabulary, V
    limit: int | None  # tokens a text may have by default, special ones included; None: any
    positions: int | None  # tokens the model can read at most; None: any
    fetch: Callable[..., Any]  # gives what a loader makes of the model's files
    states: int | None  # hidden states: the embeddings and every layer's; None: not known
    config: Any
    stamp: Stamp  # of the files, before any of them was read

    @cached_property
    def identity(self) -> str:
        """The model's name with its commit on the Hub, or with a hash of the files for a folder."""
        folder = Path(self.source)
        if not folder.is_dir():
            return f"{self.name}@{self.commit}"
        digest = hashlib.sha256()
        for file in files_of(folder):
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        bundled = self.name == BUNDLED
        label = BUNDLED if bundled else os.path.basename(os.path.abspath(self.name))
        return f"{label}@sha256:{digest.hexdigest()[:12]}"

    @cached_property
    def commit(self) -> str | None:
        """The commit on the Hub that the configuration is of; None for a folder."""
        if os.path.isdir(self.source):
            return None
        cached = try_to_load_from_cache(self.source, "config.json", revision=self.revision)
        # Downloads lie in snapshots/<commit>; what the Hub's client does not keep has none.
        return Path(cached).parent.name if isinstance(cached, str) else self.revision

    @property
    def changed(self) -> bool:
        """True if the files of a folder are no longer those that were opened."""
        return stamp_of(self.source) != self.stamp

    @cached_property
    def fingerprint(self) -> str:
        """What stands for all that decides the tokenizer's ids; idf tables record it."""
        from infolm_metric.kernel.idf.table import tokenizer_fingerprint

        return tokenizer_fingerprint(self.tokenizer)

    @cached_property
    def _token_weights(self) -> np.ndarray | None:
        """What each token says against English, [vocab]; None for another vocabulary."""
        from infolm_metric.kernel.idf.table import IDF

        table = IDF.load(BUNDLED_FOLDER / "idf.json")
        if self.fingerprint != table.tokenizer:
            return None
        return token_weights(self.tokenizer.get_vocab(), table.weights)

    def count_unread(self, texts: Iterable[np.ndarray]) -> int:
        """How many texts, each int64 [tokens], are of another kind than the model was trained on.

        0 for a model whose vocabulary is not that of the bundled ones, BERT's uncased English one.
        """
        weights = self._token_weights
        return 0 if weights is None else sum(is_unread(tokens, weights) for tokens in texts)

    def check_table(self, table: IDF) -> None:
        """Raise ValueError if an idf table belongs to another tokenizer."""
        if table.tokenizer != self.fingerprint:
            table.check_tokenizer(self.tokenizer)  # which says what is wrong

    def signed(self, settings: ModelSettings) -> dict[str, object]:
        """The model and how it reads texts, as the signature shows them."""
        return {
            "model": self.identity,
            "max_length": self.text_limit(settings.max_length),
            "long_text": settings.long_text,
            "dtype": settings.dtype,
        }

    def text_limit(self, max_length: int | None) -> int | None:
        """Tokens a text may have, special ones included: `max_length`, or else the model's limit.

        Raises ValueError if `max_length` leaves no room for a token or exceeds the model's limit.
        """
        if max_length is None:
            return self.limit
        if max_length <= self.template.overhead:
            raise ValueError(
                f"max_length must be at least {self.template.overhead + 1}, because "
                f"the tokenizer adds {self.template.overhead} special tokens, got {max_length}"
            )
        if self.positions is not None and max_length > self.positions:
            raise ValueError(
                f"max_length must be at most {self.positions}, the positions this "
                f"model has, got {max_length}; long_text='window' reads longer texts"
            )
        return max_length


def open_checkpoint(
    name: str,
    revision: str | None,
    architecture: Any,
    fits: Callable[[Any], bool],
    unfit: Callable[[str], str],
    check: Callable[[str, Any], None] = lambda name, tokenizer: None,
    folder: Path = BUNDLED_FOLDER,
    variable: str = ModelSettings.model_variable,
) -> Checkpoint:
    """The tokenizer of a model and what its configuration says, without its weights.

    `architecture` is the transformers class that will load the model. `fits` tells if it does so by
    the configuration, and `unfit` gives the message for a kind of model for which it does not;
    `check` may refuse the tokenizer.
    "bundled" stands for the one in `folder`, and `variable` of the environment names another.

    Raises:
        OSError: the model is not there, is damaged or cannot be reached.
        ValueError: it has no such architecture, or its tokenizer knows no words.
    """
    source = source_of(name, revision, folder)
    stamp = stamp_of(source)
    silence = silence_of(source, revision)
    read = partial(fetch, name, source, revision, silence, variable)
    config = read(AutoConfig.from_pretrained)
    config._attn_implementation = None  # may name code on the Hub, which would be fetched and run
    tokenizer = read(AutoTokenizer.from_pretrained)
    check(name, tokenizer)
    if not fits(config):
        raise ValueError(unfit(config.model_type))
    with LOADING, torch.device("meta"):  # modules without memory for weights
        skeleton = read(lambda source, **options: architecture.from_config(config))
    positions = _positions(skeleton, config)
    told = tokenizer.model_max_length or positions
    if told is not None and not (isinstance(told, int | float) and told > 0):
        raise ValueError(
            f"the tokenizer of {name!r} says model_max_length {told!r}; set it to the number of "
            "tokens that the model can read"
        )
    limits = [int(limit) for limit in (positions, told) if limit]
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
    template = find_template(tokenizer)
    depth = getattr(config, "num_hidden_layers", None)
    states = None if depth is None else depth + 1
    return Checkpoint(
        *(name, source, revision, tokenizer, template, size, limit, positions),
        fetch=read,
        states=states,
        config=config,
        stamp=stamp,
    )


def load_weights(
    checkpoint: Checkpoint,
    architecture: Any,
    dtype: str,
    attention: str | None = None,
    **changes: Any,
) -> tuple[Any, dict[str, Any]]:
    """The model of a checkpoint on the CPU, and what transformers reports of its weights.

    `attention` is one of transformers' implementations; `changes` are made to the configuration.
    The caller is to judge the report, of which transformers says nothing on its own.

    Raises OSError if the weights are not there, are damaged, or are not safetensors; or if the
    files changed since they were opened, so that the weights may be of another model.
    """
    # From a folder, because transformers would look in pull requests on the Hub for other weights.
    folder = checkpoint.fetch(partial(_weights_folder, commit=checkpoint.commit))
    config = copy.deepcopy(checkpoint.config)
    config.update(changes)
    # Random numbers that transformers draws for missing weights must not move the caller's.
    with LOADING, torch.random.fork_rng(devices=[]), _quietly():
        model, report = checkpoint.fetch(
            lambda source, **options: architecture.from_pretrained(
                folder,
                config=config,
                # Given even for float32: transformers 5 otherwise keeps a checkpoint's own dtype.
                dtype=getattr(torch, dtype),
                attn_implementation=attention,
                use_safetensors=True,
                ignore_mismatched_sizes=True,  # reported all the same
                output_loading_info=True,
            )
        )
    # Loaded tensors lie in the file itself, and change with what is written into it.
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.data = tensor.data.clone()
    # Hashed now, because other files may lie there when the scores are signed.
    identity = checkpoint.identity
    if checkpoint.changed:
        raise OSError(
            f"the files of the model {checkpoint.name!r} changed while it was read as {identity}; "
            "score again when what writes them is done"
        )
    return model, report


def check_complete(
    checkpoint: Checkpoint, model: nn.Module, report: dict[str, Any], part: str, remedy: str
) -> None:
    """Raise ValueError if weights are missing of what `load_weights` gave, as those of a `part`."""
    missing = sorted(report["missing_keys"]) + sorted(map(str, report["mismatched_keys"]))
    if missing:
        shown = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise ValueError(
            f"the checkpoint {checkpoint.name!r} lacks {len(missing)} weights of "
            f"{type(model).__name__} ({shown}): its {part} is missing or does not fit, and a "
            f"random one would give random scores; {remedy}"
        )


def no_numbers(said: str, dtype: str, given: str = "", remedy: str = "") -> ValueError:
    """The error where what a model said is infinite or NaN; `given` may be to blame, too."""
    weights = "see if the model's weights are damaged"
    first = weights if dtype == "float32" else "give dtype='float32'"
    return ValueError(
        f"the model's {said} are no finite numbers with dtype={dtype!r}{given}; {remedy}{first}"
    )


def place(model: nn.Module, device: str | None) -> tuple[nn.Module, torch.device]:
    """The model in evaluation mode on its device, by default a GPU that has room."""
    weights = sum(parameter.nbytes for parameter in model.parameters())
    chosen = choose_device(weights) if device is None else torch.device(device)
    return model.eval().requires_grad_(False).to(chosen), chosen


def has_room(weights: int, free: int, total: int) -> bool:
    """True if a GPU with `free` of `total` bytes can take a model of `weights` bytes.

    >>> has_room(weights=440 << 20, free=8 << 30, total=16 << 30)
    True
    >>> has_room(weights=440 << 20, free=3 << 30, total=16 << 30)  # a trainer fills the rest
    False
    """
    return weights + WORKING_MEMORY + HEADROOM * total <= free


def choose_device(weights: int) -> torch.device:
    """The current GPU if it has room for a model of `weights` bytes, else the CPU.

    The current GPU is the one that accelerate and torchrun scripts give each rank. Memory that
    PyTorch has reserved for a trainer counts as taken, for its next step will want it.

    >>> isinstance(choose_device(440 << 20), torch.device)
    True
    """
    if torch.cuda.is_available() and has_room(weights, *torch.cuda.mem_get_info()):
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def _weights_folder(source: str, commit: str | None, **options: Any) -> str:
    """The folder that holds the weights, which for the Hub are downloaded at the commit."""
    if os.path.isdir(source):
        return source
    options["revision"] = commit
    find: Callable[..., Any] = partial(cached_file, source, **options)
    names = (SAFE_WEIGHTS_NAME, SAFE_WEIGHTS_INDEX_NAME)
    here = (find(name, _raise_exceptions_for_missing_entries=False) for name in names)
    # Where neither is there, asking once more raises the error that says so.
    file: str = next(filter(None, here), None) or find(SAFE_WEIGHTS_NAME)
    if file.endswith(SAFE_WEIGHTS_INDEX_NAME):
        get_checkpoint_shard_files(source, file, **options)  # type: ignore[no-untyped-call]
    return os.path.dirname(file)


@contextmanager
def _quietly() -> Iterator[None]:
    """Loads without transformers' progress bar and table of weights; leaves both as they were."""
    shown, told = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity(max(told, logging.ERROR))
    try:
        yield
    finally:
        logging.set_verbosity(told)
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _positions(skeleton: nn.Module, config: Any) -> int | None:
    """Number of positions the model has, less the padding offset of RoBERTa-like models."""
    declared = getattr(config, "max_position_embeddings", None)
    for module_name, module in skeleton.named_modules():
        if module_name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            # Some families keep spare rows, so what the configuration declares counts too.
            return min(module.num_embeddings - offset, declared or module.num_embeddings)
    return declared
