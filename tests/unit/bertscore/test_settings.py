"""Settings of BERTScore, and the table of recommended layers."""

import pytest
from bert_score.utils import model2layers

from infolm_metric import InputError
from infolm_metric.bertscore.settings import LAYERS, RECOMMENDED, BERTScoreSettings

# Models whose layers do not come from the package bert-score.
MEASURED = {"sentence-transformers/all-mpnet-base-v2": 7, "bundled": 5}


def test_recommended_layers_are_those_of_the_package_bert_score():
    names = {f"{owner}/{name}" for owner, models in RECOMMENDED.items() for name in models}
    assert len(names) > 45
    for name in names - MEASURED.keys():
        library = [model2layers[key] for key in (name, name.split("/")[1]) if key in model2layers]
        assert library == [LAYERS[name]], name
    assert {name: LAYERS[name] for name in MEASURED} == MEASURED


KNOWN = [
    ("roberta-large", 17),
    ("FacebookAI/roberta-large", 17),
    ("google-bert/bert-base-multilingual-cased", 9),
    ("microsoft/deberta-xlarge-mnli", 40),
    ("google/bert_uncased_L-8_H-512_A-8", 6),
    ("bundled", 5),
    ("someone/roberta-large", None),
    ("xlnet-base-cased", None),
]


@pytest.mark.parametrize(("model", "layer"), KNOWN)
def test_layers_are_known_by_name_with_or_without_the_owner(model, layer):
    settings = BERTScoreSettings(model_name_or_path=model)
    assert settings.recommended_layer == layer
    if layer is not None:
        assert settings.index(99) == settings.replace(layer=layer).index(99) == layer
        assert settings.signature_fields() == settings.replace(layer=layer).signature_fields()


def test_the_default_model_is_the_english_model_of_the_paper(monkeypatch):
    monkeypatch.delenv("INFOLM_MODEL", raising=False)
    settings = BERTScoreSettings()
    assert settings.model_name_or_path == "FacebookAI/roberta-large"
    assert (settings.names, settings.idf, settings.multi_reference) == (("f1",), False, "max")
    assert settings.index(25) == 17


def test_a_folder_needs_a_layer_even_if_it_has_the_name_of_a_known_model(tmp_path):
    folder = tmp_path / "all-mpnet-base-v2"
    folder.mkdir()
    settings = BERTScoreSettings(model_name_or_path=folder)
    with pytest.raises(InputError, match=r"layer must be set .*Try layer=7 first"):
        settings.index(13)
    assert settings.replace(layer=0).index(13) == 0


INVALID = [
    ({"layer": -1}, "layer must be at least 0, got -1"),
    ({"layer": 2.5}, "layer must be a whole number .* got 2.5"),
    ({"layers": 5}, "unknown setting 'layers'. Did you mean 'layer'"),
    ({"score": "f"}, "unknown score 'f'"),
    ({"score": []}, "score is an empty list"),
    ({"multi_reference": "min"}, "unknown multi_reference 'min'. Known: 'max', 'mean'"),
]


@pytest.mark.parametrize(("values", "word"), INVALID)
def test_invalid_settings_are_rejected_with_their_value(values, word):
    with pytest.raises(InputError, match=word):
        BERTScoreSettings.of(**values)


def test_a_list_of_scores_keeps_its_order_and_baselines_cover_all_scores():
    settings = BERTScoreSettings(score=["recall", "f1", "recall"])
    assert settings.names == ("recall", "f1") and settings.several
    forms = settings.baseline_settings()
    assert [form.idf for form in forms] == [False, "references"]
    assert {form.names for form in forms} == {("f1", "precision", "recall")}
