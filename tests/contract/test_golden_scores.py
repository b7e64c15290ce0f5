"""Scores of ten pairs by the bundled models, which must not change between versions.

python -m tests.contract.test_golden_scores        prints the table with the current scores

When a bundled model is retrained, replace its columns with the printed ones (e and e-c belong to
the NLI model). When nothing was retrained, another score means that equal signatures no longer mean
equal scores.
"""

import warnings

import pytest

from infolm_metric import BaryScorer, BERTScorer, InfoLMScorer, MENLIScorer

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")

REFERENCES = {  # by candidate
    "The cat sat on the mat.": "The cat sat on the mat.",
    "A cat was sitting on the mat.": "The cat sat on a mat.",
    "The council passed the budget.": "On Monday, the budget was approved by the council.",
    "The river did not rise.": "The river rose by three metres.",
    "Tickets cost twelve dollars.": "The museum charges $12 for a ticket.",
    "Rain is expected tomorrow.": "Tomorrow will be dry and sunny.",
    "He plays the violin.": "She repaired the roof last summer.",
    "Bananas are rich in potassium.": "Bananas contain a lot of potassium, and they are cheap.",
    "Yes": "No",
    "": "The candidate is an empty text.",
}
SCORERS = {  # scorer and settings by column
    "infolm": (InfoLMScorer, {}),
    "one_pass": (InfoLMScorer, {"masking": "none", "temperature": 2.0, "interpolation": 0.1}),
    "kl": (InfoLMScorer, {"information_measure": "kl_divergence"}),
    "baryscore": (BaryScorer, {}),
    "bertscore": (BERTScorer, {}),
    "e": (MENLIScorer, {"formula": "e"}),
    "e-c": (MENLIScorer, {"formula": "e-c"}),
}
TABLE = """
   infolm  one_pass        kl baryscore bertscore         e       e-c candidate
  0.00000   0.00000   0.00000   0.00000   1.00000   0.95435   0.93442 The cat sat on the mat.
  0.34558   0.16763   0.64773   0.33665   0.92374   0.94992   0.93084 A cat was sitting on the mat.
  0.52730   0.25053   1.64369   0.55734   0.85305   0.50561   0.48012 The council passed the budget.
  0.76412   0.33291   4.00208   0.73614   0.75679   0.02661  -0.80832 The river did not rise.
  0.54527   0.32082   1.69033   0.61628   0.78113   0.43963   0.31728 Tickets cost twelve dollars.
  0.55766   0.29050   1.74324   0.57231   0.80798   0.09468  -0.00393 Rain is expected tomorrow.
  0.55411   0.43408   1.81145   0.80813   0.74609   0.01534  -0.48189 He plays the violin.
  0.48691   0.22611   1.36717   0.49863   0.86211   0.53295   0.44531 Bananas are rich in potassium.
  0.00000   0.36424   0.00000   0.52885   0.67917   0.02313  -0.93407 Yes
  0.90116   0.42015   5.89024   1.06022   0.00000   0.00000  -1.00000 
"""
ROWS = [line.split(maxsplit=len(SCORERS)) for line in TABLE.splitlines()[2:]]


def score(column: str) -> list[float]:
    """Score all pairs with the settings of a column."""
    scorer_type, settings = SCORERS[column]
    scorer = scorer_type(model_name_or_path="bundled", device="cpu", **settings)
    (scores,) = scorer.score([*REFERENCES], [*REFERENCES.values()]).scores.values()
    return scores


@pytest.mark.parametrize("column", SCORERS)
def test_scores_of_the_bundled_models_are_unchanged(column):
    expected = [float(row[[*SCORERS].index(column)]) for row in ROWS]
    assert score(column) == pytest.approx(expected, abs=1e-4)


def main() -> None:
    """Print the table with the current scores."""
    warnings.simplefilter("ignore")
    print(*(f"{column:>9}" for column in SCORERS), "candidate")
    columns = [score(column) for column in SCORERS]
    for candidate, values in zip(REFERENCES, zip(*columns, strict=True), strict=True):
        print(*(f"{value:9.5f}" for value in values), candidate)


if __name__ == "__main__":
    main()
