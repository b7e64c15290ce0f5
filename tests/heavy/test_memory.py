"""Memory does not grow with the number of pairs: measured in a process of its own."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, resource, sys
from infolm_metric import InfoLMScorer

folder, way = sys.argv[1:]
scorer = InfoLMScorer(model_name_or_path=folder, idf=False, reuse_memory=0)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def score(start, stop):
    sides = [[f"{word} {number}" for number in range(start, stop)] for word in ("cat", "dog")]
    if way == "stream":
        return sum(1 for row in scorer.stream(zip(*sides)))
    return len(scorer.score(*sides).scores["fisher_rao_distance"])

score(0, 1500)  # more than a chunk
before = peak()
count = score(1500, 8000)
print(json.dumps({"pairs": count, "grown": peak() - before}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is in other units elsewhere")
@pytest.mark.parametrize("way", ["list", "stream"])
def test_memory_does_not_grow_with_the_number_of_pairs(way, tiny_models):
    folder = tiny_models("bert", vocab_size=3000, num_hidden_layers=1)
    command = [sys.executable, "-c", PROGRAM, str(folder), way]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["pairs"] == 6500
    held = 2 * found["pairs"] * 3000 * 8 / 2**20  # megabytes, were every distribution kept
    assert found["grown"] < held / 2
