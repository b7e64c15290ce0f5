"""Literal, deliberately slow float64 implementation of InfoLM, which the package must agree with.

It shares no code with the package. Every masked context goes through the model alone, without
batching, padding or any other shortcut that could hide a mistake.
"""

import functools
import math

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from tests.reference_measures import reference_measure


def window_starts(length, window):
    """Return the starts of windows over `length` tokens: 0, 2, 4, 6, 7 for length 11, width 4."""
    return [*range(0, length - window, max(1, window // 2)), length - window]


def nearest_window(index, starts, window):
    """Return the start of the earliest window whose center is nearest to a token."""
    # Distances are doubled, so that centers between two tokens are integers.
    return min(starts, key=lambda start: (abs(2 * index - (2 * start + window - 1)), start))


class ReferenceInfoLM:
    """InfoLM with a model from a folder: positions, distributions and scores.

    `masked=False` leaves all tokens visible, as with masking="none". Of the keyword arguments
    that the methods share, `max_length` and `long_text` are the settings with these names.
    """

    def __init__(self, folder, masked=True):
        self.masked = masked
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForMaskedLM.from_pretrained(folder).double().eval()
        self.logits = functools.cache(self._logits)  # many settings need the same contexts
        ids, body = self._encode("a")
        self.prefix, self.suffix = ids[: body[0]], ids[body[-1] + 1 :]
        self.max_length = min(self.tokenizer.model_max_length, self._model_positions())

    def _model_positions(self):
        """Return the number of tokens for which the model has positions.

        RoBERTa-like models reserve the rows up to the padding index for padding. Only these models
        have a padding index in their position embeddings.
        """
        offset = 0
        for name, module in self.model.named_modules():
            padding_index = getattr(module, "padding_idx", None)
            if name.endswith("position_embeddings") and padding_index is not None:
                offset = padding_index + 1
        return self.model.config.max_position_embeddings - offset

    def _encode(self, text, **options):
        """Return token ids with special tokens, and the indices of the text's own tokens."""
        encoded = self.tokenizer(text, return_special_tokens_mask=True, verbose=False, **options)
        flags = encoded["special_tokens_mask"]
        return encoded["input_ids"], [index for index, flag in enumerate(flags) if not flag]

    def positions(self, text, max_length=None, long_text="truncate"):
        """Return every masked context of a text, the index of its mask and the original token id.

        A text without maskable tokens has a single context with a mask as its only token.
        """
        max_length = self.max_length if max_length is None else max_length
        mask = self.tokenizer.mask_token_id
        ids, maskable = self._encode(text)
        if not maskable:
            return [([*self.prefix, mask, *self.suffix], len(self.prefix), mask)]
        if len(ids) > max_length and long_text == "window":
            return self._windowed_positions([ids[index] for index in maskable], max_length)
        ids, maskable = self._encode(text, truncation=True, max_length=max_length)
        return [self._mask(ids, index) for index in maskable]

    def _mask(self, ids, index):
        token = self.tokenizer.mask_token_id if self.masked else ids[index]
        return [*ids[:index], token, *ids[index + 1 :]], index, ids[index]

    def _windowed_positions(self, tokens, max_length):
        """Mask every token once, in the window with the nearest center."""
        window = max_length - len(self.prefix) - len(self.suffix)
        starts = window_starts(len(tokens), window)
        positions = []
        for index in range(len(tokens)):
            start = nearest_window(index, starts, window)
            context = [*self.prefix, *tokens[start : start + window], *self.suffix]
            positions.append(self._mask(context, len(self.prefix) + index - start))
        return positions

    def _logits(self, context):
        """Return the logits of a context, [tokens, vocab]."""
        ids = torch.tensor([context])
        with torch.no_grad():
            return self.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]

    def log_distribution(self, text, temperature=1.0, weights=None, interpolation=0.0, **cut):
        """Compute log p(. | text), float64 [vocab], interpolated with the text's own tokens.

        `weights` maps token ids to weights (None: uniform). If all tokens of the text have weight
        0, the weights are uniform.
        """
        positions = self.positions(text, **cut)
        log_predictions = [
            torch.log_softmax(self.logits(tuple(context))[index] / temperature, -1)
            for context, index, _ in positions
        ]
        gammas = [1.0 if weights is None else weights[token] for *_, token in positions]
        gamma = torch.tensor(gammas if sum(gammas) else [1.0] * len(gammas), dtype=torch.float64)
        gamma /= gamma.sum()
        log_p = torch.logsumexp(torch.stack(log_predictions) + gamma.log()[:, None], 0)
        if not interpolation or not self._encode(text)[1]:
            return log_p
        mixed = (1 - interpolation) * log_p.exp()
        for (*_, token), weight in zip(positions, gamma.tolist(), strict=True):
            mixed[token] += interpolation * weight
        return mixed.log()

    def idf_table(self, documents, **cut):
        """Compute log((N + 1) / (df + 1)) for every token id, or None for one distinct document.

        A document contains the tokens that scoring would mask, without the special tokens that
        the tokenizer adds.
        """
        contents = []
        for text in documents:
            tokens = tuple(token for *_, token in self.positions(text, **cut))
            contents.append(tokens if self._encode(text)[1] else ())
        if len(set(contents)) == 1:
            return None
        return {
            token: math.log((len(contents) + 1) / (sum(token in text for text in contents) + 1))
            for token in range(self.model.config.vocab_size)
        }

    def score(
        self, candidates, references, measure, temperature=1.0, idf=False, symmetrize="jeffreys",
        interpolation=0.0, max_length=None, long_text="truncate", **parameters,
    ):  # fmt: skip
        """Score each pair; `idf` is False, "references" or "separate"."""
        cut = {"max_length": max_length, "long_text": long_text}
        tables = [None, None]
        if idf:
            tables[0] = tables[1] = self.idf_table(references, **cut)
        if idf == "separate":
            tables[1] = self.idf_table(candidates, **cut)
            tables = tables if None not in tables else [None, None]
        how = {"temperature": temperature, "interpolation": interpolation, **cut}
        rows = [
            [
                self.log_distribution(text, weights=table, **how).numpy()
                for text, table in zip(pair, tables, strict=True)
            ]
            for pair in zip(references, candidates, strict=True)
        ]
        return [float(reference_measure(measure, *row, symmetrize, **parameters)) for row in rows]
