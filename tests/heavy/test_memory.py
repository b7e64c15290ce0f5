"""Memory does not grow with the number of pairs, measured in a separate process."""

import json
import sys

import pytest

from tests.processes import printed
from tools.timing import in_process

PROGRAM = """
import json, resource, sys
from infolm_metric import InfoLMScorer

scorer = InfoLMScorer(model_name_or_path=sys.argv[1], idf=False, reuse_memory=0)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def score(way, start, stop):
    sides = [[f"{word} {number}" for number in range(start, stop)] for word in ("cat", "dog")]
    rows = scorer.stream(zip(*sides)) if way == "stream" else scorer.score(*sides)["scores"]
    assert sum(1 for row in rows) == stop - start

growth = []
for way in ("stream", "list"):
    score(way, 0, 1100)  # more than a chunk
    before = peak()
    score(way, 1100, 4000)
    growth.append(peak() - before)
print(json.dumps(growth))
"""
VOCABULARY = 3000


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory has other units elsewhere")
def test_memory_does_not_grow_with_the_number_of_pairs(tiny_models):
    folder = tiny_models("bert", vocab_size=VOCABULARY, num_hidden_layers=1)
    for megabytes in json.loads(printed("-c", PROGRAM, folder)):
        assert megabytes < 2900 * VOCABULARY * 8 / 2**20  # half of all distributions


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_with_the_bundled_model_is_limited_and_released():
    sizes = in_process("tools.memory", {"count": 1500, "form": "list"})  # more than the cache holds
    assert sizes["peak"] < 1800 and sizes["unloaded"] < 700  # MB
