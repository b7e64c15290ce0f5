"""Where random pairs lie on the scale of `rescale_with_baseline`: they should average 0.

    python tests/benchmarks/random_pairs_rescaled.py RATINGS.jsonl [--model bundled] [--pairs 200]

RATINGS.jsonl has rows with `id` and `references`, such as WebNLG 2020. Half of the distinct
references, drawn at random, give the pairs, each of two samples; the baseline from a file is made
of the other half. Prints the mean of the rescaled scores by each source of a baseline, and of
copies.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import warnings
from pathlib import Path

from infolm_metric import InfoLMScorer
from infolm_metric.kernel.rescaling import make_baseline


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ratings", type=Path)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--pairs", type=int, default=200)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    samples: dict[str, str] = {}  # text -> sample
    for line in options.ratings.open(encoding="utf-8"):
        row = json.loads(line)
        samples.update(dict.fromkeys(row["references"], str(row["id"])))
    draw = random.Random(0)
    texts = sorted(samples)
    draw.shuffle(texts)
    own, others = texts[: len(texts) // 2], texts[len(texts) // 2 :]
    candidates, references = list[str](), list[str]()
    while len(candidates) < options.pairs:
        one, other = draw.sample(own, 2)
        if samples[one] != samples[other]:
            candidates.append(one)
            references.append(other)
    scorer = InfoLMScorer(model_name_or_path=options.model)
    baseline = make_baseline(scorer.inner, scorer.settings, others, 500, 1)
    with tempfile.TemporaryDirectory() as folder:
        baseline.save(f"{folder}/file")
        for source in (True, f"{folder}/file", "package"):
            asked = {"rescale_with_baseline": source}
            result = scorer.score(candidates, references, **asked)
            copies = scorer.score(candidates, candidates, **asked)
            print(
                f"{result['baseline']['source']:8} rescaled mean {result['rescaled']:+.4f}, "
                f"copies {copies['rescaled']:.4f}, baseline {result['baseline']['mean']:.4f} "
                f"of {result['baseline']['pairs']} pairs; raw mean {result['infolm']:.4f}"
            )


if __name__ == "__main__":
    main()
