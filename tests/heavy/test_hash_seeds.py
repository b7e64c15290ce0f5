"""What must not depend on the hash seed of Python, in processes with seeds of their own."""

import os
import subprocess
import sys

import pytest
from transformers import AutoTokenizer

from infolm_metric.core.idf import tokenizer_fingerprint
from infolm_metric.robustness.attacks import ATTACKS, attack
from tests.project_files import ROOT
from tests.unit.robustness.test_attacks import TEXTS

TOKENIZERS = ("bert", "roberta", "xlm-roberta", "deberta-v2")


def test_fingerprints_are_the_same_in_another_process(tiny_models):
    program = (
        "import sys; from transformers import AutoTokenizer\n"
        "from infolm_metric.core.idf import tokenizer_fingerprint\n"
        "for path in sys.argv[1:]:\n"
        "    print(tokenizer_fingerprint(AutoTokenizer.from_pretrained(path)))"
    )
    paths = [str(tiny_models(family)) for family in TOKENIZERS]
    printed = subprocess.run(
        [sys.executable, "-c", program, *paths],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1"},
    ).stdout.split()
    assert printed == [tokenizer_fingerprint(AutoTokenizer.from_pretrained(p)) for p in paths]
    assert len(set(printed)) == len(paths)


@pytest.mark.parametrize("hash_seed", ["1", "77"])
def test_an_attack_is_the_same_for_any_hash_seed_of_python(hash_seed):
    program = (
        "from infolm_metric.robustness.attacks import ATTACKS, attack\n"
        f"print([attack(text, name, 3) for name in ATTACKS for text in {TEXTS!r}])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    expected = [attack(text, name, 3) for name in ATTACKS for text in TEXTS]
    assert result.stdout.strip() == repr(expected), result.stderr
