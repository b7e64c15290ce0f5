"""Results that must not depend on Python's hash seed."""

from tests.processes import printed

TOKENIZERS = ("bert", "roberta", "xlm-roberta", "deberta-v2")
PROGRAM = """
import sys
from transformers import AutoTokenizer
from infolm_metric.core.idf import tokenizer_fingerprint
from infolm_metric.robustness.attacks import ATTACKS, attack
from tests.model_families import SENTENCES

names = [tokenizer_fingerprint(AutoTokenizer.from_pretrained(path)) for path in sys.argv[1:]]
assert len(set(names)) == len(names)
print(names, [attack(text, name, 3) for name in ATTACKS for text in SENTENCES])
"""


def test_fingerprints_and_attacks_do_not_depend_on_the_hash_seed(tiny_models):
    folders = [tiny_models(family) for family in TOKENIZERS]
    first, second = (
        printed("-c", PROGRAM, *folders, env={"PYTHONHASHSEED": seed}) for seed in ("1", "77")
    )
    assert first == second
