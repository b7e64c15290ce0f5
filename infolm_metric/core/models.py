"""A checkpoint of a folder, the Hub or the package: tokenizer, weights, identity, device."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub import (
    get_hf_file_metadata,
    hf_hub_url,
    is_offline_mode,
    try_to_load_from_cache,
)
from huggingface_hub.errors import HfHubHTTPError
from torch import Tensor, nn
from torch.torch_version import TorchVersion
from transformers import AutoConfig, AutoTokenizer
from transformers.utils import (
    SAFE_WEIGHTS_INDEX_NAME,
    SAFE_WEIGHTS_NAME,
    WEIGHTS_INDEX_NAME,
    WEIGHTS_NAME,
    cached_file,
    logging,
)
from transformers.utils.hub import get_checkpoint_shard_files

from infolm_metric.core.determinism import limit_threads_of_forks, make_products_reproducible
from infolm_metric.core.idf import IDF, tokenizer_fingerprint
from infolm_metric.core.out_of_domain import token_weights
from infolm_metric.core.results import user_stacklevel
from infolm_metric.core.settings import BUNDLED, BUNDLED_FOLDER, ModelSettings
from infolm_metric.core.tokenization import Template, find_template

HASHED = (
    *("*.safetensors", "config.json", "tokenizer*", "vocab*", "merges.txt", "*.model"),
    *("added_tokens.json", "special_tokens_map.json", "*.index.json", "bpe.codes"),
)
# Files that hold all weights or list the shards that do; earlier ones are preferred.
WEIGHTS = (SAFE_WEIGHTS_NAME, SAFE_WEIGHTS_INDEX_NAME, WEIGHTS_NAME, WEIGHTS_INDEX_NAME)
# Before this version a crafted file could run code despite weights_only=True (CVE-2026-24747).
SAFE_UNPICKLING = "2.10"
HUB_TIMEOUT = 10  # seconds that the Hub has for its first answer
# Beyond its weights a scorer holds a batch of activations and logits, and the readings that it
# keeps; below this it would compete with a trainer that is about to allocate.
WORKING_MEMORY = 2 << 30  # bytes
# Share of a GPU's memory that stays free for whoever else is at work there.
GPU_FREE_FRACTION = 0.1
# To make a model transformers changes what is the whole process's, such as the default dtype: two
# threads at once would spoil each other's models, and leave the caller another dtype.
LOADING = threading.RLock()


@dataclass(frozen=True)
class Architecture:
    """What a metric needs of a model: the class that loads it, and how others are refused.

    `fits` tells by the configuration if the class loads such a model, and `unfit` says of one that
    does not what it is not; `remedy` what to choose instead. `part` is what a checkpoint of another
    class lacks. "bundled" stands for the model in `folder`, and `variable` of the environment names
    another.
    """

    auto: Any
    fits: Callable[[Any], bool]
    unfit: str
    remedy: str
    part: str
    masks: bool = False  # True: the tokenizer must have a mask token
    folder: Path = BUNDLED_FOLDER
    variable: str = ModelSettings.model_variable
    attention: str | None = None  # one of transformers' implementations


@dataclass(frozen=True)
class Source:
    """Where the files of a model are."""

    name: str
    place: str  # a folder, or a name on the Hub
    revision: str | None
    architecture: Architecture
    offline: str  # why the Hub is not asked for files, if it is not

    def fetch(self, loader: Callable[..., Any]) -> Any:
        """What `loader` makes of the model's files, with errors that say what to do."""
        options: dict[str, Any] = {} if self.revision is None else {"revision": self.revision}
        if self.offline:
            options["local_files_only"] = True
        try:
            # Said outright, because transformers would otherwise ask at the terminal if to run it.
            return loader(self.place, trust_remote_code=False, **options)
        except Exception as error:  # tokenizers raises just that for a file that it cannot read
            at = "" if self.revision is None else f" at revision {self.revision!r}"
            reason = str(error).strip().partition("\n")[0].rstrip(" .:")
            if isinstance(error, LookupError):  # which tells the key alone
                reason = f"{type(error).__name__}: {reason}"
            elif isinstance(error, pickle.UnpicklingError):  # which recommends weights_only=False
                reason = (
                    f"{WEIGHTS_NAME} is damaged or contains objects other than tensors, "
                    "which could run code and are not loaded"
                )
            if self.offline:
                reason += f" (the Hub: {self.offline})"
            raise OSError(
                f"cannot load the model {self.name!r}{at}: {reason}. Check the name or path; "
                f"weights must be in {SAFE_WEIGHTS_NAME}, which `save_pretrained` of transformers "
                f"writes, or in {WEIGHTS_NAME}: {self.architecture.remedy}. Without a "
                "connection to the Hub use a folder or the model that ships with infolm, "
                f"model_name_or_path={BUNDLED!r}, for every call with "
                f"{self.architecture.variable}={BUNDLED}; HF_HUB_OFFLINE=1 saves the wait for the "
                "Hub"
            ) from error


@dataclass(frozen=True)
class Checkpoint(Source):
    """A model's tokenizer with the facts that turn texts into what it reads; needs no weights."""

    tokenizer: Any
    fingerprint: str  # what stands for all that decides the tokenizer's ids; idf tables record it
    template: Template
    size: int  # entries of the model's vocabulary, V
    limit: int | None  # tokens a text may have by default, special ones included; None: any
    positions: int | None  # tokens the model can read at most; None: any
    config: Any

    @property
    def states(self) -> int | None:
        """Number of hidden states: the embeddings and every layer's; None: not known."""
        depth = getattr(self.config, "num_hidden_layers", None)
        return None if depth is None else depth + 1

    @cached_property
    def identity(self) -> str:
        """The model's name with its commit on the Hub, or with a hash of the files for a folder."""
        folder = Path(self.place)
        if not folder.is_dir():
            return f"{self.name}@{self.commit}"
        digest = hashlib.sha256()
        files = {file for pattern in HASHED for file in folder.glob(pattern) if file.is_file()}
        files |= {file for file in self.fetch(_weight_files) if file.suffix != ".safetensors"}
        for file in sorted(files):
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        label = self.name if self.name == BUNDLED else os.path.basename(os.path.abspath(self.name))
        return f"{label}@sha256:{digest.hexdigest()[:12]}"

    @cached_property
    def commit(self) -> str | None:
        """The commit on the Hub that the configuration is of."""
        file = try_to_load_from_cache(self.place, "config.json", revision=self.revision)
        # Downloads lie in snapshots/<commit>; what the Hub's client does not keep has none.
        return Path(file).parent.name if isinstance(file, str) else self.revision

    @cached_property
    def english(self) -> np.ndarray | None:
        """What each token says against English, [vocab]; None for another vocabulary.

        Known of that of the bundled models alone, BERT's uncased English one.
        """
        table = IDF.load(BUNDLED_FOLDER / "idf.json")
        if self.fingerprint != table.tokenizer:
            return None
        return token_weights(self.tokenizer.get_vocab(), table.weights)

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


def open_checkpoint(name: str, revision: str | None, architecture: Architecture) -> Checkpoint:
    """The tokenizer of a model and what its configuration says, without its weights.

    Raises:
        OSError: the model is not there, is damaged or cannot be reached.
        ValueError: it has no such architecture, or its tokenizer no mask token or no words.
    """
    if name == BUNDLED and revision is not None:
        raise ValueError(f"model_name_or_path={name!r} has no revisions, got {revision!r}")
    place, offline = str(architecture.folder) if name == BUNDLED else os.path.expanduser(name), ""
    if not os.path.isdir(place):
        # A name on the Hub has one slash at most and does not begin like a path.
        if place.startswith((".", os.sep)) or place.count("/") > 1:
            raise OSError(
                f"cannot load the model {name!r}: there is no such folder. Check the path, or use "
                f"the model that ships with infolm: model_name_or_path={BUNDLED!r}"
            )
        offline = _hub_error(place, revision)
    source = Source(name, place, revision, architecture, offline)
    config = source.fetch(AutoConfig.from_pretrained)
    config._attn_implementation = None  # may name code on the Hub, which would be fetched and run
    tokenizer = source.fetch(AutoTokenizer.from_pretrained)
    if not architecture.fits(config):
        raise ValueError(
            f"{name!r} is a {config.model_type} model, {architecture.unfit}; {architecture.remedy}"
        )
    with LOADING, torch.device("meta"):  # modules without memory for weights
        skeleton = source.fetch(lambda place, **options: architecture.auto.from_config(config))
    positions = _positions(skeleton, config)
    model_max_length = tokenizer.model_max_length or positions
    if model_max_length is not None and not (
        isinstance(model_max_length, int | float) and model_max_length > 0
    ):
        raise ValueError(
            f"the tokenizer of {name!r} says model_max_length {model_max_length!r}; set it to the "
            "number of tokens that the model can read"
        )
    limits = [int(limit) for limit in (positions, model_max_length) if limit]
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
    if architecture.masks and template.mask < 0:
        raise ValueError(
            f"the tokenizer of {name!r} has no mask token, so its model cannot predict masked "
            f"tokens; {architecture.remedy}"
        )
    return Checkpoint(
        **vars(source),
        tokenizer=tokenizer,
        fingerprint=tokenizer_fingerprint(tokenizer),
        template=template,
        size=size,
        limit=limit,
        positions=positions,
        config=config,
    )


def open_model(settings: ModelSettings, architecture: Architecture) -> Checkpoint:
    """Open the checkpoint of the model that settings name, as `open_checkpoint`."""
    name = str(settings.model_name_or_path)
    return open_checkpoint(name, settings.model_revision, architecture)


def load_weights(
    checkpoint: Checkpoint, dtype: str, device: str | None, optional: str | None = None
) -> Any:
    """The model of a checkpoint in evaluation mode on its device, by default a GPU that has room.

    Weights whose name holds `optional` may be missing.

    Raises:
        OSError: the weights are not there, are damaged, or could run code.
        ValueError: some of them are missing from the checkpoint.
    """
    if device is None or torch.device(device).type == "cpu":
        make_products_reproducible()
    # From a folder, because transformers would look in pull requests on the Hub for other weights.
    folder, architecture = checkpoint.place, checkpoint.architecture
    if not os.path.isdir(folder):
        folder = checkpoint.fetch(partial(_weights_folder, commit=checkpoint.commit))
    safetensors = checkpoint.fetch(lambda place, **options: _has_safetensors(folder))
    # DeBERTa checkpoints as Microsoft published them name their masked-LM head differently.
    legacy = getattr(checkpoint.config, "legacy", False)
    for changes in ({}, {"legacy": False}) if legacy else ({},):
        config = copy.deepcopy(checkpoint.config)
        # A configuration may name another file, which would be loaded unchecked.
        config.update({"transformers_weights": None, **changes})
        # Random numbers that transformers draws for missing weights must not move the caller's.
        with LOADING, torch.random.fork_rng(devices=[]), _silenced_transformers():
            model, report = checkpoint.fetch(
                lambda place, config=config, **options: architecture.auto.from_pretrained(
                    folder,
                    config=config,
                    # Given even for float32: transformers 5 otherwise keeps a checkpoint's dtype.
                    dtype=getattr(torch, dtype),
                    attn_implementation=architecture.attention,
                    use_safetensors=safetensors,
                    weights_only=True,  # other weights are pickles, and must not run code
                    ignore_mismatched_sizes=True,  # reported all the same
                    output_loading_info=True,
                )
            )
        keys = sorted([*report["missing_keys"], *map(str, report["mismatched_keys"])])
        missing_weights = [key for key in keys if optional is None or optional not in key]
        if not missing_weights:
            size = sum(parameter.nbytes for parameter in model.parameters())
            return model.eval().requires_grad_(False).to(device or choose_device(size))
    names = ", ".join(missing_weights[:3]) + (", ..." if len(missing_weights) > 3 else "")
    raise ValueError(
        f"the checkpoint {checkpoint.name!r} lacks {len(missing_weights)} weights of "
        f"{type(model).__name__} ({names}): its {architecture.part} is missing or does not fit, "
        f"and a random one would give random scores; {architecture.remedy}"
    )


def non_finite_error(output: str, dtype: str, cause: str = "", remedy: str = "") -> ValueError:
    """The error where what a model gave is infinite or NaN; `cause` may be to blame, too."""
    weights = "see if the model's weights are damaged"
    first = weights if dtype == "float32" else "give dtype='float32'"
    return ValueError(
        f"the model's {output} are no finite numbers with dtype={dtype!r}{cause}; {remedy}{first}"
    )


def fits_on_gpu(weights: int, free: int, total: int) -> bool:
    """True if a GPU with `free` of `total` bytes can take a model of `weights` bytes.

    >>> fits_on_gpu(weights=440 << 20, free=8 << 30, total=16 << 30)
    True
    >>> fits_on_gpu(weights=440 << 20, free=3 << 30, total=16 << 30)  # a trainer fills the rest
    False
    """
    return weights + WORKING_MEMORY + GPU_FREE_FRACTION * total <= free


def choose_device(weights: int) -> torch.device:
    """The current GPU if it has room for a model of `weights` bytes, else the CPU, with a warning.

    The current GPU is the one that accelerate and torchrun scripts give each rank. Memory that
    PyTorch has reserved for a trainer counts as taken, for its next step will want it.
    """
    if torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info()
        if fits_on_gpu(weights, free, total):
            return torch.device("cuda", torch.cuda.current_device())
        warnings.warn(
            f"infolm: the GPU has {free >> 20} of {total >> 20} MiB free, too little beside other "
            "work: the CPU is used, which is slower; give device='cuda' to use the GPU all the "
            "same",
            stacklevel=user_stacklevel(),
        )
    return torch.device("cpu")


@dataclass
class TensorCache:
    """Tensors by key, the longest unused dropped beyond `limit` bytes."""

    limit: int = 0
    size: int = 0
    _tensors: OrderedDict[Hashable, Tensor] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._tensors)

    def get(self, key: Hashable) -> Tensor | None:
        """What is kept under `key`, or None."""
        tensor = self._tensors.get(key)
        if tensor is not None:
            self._tensors.move_to_end(key)
        return tensor

    def put(self, key: Hashable, value: Tensor) -> None:
        """Keep a value as long as there is room; it counts as used just now."""
        if self.get(key) is None and value.nbytes <= self.limit:
            # A copy: a view would keep more alive than is counted, and what was made in the midst
            # of a pass would keep the memory around it from being given back.
            self._tensors[key] = value.clone()
            self.size += value.nbytes
            self.shrink(self.limit)

    def shrink(self, limit: int) -> None:
        """Set the limit and drop what exceeds it."""
        self.limit = limit
        while self.size > limit:
            _, tensor = self._tensors.popitem(last=False)
            self.size -= tensor.nbytes


class ModelHolder:
    """One checkpoint with its model, loaded at the first use, and the cache of its encodings.

    Args:
        open: returns the checkpoint that settings name.
        load: returns the model of a checkpoint for settings.
    """

    def __init__(
        self, open: Callable[[Any], Checkpoint], load: Callable[[Checkpoint, Any], Any]
    ) -> None:
        self._open, self._load = open, load
        self._checkpoint: tuple[Hashable, Checkpoint] | None = None
        self._model: tuple[Hashable, Any] | None = None
        self.cache = TensorCache()

    def checkpoint(self, settings: ModelSettings) -> Checkpoint:
        """Return the checkpoint, opened unless the last call used it."""
        key = settings.model_name_or_path, settings.model_revision
        if self._checkpoint is None or self._checkpoint[0] != key:
            self._checkpoint = key, self._open(settings)
        return self._checkpoint[1]

    def model(self, settings: ModelSettings) -> Any:
        """Return the model, loaded unless the last call used it; then the cache is emptied."""
        checkpoint = self.checkpoint(settings)
        key = self._checkpoint and self._checkpoint[0], settings.device, settings.dtype
        if self._model is None or self._model[0] != key:
            self._model = None
            self.cache.shrink(0)
            limit_threads_of_forks()
            with torch.device("cpu"):  # regardless of the caller's default device
                self._model = key, self._load(checkpoint, settings)
        self.cache.shrink(settings.reuse_memory)
        return self._model[1]


def _hub_error(source: str, revision: str | None) -> str:
    """Why the Hub gives nothing, or "" if it answers or is not needed.

    Asked once before its client is, which would ask for every file again for half a minute.
    """
    if is_offline_mode():
        return ""
    try:
        url = hf_hub_url(source, "config.json", revision=revision)
        get_hf_file_metadata(url, timeout=HUB_TIMEOUT)
    except HfHubHTTPError:  # an answer all the same, which loading explains
        return ""
    except Exception as error:  # of the HTTP library, whichever it is, and of the network below it
        return str(error) or type(error).__name__
    return ""


def _weights_folder(source: str, commit: str | None, **options: Any) -> str:
    """The folder that holds the weights, which are downloaded from the Hub at the commit."""
    options["revision"] = commit
    find: Callable[..., Any] = partial(cached_file, source, **options)
    files = (find(name, _raise_exceptions_for_missing_entries=False) for name in WEIGHTS)
    # If there is none, asking once more raises the error that says so.
    file: str = next(filter(None, files), None) or find(SAFE_WEIGHTS_NAME)
    if file.endswith(".index.json"):
        get_checkpoint_shard_files(source, file, **options)  # type: ignore[no-untyped-call]
    return os.path.dirname(file)


def _weight_files(place: str, **_: Any) -> list[Path]:
    """Return the files of a folder that transformers loads weights from."""
    folder = Path(place)
    file = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if file is None or file.suffix != ".json":
        return [file] if file else []
    index = json.loads(file.read_text(encoding="utf-8"))
    return sorted({folder / name for name in index["weight_map"].values()})


def _has_safetensors(folder: str) -> bool:
    """Return whether the weights are safetensors; reject pickles that torch cannot load safely."""
    files = _weight_files(folder)
    pickles = [file.name for file in files if file.suffix != ".safetensors"]
    if pickles and TorchVersion(torch.__version__) < SAFE_UNPICKLING:
        raise OSError(
            f"{pickles[0]} is loaded safely only by torch >= {SAFE_UNPICKLING} (CVE-2026-24747), "
            f"this is {torch.__version__}; upgrade torch or choose a model with {SAFE_WEIGHTS_NAME}"
        )
    return bool(files) and not pickles


@contextmanager
def _silenced_transformers() -> Iterator[None]:
    """Loads without transformers' progress bar and table of weights; leaves both as they were."""
    progress_bar, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity(max(verbosity, logging.ERROR))
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if progress_bar:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _positions(skeleton: nn.Module, config: Any) -> int | None:
    """Number of positions the model has, less the padding offset of RoBERTa-like models."""
    limit = getattr(config, "max_position_embeddings", None)
    for module_name, module in skeleton.named_modules():
        if module_name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            # Some families keep spare rows, so what the configuration declares counts too.
            return min(module.num_embeddings - offset, limit or module.num_embeddings)
    return limit
