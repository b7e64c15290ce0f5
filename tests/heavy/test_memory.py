"""Memory does not grow with the number of pairs, measured in a separate process."""

import json
import sys

import pytest

from tests.processes import printed

PROGRAM = """
import json, sys
from tools.memory import score
print(json.dumps([score("infolm", sys.argv[1], 3000, way) for way in ("stream", "list")]))
"""
VOCABULARY = 3000


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory has other units elsewhere")
def test_memory_does_not_grow_with_the_number_of_pairs(tiny_models):
    folder = tiny_models("bert", vocab_size=VOCABULARY, num_hidden_layers=1)
    for megabytes in json.loads(printed("-c", PROGRAM, folder)):
        growth = megabytes["after"] - megabytes["before"]
        assert growth < 3000 * VOCABULARY * 8 / 2**20  # half of all distributions
