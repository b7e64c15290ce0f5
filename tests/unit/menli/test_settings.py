"""Settings of MENLI, and labels of its models."""

import pytest

from infolm_metric import InputError
from infolm_metric.baryscore.settings import BaryScoreSettings
from infolm_metric.bertscore.settings import BERTScoreSettings
from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.infolm.settings import InfoLMSettings
from infolm_metric.menli.settings import MENLISettings
from infolm_metric.models.nli import Labels, read_labels

BASELINE = BUNDLED_FOLDER / "infolm_baseline.json"
TWO_SCORES = InfoLMSettings(information_measure=["l1", "l2"])


INVALID = [
    ({"task": "sumary"}, "unknown task 'sumary'. Did you mean 'summary'"),
    ({"task": "summary", "combine_baseline": "some.baseline"}, "some.baseline"),
    ({"formula": "c-e"}, "unknown formula 'c-e'. Known: 'e', '-c'"),
    ({"formula": "e - n"}, "Did you mean 'e-n'"),
    ({"formula": ["e", 1]}, r"formula\[1\] must be .* got 1"),
    ({"nli_weight": 1.5, "combine_with": "infolm"}, "nli_weight must be between .* got 1.5"),
    ({"nli_weight": 0.3}, "nli_weight requires a combination .*combine_with"),
    ({"direction": "ah"}, "unknown direction 'ah'. Known: 'avg', 'rh', 'hr'"),
    ({"multi_reference": "min"}, "unknown multi_reference 'min'. Known: 'max'"),
    ({"long_text": "window"}, "unknown long_text 'window'. Known: 'truncate'"),
    ({"combine_with": "bleu"}, "unknown combine_with 'bleu'. Known: 'infolm'"),
    ({"combine_with": [0.5]}, r"combine_with must be .* got \[0.5\]"),
    ({"combine_with": MENLISettings()}, "combine_with must be one of infolm, baryscore, bertscore"),
    ({"combine_with": TWO_SCORES}, "combine_with must be .* single score, .*l1_distance"),
    ({"combine_with": "infolm", "combine_baseline": 5}, "combine_baseline must be"),
    ({"combine_model": "bundled"}, "combine_model requires a combination"),
    ({"combine_layers": 5, "combine_with": "infolm"}, "to be baryscore or bertscore, got infolm"),
    ({"combine_layers": "6-10", "combine_with": "bertscore"}, "layer must be .* got '6-10'"),
    ({"combine_layers": 0, "combine_with": "baryscore"}, "layers must be a number N >= 1"),
    ({"combine_baseline": BASELINE}, "combine_baseline requires a combination"),
    ({"labels": "entailment,neutral"}, "^labels must"),
    ({"labels": ["entailment", "entailment", "neutral"]}, "^labels must"),
]


@pytest.mark.parametrize(("values", "word"), INVALID)
def test_invalid_settings_are_rejected_with_their_value(values, word):
    with pytest.raises(InputError, match=word):
        MENLISettings.of(**values)


def test_the_other_metric_inherits_device_dtype_and_batch_size(monkeypatch):
    monkeypatch.delenv("INFOLM_NLI_MODEL", raising=False)
    monkeypatch.setenv("INFOLM_MODEL", "mine")
    settings = MENLISettings(combine_with="infolm", device="cpu", dtype="bfloat16", batch_size=3)
    assert settings.model_name_or_path == "microsoft/deberta-large-mnli"
    other = settings.other
    assert (other.metric, other.model_name_or_path) == ("infolm", "mine")
    assert (other.device, other.dtype, other.batch_size) == ("cpu", "bfloat16", 3)
    assert other.long_text == "truncate" and other.idf is False
    assert settings.replace(long_text="error").other.long_text == "error"


@pytest.mark.parametrize("variable", ["INFOLM_NLI_MODEL", "INFOLM_MODEL"])
def test_the_other_metric_uses_its_own_bundled_model(monkeypatch, variable):
    monkeypatch.setenv(variable, "bundled")
    for name in ("infolm", "baryscore", "bertscore"):
        settings = MENLISettings(combine_with=name)
        assert settings.model_name_or_path == settings.other.model_name_or_path == "bundled"
    infolm = InfoLMSettings(model_name_or_path="mine", dtype="float16")
    assert infolm.idf == "references"
    assert MENLISettings(combine_with=infolm).other == infolm  # used unchanged


def test_the_model_and_the_layers_of_the_other_metric_can_be_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "encoder").mkdir()
    options = {"model_name_or_path": "bundled", "combine_model": "encoder"}
    settings = MENLISettings(combine_with="bertscore", combine_layers=7, **options)
    for other in (settings.other, settings.replace(nli_weight=0.5).other):
        assert (other.layer, other.model_name_or_path) == (7, str(tmp_path / "encoder"))
    baryscore = MENLISettings(combine_with="baryscore", combine_layers="6-8", **options)
    assert baryscore.other.layers == (6, 7, 8)
    by_object = MENLISettings(combine_with=BERTScoreSettings(score="recall"), combine_layers=3)
    assert (by_object.other.layer, by_object.other.names) == (3, ("recall",))
    uniform = settings.replace(combine_with=settings.other.replace(idf="references"))
    assert uniform.with_uniform_weights().other == settings.other
    assert not {"combine_model", "combine_layers"} & settings.signature_fields().keys()


# Labels

E_N_C = ("entailment", "neutral", "contradiction")


RECOGNIZED = [
    (E_N_C, Labels(0, 1, 2)),  # ynie/roberta-large-snli_mnli_fever_anli..., mDeBERTa
    (("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), Labels(2, 1, 0)),  # microsoft/deberta-large
    (("Entails", "Neutral", "Contradicts"), Labels(0, 1, 2)),
    (("entailment", "not_entailment"), Labels(0, None, None)),
    (("not_entailment", "entailment"), Labels(1, None, None)),
    (("NON-ENTAILMENT", "ENTAILMENT"), Labels(1, None, None)),
]


@pytest.mark.parametrize(("names", "labels"), RECOGNIZED)
def test_labels_are_recognized_by_their_names(names, labels):
    assert read_labels("m", dict(enumerate(names)), None) == labels


AMBIGUOUS = [
    ("LABEL_0", "LABEL_1", "LABEL_2"),
    ("entailment", "neutral", "neutral"),
    ("entailment", "contradiction"),
    ("not_entailment", "neutral", "contradiction"),
    (*E_N_C, "other"),
]


@pytest.mark.parametrize("names", AMBIGUOUS)
def test_ambiguous_label_names_are_rejected_with_a_remedy(names):
    with pytest.raises(InputError, match="must be entailment, neutral.*labels="):
        read_labels("m", dict(enumerate(names)), None)


def test_labels_in_the_settings_override_the_labels_of_the_model():
    nameless = {index: f"LABEL_{index}" for index in range(3)}
    labels = MENLISettings(labels="contradiction,entailment,neutral").labels
    assert read_labels("m", nameless, labels) == Labels(1, 2, 0)
    two = MENLISettings(labels=["entailment", "not entailment"]).labels
    assert read_labels("m", {0: "a", 1: "b"}, two) == Labels(0, None, None)
    with pytest.raises(InputError, match="labels of the 3 outputs"):
        read_labels("m", nameless, two)


@pytest.mark.parametrize("combined", ["infolm", InfoLMSettings(idf=False), BaryScoreSettings()])
def test_jobs_cache_encodings_of_neither_metric(combined):
    settings = MENLISettings(combine_with=combined)
    without = settings.without_reuse()
    assert settings.reuse_memory > 0 and settings.other.reuse_memory > 0
    assert without.reuse_memory == without.other.reuse_memory == 0
    assert without.signature_fields() == settings.signature_fields()
    assert without.other.signature_fields() == settings.other.signature_fields()
