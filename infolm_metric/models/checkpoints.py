"""Checkpoints from a folder, the Hub or the package: tokenizer, weights, identity, device."""

from __future__ import annotations

import copy
import ctypes
import hashlib
import json
import os
import pickle
import textwrap
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.constants import HF_HUB_ETAG_TIMEOUT
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError
from torch import Tensor, nn
from transformers import AutoConfig, AutoTokenizer
from transformers.utils import SAFE_WEIGHTS_NAME, WEIGHTS_NAME, logging

from infolm_metric.core.checks import InputError, warn_user
from infolm_metric.core.document_counts import tokenizer_fingerprint
from infolm_metric.core.idf import IDF
from infolm_metric.core.settings import BUNDLED, BUNDLED_FOLDER, ModelSettings
from infolm_metric.models import out_of_domain
from infolm_metric.models.determinism import limit_threads_of_forks, make_products_reproducible
from infolm_metric.models.tokenization import Template, find_template

HASHED = (
    *("*.safetensors", "config.json", "tokenizer*", "vocab*", "merges.txt", "*.model"),
    *("added_tokens.json", "special_tokens_map.json", "*.index.json", "bpe.codes"),
)
LFS_POINTER = b"version https://git-lfs"  # start of a file of at most 1024 bytes
# Files of the Hub that are needed before the weights.
SMALL_FILES = ["*.json", "*.txt", "*.model", "bpe.codes"]
# SHA-256 of the weights of sentence-transformers/all-mpnet-base-v2. The package has baselines.
ALL_MPNET = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
# In addition to its weights, a model needs memory for the activations and logits of a batch and for
# the cache. With less free memory, it would compete with a training process on the same GPU.
WORKING_MEMORY = 2 << 30  # bytes
# Fraction of a GPU's memory that is left to other processes.
GPU_FREE_FRACTION = 0.1
# Approximate memory for a cached tensor in addition to its elements, including its key, in bytes.
ENTRY_BYTES = 2000
# Creating a model changes global state of the process, such as the default dtype. Concurrent
# threads would corrupt each other's models and leave a different default dtype behind.
LOADING = threading.RLock()

M = TypeVar("M", bound=ModelSettings)


@dataclass(frozen=True)
class Architecture:
    """Requirements for a metric's model, and error messages for models that do not meet them."""

    auto: Any  # transformers class that loads the model
    fits: Callable[[Any], bool]  # True if the class can load a model with this configuration
    unfit: str  # completes "this is a ... model, " in the message for a model that does not fit
    remedy: str  # advice on which model to choose instead
    part: str  # the part that checkpoints of other classes lack, such as the head
    masks: bool = False  # True if the tokenizer needs a mask token
    folder: Path = BUNDLED_FOLDER  # of the bundled model
    attention: str | None = None  # attention implementation of transformers. None: its default
    optional: str | None = None  # weights whose names contain this word may be missing


@dataclass(frozen=True)
class ModelFiles:
    """Location of a model's files."""

    name: str
    revision: str | None
    architecture: Architecture

    def fetch(self, loader: Callable[..., Any], *arguments: object, **options: object) -> Any:
        """Call a function that loads files of the model. Raise OSError with a remedy on failure."""
        try:
            return loader(*arguments, **options)
        except Exception as error:  # tokenizers raises a plain Exception for an invalid file
            at = "" if self.revision is None else f" at revision {self.revision!r}"
            reason = textwrap.shorten(str(error), 300, placeholder=" ...").rstrip(" .:")
            if isinstance(error, pickle.UnpicklingError):  # torch suggests weights_only=False
                reason = f"{WEIGHTS_NAME} is damaged, or contains objects that could run code"
            raise OSError(
                f"cannot load the model {self.name!r}{at}: {reason}. Check the name or path. "
                f"Weights must be in {SAFE_WEIGHTS_NAME} or {WEIGHTS_NAME}. "
                f"{self.architecture.remedy} Offline, use a folder or the bundled model: "
                f"model_name_or_path={BUNDLED!r}, or INFOLM_MODEL={BUNDLED} as the default model."
            ) from error


@dataclass(frozen=True)
class Checkpoint(ModelFiles):
    """Tokenizer and configuration of a model, without its weights."""

    folder: Path  # local, or in the cache of the Hub
    commit: str | None  # None for local folders
    tokenizer: Any
    template: Template
    size: int  # of the vocabulary
    limit: int | None  # default maximum length in tokens, including special tokens. None: no limit
    positions: int | None  # maximum length that the model supports. None: no limit
    config: Any

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the tokenizer."""
        return tokenizer_fingerprint(self.tokenizer)

    @property
    def states(self) -> int:
        """Number of hidden states, including the embeddings."""
        return int(self.config.num_hidden_layers) + 1

    @cached_property
    def identity(self) -> str:
        """Name on the Hub with the commit, or folder name with a hash of the files."""
        if self.commit:
            return f"{self.name}@{self.commit}"
        digest, folder = hashlib.sha256(), self.folder
        files = {file for pattern in HASHED for file in folder.glob(pattern) if file.is_file()}
        files |= {file for file in self.weight_files if file.suffix != ".safetensors"}
        for file in sorted(files):
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as stream:
                hashlib.file_digest(stream, lambda: digest)  # adds the content to the same hash
        return f"{os.path.basename(os.path.abspath(self.name))}@sha256:{digest.hexdigest()[:12]}"

    @cached_property
    def baseline_identity(self) -> str:
        """Hash of the weights of all-mpnet-base-v2, or the identity of any other model.

        The package's baselines therefore also apply to a copy of all-mpnet-base-v2 in a folder.
        """
        if self.config.model_type == "mpnet" and self.weight_files:
            with self.weight_files[0].open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
            if found == ALL_MPNET:
                return f"weights@sha256:{found[:12]}"
        return self.identity

    @cached_property
    def weight_files(self) -> list[Path]:
        """Files from which transformers loads weights, downloaded if they are on the Hub."""
        for name in (SAFE_WEIGHTS_NAME, WEIGHTS_NAME):
            names, index = [name], self.folder / f"{name}.index.json"
            if index.is_file() and not (self.folder / name).is_file():
                shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
                names = sorted(set(shards.values()))
            try:
                if self.commit:
                    for part in names:
                        hf_hub_download(self.name, part, revision=self.commit)
            except EntryNotFoundError:
                continue
            files = [self.folder / part for part in names]
            if all(file.is_file() for file in files):
                return files
        return []

    @cached_property
    def vocabulary(self) -> list[str]:
        """Vocabulary entries by id, [vocab], or "" for ids without a token."""
        ids = list(range(min(self.size, len(self.tokenizer))))
        names: list[str] = self.tokenizer.convert_ids_to_tokens(ids)
        return names + [""] * (self.size - len(names))

    @cached_property
    def english(self) -> np.ndarray:
        """Tokens' weights of evidence that a text is not English, int64 [vocab].

        Weights exist only for BERT's uncased English vocabulary, which the bundled models use. For
        other vocabularies, all weights are 0.
        """
        if self.fingerprint != out_of_domain.ENGLISH_VOCABULARY:
            return np.zeros(self.size, dtype=np.int64)
        weights = IDF.load(BUNDLED_FOLDER / "idf.json").weights
        return out_of_domain.token_weights(self.tokenizer.get_vocab(), weights)

    def count_tokens(self, texts: Sequence[np.ndarray]) -> Counter[str]:
        """Count texts (int64 [tokens] each), tokens, and texts or tokens that cause warnings."""
        unknown = self.tokenizer.unk_token_id
        return Counter(
            texts=len(texts),
            tokens=sum(map(len, texts)),
            empty=sum(not len(tokens) for tokens in texts),
            unknown_tokens=sum(int((tokens == unknown).sum()) for tokens in texts),
            out_of_domain=out_of_domain.count_out_of_domain(texts, self.english),
        )


def _download(name: str, revision: str | None) -> str:
    """Download the small files of a model, or find them in the cache, and return their folder.

    snapshot_download alone would wait forever for a server that does not answer.
    """
    if name.startswith((".", os.sep, "~")) or os.path.isfile(name):
        raise OSError("there is no such folder")
    options: Any = {"allow_patterns": SMALL_FILES, "ignore_patterns": "*/*"}
    try:
        info = HfApi().model_info(name, revision=revision, timeout=HF_HUB_ETAG_TIMEOUT)
    except Exception as error:  # its class depends on the version of huggingface_hub
        try:
            return str(snapshot_download(name, revision=revision, local_files_only=True, **options))
        except LocalEntryNotFoundError:
            raise error from None
    return str(snapshot_download(name, revision=info.sha, **options))


def open_checkpoint(name: str, revision: str | None, architecture: Architecture) -> Checkpoint:
    """Load the tokenizer and configuration of a model, without its weights."""
    folder = architecture.folder if name == BUNDLED else Path(os.path.expanduser(name))
    is_folder = os.path.isdir(folder)
    if is_folder and revision is not None:
        raise InputError(
            f"model_revision is for models on the Hub, got {revision!r} with {name!r}. Omit it.",
            setting="model_revision",
        )
    files, commit = ModelFiles(name, revision, architecture), None
    if not is_folder:
        with _silenced_transformers():  # and the Hub's progress bar
            folder = Path(files.fetch(_download, name, revision))
        commit = folder.name
    # Explicit, because transformers would otherwise ask for permission at the terminal.
    config = files.fetch(AutoConfig.from_pretrained, folder, trust_remote_code=False)
    config._attn_implementation = None  # could name code on the Hub that would be executed
    tokenizer = files.fetch(AutoTokenizer.from_pretrained, folder, trust_remote_code=False)
    fits = architecture.fits(config)
    if not fits or not hasattr(config, "vocab_size"):
        unfit = "which has no vocabulary of tokens (vocab_size)" if fits else architecture.unfit
        raise InputError(f"{name!r} is a {config.model_type} model, {unfit}. {architecture.remedy}")
    with LOADING, torch.device("meta"):  # allocates no memory for weights
        skeleton = files.fetch(architecture.auto.from_config, config)
    positions = _positions(skeleton, config)
    limits = [int(limit) for limit in (positions, tokenizer.model_max_length) if limit]
    # Tokenizers without a limit report a number near 1e30.
    limit = min(limits) if min(limits, default=1e30) < 1e29 else None
    size = config.vocab_size
    # If the files of a tokenizer are missing, transformers creates one with an empty vocabulary.
    if not size / 10 <= len(tokenizer) <= size:
        raise InputError(
            f"the tokenizer of {name!r} has {len(tokenizer)} tokens, but the model has {size}: "
            "files are missing, or the tokenizer belongs to a different model. Use the tokenizer "
            "that the model was trained with."
        )
    template = find_template(tokenizer)
    if architecture.masks and template.mask < 0:
        raise InputError(
            f"the tokenizer of {name!r} has no mask token, so the model cannot predict masked "
            f"tokens. {architecture.remedy}"
        )
    return Checkpoint(
        **vars(files),
        folder=folder,
        commit=commit,
        tokenizer=tokenizer,
        template=template,
        size=size,
        limit=limit,
        positions=positions,
        config=config,
    )


def load_weights(checkpoint: Checkpoint, dtype: str, device: str | None) -> Any:
    """Load a checkpoint's model in evaluation mode, by default on a GPU with enough free memory."""
    if device is None or torch.device(device).type == "cpu":
        make_products_reproducible()
    files, architecture = checkpoint.weight_files, checkpoint.architecture
    for file in files:
        if file.stat().st_size <= 1024 and file.read_bytes().startswith(LFS_POINTER):
            raise InputError(
                f"{file.name} of the model {checkpoint.name!r} is a pointer of Git LFS, not the "
                "weights. Run `git lfs install` and `git lfs pull` in the clone."
            )
    # Microsoft's DeBERTa checkpoints use a different name for the masked-LM head.
    legacy = getattr(checkpoint.config, "legacy", False)
    for changes in ({}, {"legacy": False}) if legacy else ({},):
        config = copy.deepcopy(checkpoint.config)
        # A configuration can name another file, which would be loaded without these checks.
        config.update({"transformers_weights": None, **changes})
        # BigBird's sparse attention is random, and a short text switches it off for later texts.
        if getattr(config, "attention_type", None) == "block_sparse":
            config.attention_type = "original_full"
        # Random initialization of missing weights must not change the caller's random state.
        with LOADING, torch.random.fork_rng(devices=[]), _silenced_transformers():
            model, report = checkpoint.fetch(
                architecture.auto.from_pretrained,
                # Not by name, because transformers would also search pull requests on the Hub.
                checkpoint.folder,
                config=config,
                # Explicit, because transformers 5 would otherwise keep the checkpoint's dtype.
                dtype=getattr(torch, dtype),
                attn_implementation=architecture.attention,
                use_safetensors={file.suffix for file in files} == {".safetensors"},
                weights_only=True,  # pickled weights must not run code
                ignore_mismatched_sizes=True,  # they are in the report
                output_loading_info=True,
            )
        keys = sorted([*report["missing_keys"], *map(str, report["mismatched_keys"])])
        optional = architecture.optional
        missing_weights = [key for key in keys if optional is None or optional not in key]
        if not missing_weights:
            for parameter_name, parameter in model.named_parameters():
                if parameter_name.endswith(("q_bias", "v_bias")):  # of DeBERTa, always float32
                    parameter.data = parameter.data.to(model.dtype)
            size = sum(parameter.nbytes for parameter in model.parameters())
            return model.eval().requires_grad_(False).to(device or choose_device(size))
    names = ", ".join(missing_weights[:3]) + (", ..." if len(missing_weights) > 3 else "")
    raise InputError(
        f"the checkpoint {checkpoint.name!r} lacks {len(missing_weights)} weights of "
        f"{type(model).__name__} ({names}): its {architecture.part} is missing or does not fit, "
        f"and random weights would produce random scores. {architecture.remedy}"
    )


def non_finite_error(output: str, dtype: str, cause: str = "", remedy: str = "") -> InputError:
    """Return the error for infinite or NaN output. `cause` names another possible reason."""
    weights = "Replace the model's weights if they are damaged."
    first = weights if dtype == "float32" else "Use dtype='float32'."
    return InputError(
        f"the model's {output} are not finite with dtype={dtype!r}{cause}. {first}{remedy}"
    )


def choose_device(weights: int) -> torch.device:
    """Return the current GPU if a model of `weights` bytes fits, else the CPU.

    In addition to the weights, `WORKING_MEMORY` and `GPU_FREE_FRACTION` of the GPU must be free. If
    too little memory is free, a warning says so. Scripts started by accelerate or torchrun set the
    current GPU of each rank. Memory that PyTorch has reserved counts as used, because the next
    training step needs it.
    """
    if torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info()
        if weights + WORKING_MEMORY + GPU_FREE_FRACTION * total <= free:
            return torch.device("cuda", torch.cuda.current_device())
        warn_user(
            f"only {free >> 20} of {total >> 20} MiB of GPU memory are free. Falling back "
            "to the CPU (slower). Set device='cuda' to use the GPU anyway."
        )
    return torch.device("cpu")


def release_memory() -> None:
    """Return freed memory to the system. The C library glibc would keep most of it."""
    with suppress(AttributeError, TypeError):  # in other C libraries, and on Windows
        ctypes.CDLL(None).malloc_trim(0)


@dataclass
class TensorCache:
    """Least-recently-used cache of at most about `limit` bytes of tensors and keys."""

    limit: int = 0
    size: int = 0
    tensors: OrderedDict[Hashable, Tensor] = field(default_factory=OrderedDict)

    def get(self, key: Hashable) -> Tensor | None:
        if key in self.tensors:
            self.tensors.move_to_end(key)
        return self.tensors.get(key)

    def put(self, key: Hashable, value: Tensor) -> Tensor:
        """Add a tensor unless it exceeds the limit by itself, and return the tensor to use."""
        size = value.nbytes + ENTRY_BYTES
        if key in self.tensors or size > self.limit:
            return value
        # Cloned, because a view would keep its whole base tensor in memory, and a tensor allocated
        # during a pass would prevent surrounding memory from being released.
        tensor = self.tensors[key] = value.clone()
        self.size += size
        self.shrink(self.limit)
        return tensor

    def shrink(self, limit: int) -> None:
        """Set the limit, and remove the least recently used tensors until it is met."""
        self.limit = limit
        while self.size > limit:
            self.size -= self.tensors.popitem(last=False)[1].nbytes + ENTRY_BYTES


@dataclass
class ModelHolder(Generic[M]):
    """Checkpoint, model and cache of encodings. The model is loaded on first use."""

    open: Callable[[M], Checkpoint]
    load: Callable[[Checkpoint, M], Any]
    cache: TensorCache = field(default_factory=TensorCache)
    _checkpoint: Checkpoint | None = None
    _model: tuple[Hashable, Any] | None = None

    def checkpoint(self, settings: M) -> Checkpoint:
        """Return the checkpoint named in the settings. Open it if it is not the current one."""
        key, current = (settings.model_name_or_path, settings.model_revision), self._checkpoint
        if current is None or (current.name, current.revision) != key:
            current = self._checkpoint = self.open(settings)
        return current

    def model(self, settings: M) -> Any:
        """Return the model for the settings. If it is not loaded, load it and clear the cache."""
        checkpoint = self.checkpoint(settings)
        key = checkpoint.name, checkpoint.revision, settings.device, settings.dtype
        if self._model is None or self._model[0] != key:
            self._model = None
            self.cache.shrink(0)
            limit_threads_of_forks()
            with torch.device("cpu"):  # regardless of the caller's default device
                self._model = key, self.load(checkpoint, settings)
        self.cache.shrink(settings.reuse_memory)
        return self._model[1]


@contextmanager
def _silenced_transformers() -> Iterator[None]:
    """Hide transformers' progress bar and loading report."""
    progress_bar, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity(max(verbosity, logging.ERROR))
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if progress_bar:
            logging.enable_progress_bar()


def _positions(skeleton: nn.Module, config: object) -> int | None:
    """Return the number of positions, not counting the padding offset of RoBERTa-like models."""
    limit = getattr(config, "max_position_embeddings", None)
    for module_name, module in skeleton.named_modules():
        if module_name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            # Some families have spare rows, so the configuration also limits the number.
            return min(module.num_embeddings - offset, limit or module.num_embeddings)
    return None if limit == -1 else limit  # XLNet
