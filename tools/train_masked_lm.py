"""Train the bundled masked language model.

    pip install -c requirements.txt -e ".[tools]"
    torchrun --nproc-per-node 2 -m tools.train_masked_lm CORPUS -o WORK --tokens 40000000

CORPUS is a folder of `NAME.txt.gz` files with one paragraph per line. A new masked-LM head, tied to
the word embeddings, is trained together with the encoder. See training.py for the training loop.
"""

import argparse
import gzip
from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoConfig, AutoTokenizer, BertForMaskedLM, BertModel

from tools.training import Step, fit, options, prepare, save_model

TEXT_LENGTH = 64  # maximum tokens per text in training and evaluation, including special tokens


def read_texts(file: Path) -> list[str]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [line.strip() for line in lines if line.strip()]


def read_corpus(folder: Path, tokenizer: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return a corpus as token ids [texts, TEXT_LENGTH - 2], padded with 0, and lengths [texts].

    Paragraphs are split into texts of TEXT_LENGTH - 2 tokens. The last text may be shorter.
    """
    splitting = {"truncation": True, "max_length": TEXT_LENGTH - 2, "padding": "max_length"}
    splitting |= {"return_overflowing_tokens": True, "add_special_tokens": False}
    ids, lengths = [], []
    for file in sorted({*folder.glob("*.txt.gz")} - {*folder.glob("*.valid.txt.gz")}):
        paragraphs = read_texts(file)
        for start in range(0, len(paragraphs), 10_000):
            chunk = paragraphs[start : start + 10_000]
            texts = tokenizer(chunk, return_tensors="np", **splitting)
            ids.append(texts["input_ids"].astype(np.uint16))
            lengths.append(texts["attention_mask"].sum(1, dtype=np.uint8))
    return np.concatenate(ids), np.concatenate(lengths)


def plan_epoch(lengths: np.ndarray, tokens_per_batch: int, seed: int) -> list[np.ndarray]:
    """Return the batches of an epoch as text indices. Texts in a batch have similar lengths."""
    random = np.random.default_rng(seed)
    order = random.permutation(np.flatnonzero(lengths >= 6))
    order = order[np.argsort(lengths[order], kind="stable")]
    batches = []
    while len(order):
        size = max(1, tokens_per_batch // (int(lengths[order[0]]) + 2))
        batches.append(order[:size])
        order = order[size:]
    return [batches[i] for i in random.permutation(len(batches))]


def mask_batch(
    ids: Tensor, cls: int, sep: int, mask: int, rate: float, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Return masked inputs [texts, tokens], masked positions [texts, k] and targets [texts, k].

    Selected tokens are always replaced with the mask token, as in InfoLM, so the model never
    predicts a visible token.
    """
    texts, inner = ids.shape
    count = max(1, round(rate * inner))
    positions = torch.rand(texts, inner, generator=generator).topk(count, dim=1).indices + 1
    full = torch.cat([torch.full((texts, 1), cls), ids, torch.full((texts, 1), sep)], dim=1)
    targets = full.gather(1, positions)
    return full.scatter(1, positions, mask), positions, targets


def masked_lm_loss(
    model: BertForMaskedLM, ids: Tensor, positions: Tensor, targets: Tensor
) -> Tensor:
    """Return the mean cross-entropy in nats, running the head only at masked positions."""
    states = model.bert(ids).last_hidden_state
    index = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
    return F.cross_entropy(model.cls(states.gather(1, index)).flatten(0, 1), targets.flatten())


def warm_start(folder: Path) -> BertForMaskedLM:
    """Load an encoder from a folder, and add a masked-LM head tied to its embeddings."""
    config = AutoConfig.from_pretrained(folder)
    config.tie_word_embeddings = True
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    model = BertForMaskedLM(config)
    encoder = BertModel.from_pretrained(folder, add_pooling_layer=False, dtype=torch.float32)
    model.bert.load_state_dict(encoder.state_dict())
    model.tie_weights()
    return model.float().train()


def start_head_from_counts(model: BertForMaskedLM, ids: np.ndarray, lengths: np.ndarray) -> None:
    """Initialize the head, with the log token frequencies as the output bias."""
    inner = np.arange(ids.shape[1])[None, :] < lengths[:, None]
    counts = np.bincount(ids[inner], minlength=model.config.vocab_size) + 0.1
    with torch.no_grad():
        head = model.cls.predictions
        head.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())).float())
        nn.init.orthogonal_(head.transform.dense.weight)
        head.transform.LayerNorm.weight.fill_(0.3)


def train(args: argparse.Namespace) -> None:
    """Train on `args.tokens` tokens, and save the model."""
    rank, workers = prepare(args)
    model = warm_start(args.encoder)
    tokenizer = AutoTokenizer.from_pretrained(args.encoder)
    ids, lengths = read_corpus(args.corpus, tokenizer)
    start_head_from_counts(model, ids, lengths)
    special = (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id)

    def steps(start: int, tokens: int) -> Iterator[Step]:
        epochs = (plan_epoch(lengths, args.tokens_per_batch, args.seed + n) for n in count())
        for step, batch in enumerate(islice(chain.from_iterable(epochs), start, None), start):
            if tokens >= args.tokens:
                return
            length = int(lengths[batch].min())
            progress = tokens / args.tokens
            rate = min(1.0, (step + 1) / args.warmup, (1 - progress) / args.decay)
            generator = torch.Generator().manual_seed((args.seed + step) * 1_000_003 + rank)
            mask_rate = args.mask_rate + (args.final_mask_rate - args.mask_rate) * progress
            share = torch.from_numpy(ids[batch[rank::workers], :length].astype(np.int64))
            loss = masked_lm_loss(model, *mask_batch(share, *special, mask_rate, generator))
            size = len(batch) * (length + 2)
            tokens += size
            yield Step(rate, size, {"tokens": tokens}, loss)

    fit(args, model, "bert.", steps, "tokens", log_every=10)
    if rank == 0:
        centre_embeddings(model)
        save_model(model, tokenizer, args.output / "model")


def centre_embeddings(model: BertForMaskedLM) -> None:
    """Move the mean of the word embeddings into the token type embeddings.

    This does not change predictions: the sums of input embeddings stay the same, and all logits at
    a position change by the same amount, which cancels in the softmax. After training, the mean
    dominates the word embeddings. Without the mean, the embeddings are small, so rounding to
    float16 loses less precision.
    """
    with torch.no_grad():
        words, head = model.bert.embeddings.word_embeddings.weight, model.cls.predictions
        mean = words.mean(dim=0)
        words.sub_(mean)
        model.bert.embeddings.token_type_embeddings.weight.add_(mean)
        head.bias.sub_(head.bias.mean())


def main() -> None:
    parser = options(__doc__, body_rate=5e-4, head_rate=2e-3, warmup=50, seed=20221)
    add = parser.add_argument
    add("corpus", type=Path, help="folder with NAME.txt.gz files, one paragraph per line")
    add("--tokens", type=int, default=40_000_000, help="number of tokens to train on")
    add("--tokens-per-batch", type=int, default=2048)
    add("--mask-rate", type=float, default=0.25, help="initial fraction of masked tokens")
    add("--final-mask-rate", type=float, default=0.15, help="final fraction of masked tokens")
    add("--decay", type=float, default=0.4, help="final fraction in which learning rates decay")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
