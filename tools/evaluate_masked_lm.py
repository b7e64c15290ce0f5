"""Evaluate a masked language model on held-out text with one mask per pass, as in InfoLM.

    python -m tools.evaluate_masked_lm CORPUS [--model MODEL] [--texts 200] [--masks 8]

Prints the mean cross-entropy of the masked tokens in nats, and the top-1 and top-5 accuracy in
percent. There is a row for each file `NAME.valid.txt.gz` in the folder, and one for all files.
"""

import argparse
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, AutoTokenizer

from infolm_metric.core.settings import BUNDLED_FOLDER
from tools.tables import show

TEXT_LENGTH = 64  # maximum tokens per text, including special tokens


def read_texts(file: Path) -> list[str]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [line.strip() for line in lines if line.strip()]


@torch.inference_mode()
def evaluate(
    model: Any, tokenizer: Any, texts: list[str], masks: int, random: np.random.Generator
) -> Tensor:
    """Mask random positions of each text, one per pass, and evaluate the predictions.

    Returns each mask's cross-entropy in nats, top-1 hit and top-5 hit, float64 [masks, 3].
    """
    batches = []
    for text in tokenizer(texts, truncation=True, max_length=TEXT_LENGTH)["input_ids"]:
        ids = torch.tensor(text)
        at = torch.from_numpy(random.permutation(np.arange(1, len(ids) - 1))[:masks])
        copies = ids.repeat(len(at), 1).scatter_(1, at[:, None], tokenizer.mask_token_id)
        hidden = model.base_model(copies).last_hidden_state[torch.arange(len(at)), at]
        log_p = torch.log_softmax(model.cls(hidden).double(), dim=-1)
        token_log_p = log_p.gather(1, ids[at, None])
        rank = (log_p > token_log_p).sum(1, keepdim=True)
        batches.append(torch.cat([-token_log_p, (rank < 1).double(), (rank < 5).double()], dim=1))
    return torch.cat(batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder with files NAME.valid.txt.gz")
    parser.add_argument("--model", type=Path, default=BUNDLED_FOLDER, help="BERT-like model")
    parser.add_argument("--texts", type=int, default=200, help="number of texts per file")
    parser.add_argument("--masks", type=int, default=8, help="masked positions per text")
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForMaskedLM.from_pretrained(args.model, dtype=torch.float32).eval()
    random = np.random.default_rng(0)
    results = {
        file.name.split(".")[0]: evaluate(
            model, tokenizer, read_texts(file)[: args.texts], args.masks, random
        )
        for file in sorted(args.corpus.glob("*.valid.txt.gz"))
    }
    results["pooled"] = torch.cat(list(results.values()))
    rows = [
        [name, len(values), f"{cross_entropy:.3f}", f"{100 * top_1:.1f}", f"{100 * top_5:.1f}"]
        for name, values in results.items()
        for cross_entropy, top_1, top_5 in [values.mean(dim=0).tolist()]
    ]
    show("Held-out texts", ["file", "masked tokens", "nats", "top-1", "top-5"], rows)


if __name__ == "__main__":
    main()
