"""Literal implementation of BaryScore: definition, authors' algorithm, linear program.

It is slow, and shares nothing with the package except the files of the model and the tokenizer,
and POT, which the authors use.
"""

import math

import numpy as np
import ot
import torch
from scipy.optimize import linprog
from scipy.sparse import coo_array
from transformers import AutoModel, AutoTokenizer


class ReferenceBaryScore:
    """BaryScore with a float64 model that encodes one text at a time."""

    def __init__(self, folder):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder, dtype=torch.float64).eval()

    def tokens(self, text):
        """Return the ids of a text and the positions of the tokens that become points."""
        encoded = self.tokenizer(text, return_special_tokens_mask=True)
        ids, flags = encoded["input_ids"], encoded["special_tokens_mask"]
        positions = [i for i, flag in enumerate(flags) if not flag]
        return ids, positions or list(range(len(ids)))

    def layers(self, text, layers=5):
        """Return the normalized states of the last layers, [layers, tokens, hidden]."""
        ids, positions = self.tokens(text)
        rows = torch.tensor([ids])
        with torch.no_grad():
            output = self.model(
                input_ids=rows, attention_mask=torch.ones_like(rows), output_hidden_states=True
            )
        return np.stack(
            [
                [row.numpy() / math.sqrt(float(row @ row)) for row in states[0, positions]]
                for states in output.hidden_states[-layers:]
            ]
        )

    def weights(self, text, documents=None):
        """Return the token weights of a text, which are uniform if there are no documents."""
        ids, positions = self.tokens(text)
        values = np.ones(len(positions))
        special = not any(self.tokenizer(text, return_special_tokens_mask=True)["input_ids"][1:-1])
        if documents is not None and not special:
            sets = [set(self.tokenizer(document)["input_ids"]) for document in documents]
            for index, position in enumerate(positions):
                frequency = sum(ids[position] in document_ids for document_ids in sets)
                values[index] = math.log((len(sets) + 1) / (frequency + 1))
        return values / values.sum() if values.any() else np.full(len(values), 1 / len(values))

    def score(self, candidate, reference, layers=5, documents=None):
        """Return the minimum cost of moving one text's mean points to the other text's."""
        x, y = (self.layers(text, layers).mean(0) for text in (candidate, reference))
        a, b = (self.weights(text, documents) for text in (candidate, reference))
        return transport_cost(a, b, squared_distances(x, y))


def squared_distances(x, y):
    """Compute squared distances [n, m] from differences."""
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def transport_cost(a, b, cost):
    """Compute the minimum cost of moving masses a [n] to b [m] with HiGHS."""
    n, m = cost.shape
    i, j = np.divmod(np.arange(n * m), m)
    equations = np.concatenate([i, n + j]), np.tile(np.arange(n * m), 2)
    sums = coo_array((np.ones(2 * n * m), equations), shape=(n + m, n * m)).tocsr()
    solution = linprog(cost.reshape(-1), A_eq=sums, b_eq=[*a, *b], method="highs")
    assert solution.status == 0, solution.message
    return float(solution.x @ cost.reshape(-1))


def literal_barycentre(layers, start=None, weights=None):
    """Compute the free-support barycenter of layers [layers, tokens, hidden] as the authors do.

    They call POT with float32 layers, uniform weights, and zeros as initial points.
    """
    count = layers.shape[1]
    weights = np.full(count, 1 / count) if weights is None else weights
    return ot.lp.free_support_barycenter(
        list(layers),
        [weights] * len(layers),
        np.zeros(layers.shape[1:]) if start is None else start,
        b=weights,
        numItermax=1000,
    )
