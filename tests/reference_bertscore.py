"""Literal implementation of BERTScore, which pads texts and shares nothing with the package."""

import math

import torch
from transformers import AutoModel, AutoTokenizer


class ReferenceBERTScore:
    """BERTScore with a float64 model that encodes all texts in one padded batch."""

    def __init__(self, folder, leading_space=False):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder, dtype=torch.float64).eval()
        self.space = " " if leading_space else ""

    def tokens(self, text):
        """Return the ids of a stripped text and the flags of its special tokens."""
        text = text.strip()
        encoded = self.tokenizer(
            self.space * bool(text) + text, return_special_tokens_mask=True, add_special_tokens=True
        )
        return encoded["input_ids"], encoded["special_tokens_mask"]

    def states(self, texts, layer):
        """Return the normalized states of each text, [tokens, hidden]."""
        rows = [self.tokens(text)[0] for text in texts]
        longest = max(map(len, rows))
        pad = self.tokenizer.pad_token_id
        ids = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        with torch.no_grad():
            output = self.model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        states = output.hidden_states[layer]
        return [
            [row / math.sqrt(float(row @ row)) for row in states[index][: len(tokens)]]
            for index, tokens in enumerate(rows)
        ]

    def weights(self, text, documents):
        """Return the weight of each token, 0 for special tokens."""
        ids, special = self.tokens(text)
        if documents is None:
            return [1.0 - flag for flag in special]
        sets = [set(self.tokens(document)[0]) for document in documents]
        idf = [math.log((len(sets) + 1) / (sum(i in s for s in sets) + 1)) for i in ids]
        return [0.0 if flag else value for flag, value in zip(special, idf, strict=True)]

    def score(self, candidates, references, layer, documents=None):
        """Return F1, precision and recall of each pair."""
        texts = list(dict.fromkeys([*candidates, *references]))
        states = dict(zip(texts, self.states(texts, layer), strict=True))
        rows = []
        for candidate, reference in zip(candidates, references, strict=True):
            x, y = states[candidate], states[reference]
            precision = self.mean(candidate, documents, x, y)
            recall = self.mean(reference, documents, y, x)
            rows.append((2 * precision * recall / (precision + recall), precision, recall))
        return rows

    def mean(self, text, documents, x, y):
        """Return the weighted mean of the best similarities of a text's tokens."""
        weights = self.weights(text, documents)
        best = [max(float(token @ other) for other in y) for token in x]
        return sum(w * value for w, value in zip(weights, best, strict=True)) / sum(weights)
