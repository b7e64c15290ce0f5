"""Memory does not grow with the number of pairs: measured in a process of its own."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, resource, sys
from infolm_metric import InfoLMScorer

scorer = InfoLMScorer(model_name_or_path=sys.argv[1], idf=False, reuse_memory=0)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def score(way, start, stop):
    sides = [[f"{word} {number}" for number in range(start, stop)] for word in ("cat", "dog")]
    if way == "stream":
        return sum(1 for row in scorer.stream(zip(*sides)))
    return len(scorer.score(*sides).scores["fisher_rao_distance"])

found = {}
for way in ("stream", "list"):
    score(way, 0, 1100)  # more than a chunk
    before = peak()
    count = score(way, 1100, 5000)
    found[way] = {"pairs": count, "grown": peak() - before}
print(json.dumps(found))
"""
VOCABULARY = 3000


@pytest.fixture(scope="module")
def found(tiny_models):
    """What was scored either way, and by how many megabytes the peak has grown."""
    folder = tiny_models("bert", vocab_size=VOCABULARY, num_hidden_layers=1)
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is in other units elsewhere")
@pytest.mark.parametrize("way", ["list", "stream"])
def test_memory_does_not_grow_with_the_number_of_pairs(way, found):
    assert found[way]["pairs"] == 3900
    held = 2 * found[way]["pairs"] * VOCABULARY * 8 / 2**20  # were every distribution kept
    assert found[way]["grown"] < held / 2
