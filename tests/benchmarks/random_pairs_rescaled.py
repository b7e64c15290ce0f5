"""Where random pairs lie on the scale of `rescale_with_baseline`: they should average 0.

    python tests/benchmarks/random_pairs_rescaled.py RATINGS.jsonl [--model bundled] [--pairs 200]

RATINGS.jsonl has rows with `id` and `references`, such as WebNLG 2020. Half of the distinct
references, drawn at random, give the pairs, each of two samples; the baseline from a file is made
of the other half, several times. Prints the mean of the rescaled scores by each source of a
baseline, and of copies.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, pstdev

from infolm_metric import InfoLMScorer
from infolm_metric.kernel.rescaling import make_baseline


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ratings", type=Path)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    samples: dict[str, str] = {}  # text -> sample
    for line in options.ratings.open(encoding="utf-8"):
        row = json.loads(line)
        samples.update(dict.fromkeys(row["references"], str(row["id"])))
    scorer = InfoLMScorer(model_name_or_path=options.model)
    means: dict[str, list[float]] = {}
    for seed in range(options.draws):
        candidates, references, others = drawn(samples, options.pairs, random.Random(seed))
        baseline = make_baseline(scorer.inner, scorer.settings, others, 500, 1)
        with tempfile.TemporaryDirectory() as folder:
            baseline.save(f"{folder}/file")
            for source in (True, f"{folder}/file"):
                asked = {"rescale_with_baseline": source}
                result = scorer.score(candidates, references, **asked)
                copies = scorer.score(candidates[:20], candidates[:20], **asked)
                name = result["baseline"]["source"]
                means.setdefault(name, []).append(result["rescaled"])
                print(
                    f"draw {seed}, {name:8} rescaled mean {result['rescaled']:+.4f}, copies "
                    f"{copies['rescaled']:.4f}; unrelated {result['baseline']['mean']:.4f} of "
                    f"{result['baseline']['pairs']} pairs, raw mean {result['infolm']:.4f}",
                    flush=True,
                )
    for name, found in means.items():
        print(f"{name:8} {len(found)} draws: {fmean(found):+.4f}, deviation {pstdev(found):.4f}")


def drawn(
    samples: Mapping[str, str], pairs: int, draw: random.Random
) -> tuple[list[str], list[str], list[str]]:
    """Candidates and references of one half of the texts, of two samples each; the other half."""
    texts = sorted(samples)
    draw.shuffle(texts)
    own, others = texts[: len(texts) // 2], texts[len(texts) // 2 :]
    candidates, references = list[str](), list[str]()
    while len(candidates) < pairs:
        one, other = draw.sample(own, 2)
        if samples[one] != samples[other]:
            candidates.append(one)
            references.append(other)
    return candidates, references, others


if __name__ == "__main__":
    main()
