"""Ratings that are made up: systems from good to bad, and people who see it."""

import numpy as np

from infolm_metric.meta_evaluation import Ratings, read_ratings
from tests.random_pairs import random_pairs


def rated() -> Ratings:
    """Five systems that keep fewer and fewer words of the reference, and people who see it."""
    random = np.random.default_rng(0)
    rows = []
    for sample, row in enumerate(random_pairs(6, longest=8)):
        words = row["references"][0].split()
        for rank in range(5):
            kept = [word if random.random() > rank / 5 else "zzz" for word in words]
            rows.append(
                {
                    "system": f"system {rank}",
                    "id": sample,
                    "prediction": " ".join(kept),
                    "references": row["references"],
                    "human": {"fluency": 90 - 15 * rank + float(random.normal())},
                    "metrics": {"bleu": 50 - 9 * rank + float(random.normal())},
                }
            )
    return read_ratings(rows)
