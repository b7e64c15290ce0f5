"""Tiny models with random weights, one per family of masked language models, made offline.

Each has the architecture and the type of tokenizer of its family: special tokens and their place in
the vocabulary, splitting of words, and numbering of positions. The models know no English, but
their predictions are far from uniform and change with the context, which is all that tests need.

>>> import tempfile
>>> from transformers import AutoTokenizer
>>> with tempfile.TemporaryDirectory() as folder:
...     tokenizer = AutoTokenizer.from_pretrained(build("mpnet", Path(folder)))
>>> tokenizer.convert_ids_to_tokens(tokenizer("The dog ran.")["input_ids"])
['<s>', 'the', 'dog', 'ran', '.', '</s>']
"""

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file
from tokenizers import AddedToken, Tokenizer, models, processors, trainers
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel

CORPUS = Path(__file__).with_name("sentences.txt")
SENTENCES = tuple(CORPUS.read_text(encoding="utf-8").splitlines())

# The library's usual initializer_range of 0.02 gives nearly uniform predictions.
COMMON: dict[str, Any] = {"initializer_range": 0.4, "intermediate_size": 64}
COMMON |= {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}


def _train(backend: Tokenizer, trainer: trainers.Trainer) -> dict[str, Any]:
    """Return the model part of the tokenizer's JSON after training on SENTENCES."""
    backend.train_from_iterator(SENTENCES, trainer)
    return json.loads(backend.to_str())["model"]


def _wordpiece(
    tokenizer_class: Any, first: tuple[str, ...], last: tuple[str, ...] = (), **settings: Any
) -> Any:
    """Build a lowercasing WordPiece tokenizer with special tokens before and after the words."""
    backend = tokenizer_class()._tokenizer
    letters = sorted(set(backend.normalizer.normalize_str("".join(SENTENCES))) - {" "})
    # The trainer numbers letters in an order that changes from run to run. Declared letters have a
    # fixed order, and so do the pieces made from them.
    declared = [*letters, *("##" + letter for letter in letters)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=declared, show_progress=False
    )
    ids = _train(backend, trainer)["vocab"]
    tokens = [*first, *sorted(ids, key=ids.__getitem__), *last]
    vocab = {token: index for index, token in enumerate(tokens)}
    return tokenizer_class(vocab=vocab, **settings)


def byte_level(first: tuple[str, ...] = ()) -> tuple[dict[str, int], Any]:
    """Return the vocabulary and merges of a byte-level BPE, starting with these special tokens."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=380,
        initial_alphabet=sorted(ByteLevel.alphabet()),
        special_tokens=list(first),
        show_progress=False,
    )
    trained = _train(backend, trainer)
    return trained["vocab"], [tuple(pair) for pair in trained["merges"]]


def _roberta_tokenizer(**settings: Any) -> Any:
    """Build a byte-level BPE tokenizer with RoBERTa's special tokens, the mask last."""
    vocab, merges = byte_level(_ROBERTA_TOKENS)
    vocab["<mask>"] = len(vocab)
    return transformers.RobertaTokenizer(vocab=vocab, merges=merges, **settings)


def _gpt2_tokenizer(**settings: Any) -> Any:
    """Build a byte-level BPE tokenizer with one special token that is never added, and no mask."""
    vocab, merges = byte_level()
    vocab["<|endoftext|>"] = len(vocab)
    return transformers.GPT2Tokenizer(vocab=vocab, merges=merges, **settings)


def _modernbert_tokenizer(**settings: Any) -> Any:
    """Build a byte-level BPE tokenizer with BERT's special tokens after the words."""
    vocab, merges = byte_level()
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    backend.normalizer = NFC()
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    backend.decoder = ByteLevelDecoder()
    names = {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"}
    backend.add_special_tokens(
        [AddedToken(text, lstrip=name == "mask", special=True) for name, text in names.items()]
    )
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(text, backend.token_to_id(text)) for text in ("[CLS]", "[SEP]")],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_input_names=["input_ids", "attention_mask"],
        **{f"{name}_token": text for name, text in names.items()},
        **settings,
    )


def _unigram(
    tokenizer_class: Any, first: tuple[str, ...], last: tuple[str, ...] = (), **settings: Any
) -> Any:
    """Build a SentencePiece-like Unigram tokenizer with special tokens around the pieces."""
    backend = tokenizer_class()._tokenizer
    unknown = tokenizer_class().unk_token
    trainer = trainers.UnigramTrainer(
        vocab_size=260, special_tokens=[unknown], unk_token=unknown, show_progress=False
    )
    scores = {piece: score for piece, score in _train(backend, trainer)["vocab"] if score < 0}
    # Beyond two decimals, the scores and therefore the order change from run to run.
    pieces = sorted((-round(score, 2), piece) for piece, score in scores.items())
    vocab = [
        *((token, 0.0) for token in first),
        *((piece, -cost) for cost, piece in pieces),
        *((token, 0.0) for token in last),
    ]
    return tokenizer_class(vocab=vocab, **settings)


def _family(
    model_class: Any,
    make_tokenizer: Callable[..., Any],
    *,
    padding_offset: int = 0,
    spare_entries: int = 0,
    **family_settings: Any,
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that takes overrides and returns a tokenizer and an untrained model."""

    def make(**overrides: Any) -> tuple[Any, Any]:
        settings = {"max_position_embeddings": 40 + padding_offset, **COMMON, **family_settings}
        settings |= overrides
        positions = settings["max_position_embeddings"] - padding_offset
        tokenizer = make_tokenizer(model_max_length=positions)
        settings.setdefault("vocab_size", len(tokenizer) + spare_entries)
        for role in ("pad", "bos", "eos", "cls", "sep"):
            token_id = getattr(tokenizer, f"{role}_token_id")
            settings.setdefault(f"{role}_token_id", token_id)
        return tokenizer, model_class(model_class.config_class(**settings))

    return make


_BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_ROBERTA_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
_MPNET_TOKENS = ("<s>", "<pad>", "</s>", "[UNK]")
_ALBERT_TOKENS = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
_DEBERTA_TOKENS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
_bert_tokenizer = partial(_wordpiece, transformers.BertTokenizer, _BERT_TOKENS)

FAMILIES: dict[str, Callable[..., tuple[Any, Any]]] = {
    "bert": _family(transformers.BertForMaskedLM, _bert_tokenizer),
    "roberta": _family(
        transformers.RobertaForMaskedLM, _roberta_tokenizer, padding_offset=2, type_vocab_size=1
    ),
    "xlm-roberta": _family(
        transformers.XLMRobertaForMaskedLM,
        partial(_unigram, transformers.XLMRobertaTokenizer, _ROBERTA_TOKENS, ("<mask>",)),
        padding_offset=2,
        type_vocab_size=1,
    ),
    "distilbert": _family(
        transformers.DistilBertForMaskedLM,
        partial(_wordpiece, transformers.DistilBertTokenizer, _BERT_TOKENS),
        hidden_dim=64,
    ),
    # Two families whose embeddings, and therefore the head, are narrower than the encoder.
    "albert": _family(
        transformers.AlbertForMaskedLM,
        partial(_unigram, transformers.AlbertTokenizer, _ALBERT_TOKENS),
        embedding_size=16,
        initializer_range=0.55,
    ),
    "electra": _family(
        transformers.ElectraForMaskedLM, _bert_tokenizer, embedding_size=16, initializer_range=0.5
    ),
    "mpnet": _family(
        transformers.MPNetForMaskedLM,
        partial(_wordpiece, transformers.MPNetTokenizer, _MPNET_TOKENS, ("<mask>",)),
        padding_offset=2,
    ),
    # Only relative positions, and more rows in the head than tokens in the tokenizer, as in
    # published checkpoints of this family and the next.
    "deberta-v2": _family(
        transformers.DebertaV2ForMaskedLM,
        partial(_unigram, transformers.DebertaV2Tokenizer, _DEBERTA_TOKENS, ("[MASK]",)),
        spare_entries=9,
        relative_attention=True,
        position_biased_input=False,
        pos_att_type=["p2c", "c2p"],
        position_buckets=16,
        share_att_key=True,
        norm_rel_ebd="layer_norm",
    ),
    # Here the first layer attends to the whole text, and the second to 4 tokens on either side.
    "modernbert": _family(
        transformers.ModernBertForMaskedLM,
        _modernbert_tokenizer,
        spare_entries=13,
        local_attention=8,
    ),
}

# One family per type of tokenizer.
TOKENIZER_KINDS = ("bert", "roberta", "albert", "modernbert")

# Unusable models: no mask token in the tokenizer, or no masked-LM head in the file.
UNFIT: dict[str, Callable[..., tuple[Any, Any]]] = {
    "gpt2": _family(transformers.GPT2LMHeadModel, _gpt2_tokenizer),
    "bert-without-head": _family(transformers.BertModel, _bert_tokenizer),
}


def draw_weights(model: torch.nn.Module, scale: float, seed: int) -> None:
    """Replace every parameter, including norms and biases, with seeded random numbers.

    Embeddings get the full scale, because the head is tied to them and they determine how peaked
    the predictions are. Other parameters get a smaller scale: attention to a single token would
    amplify float32 errors, and large biases would outweigh the context.
    """
    embeddings = {id(x.weight) for x in model.modules() if isinstance(x, torch.nn.Embedding)}
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = scale * torch.randn(parameter.shape, generator=generator)
            if id(parameter) in embeddings:
                parameter.copy_(noise)
            elif parameter.dim() > 1:
                parameter.copy_(noise / 2)
            elif name.endswith("weight"):  # of a norm
                parameter.copy_(1 + noise / 2)
            else:
                parameter.copy_(noise / 8)


def build(family: str, folder: Path, seed: int = 0, **config_overrides: Any) -> Path:
    """Save a model and tokenizer of a family in `folder`, for the Auto classes. Return `folder`.

    `family` is a key of FAMILIES or UNFIT; `config_overrides` go to the model's configuration
    (`initializer_range` is the scale of the weights, `dtype` the type they are saved in). The same
    arguments give the same weights, and torch's global random state does not change.
    """
    with torch.random.fork_rng(devices=[]):
        tokenizer, model = {**FAMILIES, **UNFIT}[family](**config_overrides)
    draw_weights(model, model.config.initializer_range, seed)
    model.to(model.config.dtype or torch.float32)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def pickled(source: Path, target: Path, shards: int = 1, zipped: bool = True) -> Path:
    """Copy a model's folder to `target` with its weights in `pytorch_model.bin` or its shards."""
    shutil.copytree(source, target)
    (target / "model.safetensors").unlink()
    weights = load_file(source / "model.safetensors")
    parts = {"pytorch_model.bin": list(weights)}
    if shards > 1:
        names = [f"pytorch_model-{n + 1:05}-of-{shards:05}.bin" for n in range(shards)]
        parts = {name: list(weights)[n::shards] for n, name in enumerate(names)}
        weight_map = {key: name for name, keys in parts.items() for key in keys}
        index = json.dumps({"metadata": {}, "weight_map": weight_map})
        (target / "pytorch_model.bin.index.json").write_text(index)
    for name, keys in parts.items():
        part = {key: weights[key] for key in keys}
        # Before PyTorch 1.6 files were not zip archives.
        torch.save(part, target / name, _use_new_zipfile_serialization=zipped)
    return target


class FolderMaker:
    """Object that creates a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def edit_copy(source: Path, target: Path, file: str, **changes: Any) -> Path:
    """Copy a model's folder to `target` and change entries of a JSON file. None removes one."""
    shutil.copytree(source, target)
    entries = json.loads((target / file).read_text()) | changes
    entries = {name: value for name, value in entries.items() if value is not None}
    (target / file).write_text(json.dumps(entries))
    return target
