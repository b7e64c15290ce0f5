"""Evaluate a masked language model on held-out text with one mask at a time, as in InfoLM.

    python -m tools.evaluate_masked_lm CORPUS [--model MODEL] [--texts 200] [--masks 8]

Prints the mean cross-entropy of the masked tokens in nats and the top-1 and top-5 accuracy in
percent, for each `NAME.valid.txt.gz` in the folder and for all of them.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, AutoTokenizer

import infolm_metric
from tools.tables import show
from tools.train_masked_lm import TEXT_LENGTH, read_texts

BUNDLED = Path(infolm_metric.__file__).parent / "bundled"


@torch.inference_mode()
def judge(
    model: Any, tokenizer: Any, texts: list[str], masks: int, random: np.random.Generator
) -> Tensor:
    """Mask random positions of each text, one at a time, and evaluate the predictions.

    Returns float64 [masks of all texts, 3]: cross-entropy in nats, top-1 hit and top-5 hit.
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
    """Print a table of results per file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder of NAME.valid.txt.gz")
    parser.add_argument("--model", type=Path, default=BUNDLED, help="BERT-like model")
    parser.add_argument("--texts", type=int, default=200, help="number of texts per file")
    parser.add_argument("--masks", type=int, default=8, help="masked positions per text")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForMaskedLM.from_pretrained(args.model, dtype=torch.float32).eval()
    random = np.random.default_rng(args.seed)
    results = {
        file.name.split(".")[0]: judge(
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
