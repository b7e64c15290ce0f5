"""Which output means what: the orders of published models, and names that say nothing."""

import pytest

from infolm_metric.menli.labels import Labels, label_names, read_labels

E_N_C = ("entailment", "neutral", "contradiction")


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (E_N_C, Labels(0, 1, 2)),  # ynie/roberta-large-snli_mnli_fever_anli..., mDeBERTa
        (("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), Labels(2, 1, 0)),  # microsoft/deberta-large
        (("contradiction", "entailment", "neutral"), Labels(1, 2, 0)),  # cross-encoder/nli-*
        (("Entails", "Neutral", "Contradicts"), Labels(0, 1, 2)),
        (("entailment", "not_entailment"), Labels(0, None, None)),
        (("not_entailment", "entailment"), Labels(1, None, None)),
        (("NON-ENTAILMENT", "ENTAILMENT"), Labels(1, None, None)),
    ],
)
def test_labels_are_read_by_their_names(names, labels):
    assert read_labels("m", dict(enumerate(names))) == labels


@pytest.mark.parametrize(
    "names",
    [
        ("LABEL_0", "LABEL_1", "LABEL_2"),
        ("negative", "neutral", "positive"),
        ("entailment", "neutral", "neutral"),
        ("entailment", "contradiction"),
        ("LABEL_0",),
        ("not_entailment", "neutral", "contradiction"),
        (*E_N_C, "other"),
    ],
)
def test_names_that_do_not_say_what_is_what_are_refused_with_the_remedy(names):
    with pytest.raises(ValueError, match="does not say which one is entailment.*give.*labels="):
        read_labels("m", dict(enumerate(names)))


def test_given_labels_stand_for_those_of_the_model():
    nameless = {index: f"LABEL_{index}" for index in range(3)}
    given = label_names("labels", "contradiction,entailment,neutral")
    assert read_labels("m", nameless, given) == Labels(1, 2, 0)
    assert read_labels("m", nameless, given).order == "cen"
    assert label_names("labels", ["entailment", "not entailment"])[1] == "not_entailment"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("entailment,neutral", ValueError),
        (["entailment", "entailment", "neutral"], ValueError),
        (["LABEL_0", "LABEL_1", "LABEL_2"], ValueError),
        (5, TypeError),
        ([0, 1, 2], TypeError),
    ],
)
def test_wrong_labels_are_refused(value, error):
    with pytest.raises(error, match="^labels must"):
        label_names("labels", value)
