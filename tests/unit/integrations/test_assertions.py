"""`assert_answer` and `assert_not_worse`, called without the pytest plugin."""

import numpy as np
import pytest

from infolm_metric import BaryScorer, InputError
from infolm_metric.integrations.assertions import assert_answer, assert_not_worse
from infolm_metric.meta_evaluation import approximate_randomization
from tests.integration_files import BETTER, REFERENCES, WORSE

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")  # texts are few


def test_texts_that_a_model_cannot_judge_fail():
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("bcdfgh"), 60)) for _ in range(10)]
    with pytest.raises(AssertionError, match=r"(?s)no verdict by bertscore.*verdict: none"):
        assert_not_worse(texts, texts, texts)


TEXTS = ["A cat sat."] * 10
INVALID = [  # function, arguments, settings, and part of the message
    (assert_answer, (None, "Paris"), {}, "answer must be a string, got None"),
    (assert_answer, ("Paris", None), {}, "references must contain a text that is not blank"),
    (assert_answer, ("Paris", ["", " "]), {}, "references must contain a text"),
    (assert_answer, ("Paris", [3]), {}, r"references\[0\] must be a string, got 3"),
    (assert_answer, ("Paris", "Paris", "unclear"), {}, "allow must be a list of strings, got the"),
    (assert_answer, ("Paris", "Paris", ["unclaer"]), {}, "verdict in allow 'unclaer'. Did you"),
    (assert_answer, ("Paris", "Paris", [True]), {}, "unknown verdict in allow True"),
    (assert_answer, ("Paris", "Paris", None), {}, "allow must be a list of strings, got None"),
    (assert_not_worse, ("A cat sat.", TEXTS, TEXTS), {}, "new must be a list of strings, got the"),
    (assert_not_worse, (TEXTS, [*TEXTS[1:], None], TEXTS), {}, r"old\[9\] must be a string"),
    (assert_not_worse, (TEXTS, TEXTS, "A cat sat."), {}, "references must be a list of strings"),
    (assert_not_worse, (TEXTS, TEXTS, [*TEXTS[1:], []]), {}, r"references\[9\]"),
    (assert_not_worse, (TEXTS[1:], TEXTS, TEXTS), {}, "at least 10, got 9, 10 and 10"),
    (assert_not_worse, (TEXTS, TEXTS, TEXTS[1:]), {}, "at least 10, got 10, 10 and 9"),
    (assert_not_worse, (TEXTS[1:],) * 3, {}, "at least 10, got 9, 9 and 9"),
    (assert_not_worse, (TEXTS,) * 3, {"metric": "bertscor"}, "unknown metric 'bertscor'. Did you"),
    (assert_not_worse, (TEXTS,) * 3, {"temprature": 2}, "unknown setting 'temprature'"),
    (assert_not_worse, (TEXTS,) * 3, {"score": ["f1", "recall"]}, "score must be one name"),
    (assert_not_worse, (TEXTS,) * 3, {"idf": "separate"}, "idf must not be 'separate'"),
]


@pytest.mark.parametrize(("function", "arguments", "settings", "problem"), INVALID)
def test_invalid_arguments_are_rejected_before_a_model_is_loaded(
    no_model, function, arguments, settings, problem
):
    with pytest.raises(InputError, match=problem):
        function(*arguments, **settings)


def test_arrays_and_tuples_are_accepted():
    assert_answer(np.array(["It was Armstrong."])[0], np.array(["Neil Armstrong", "Armstrong"]))
    assert_not_worse(np.array(BETTER), tuple(WORSE), [(text, "") for text in REFERENCES])


def test_token_weights_come_from_the_references_of_one_system():
    """Check the p-value against scores computed for each system alone."""
    new, old = BETTER[:5] + WORSE[5:], WORSE[:4] + BETTER[4:]
    scorer = BaryScorer(model_name_or_path="bundled")
    scores = [scorer.score(texts, REFERENCES)["scores"] for texts in (new, old)]
    p = approximate_randomization(*scores)
    with pytest.raises(AssertionError, match=f"p = {p:.2g}"):  # IDF weights of a template
        assert_not_worse(new, old, REFERENCES, metric="baryscore")
