"""Results that must not depend on Python's hash seed."""

from transformers import AutoTokenizer

from infolm_metric.core.document_counts import tokenizer_fingerprint
from infolm_metric.robustness.attacks import ATTACKS, attack
from tests.model_families import SENTENCES
from tests.processes import printed

TOKENIZERS = ("bert", "roberta", "xlm-roberta", "deberta-v2")
PROGRAM = """
import sys
from tests.heavy.test_hash_seeds import results
print(results(sys.argv[1:]))
"""


def results(folders):
    names = [tokenizer_fingerprint(AutoTokenizer.from_pretrained(path)) for path in folders]
    assert len(set(names)) == len(names)
    return names, [attack(text, name, 3) for name in ATTACKS for text in SENTENCES]


def test_fingerprints_and_attacks_do_not_depend_on_the_hash_seed(tiny_models):
    folders = [str(tiny_models(family)) for family in TOKENIZERS]
    printed_results = printed("-c", PROGRAM, *folders, env={"PYTHONHASHSEED": "1"})
    assert printed_results == f"{results(folders)}\n"  # with the seed of this process
