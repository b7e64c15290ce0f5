"""MENLIScorer: literal implementation, models, combinations, empty texts."""

import functools
from itertools import product

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from infolm_metric import IDF, BaryScorer, BERTScorer, InfoLMScorer, InputError, MENLIScorer
from infolm_metric.core.baselines import Baseline, BaselineNotFoundError, BaselineStats
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import verdict_obstacles
from infolm_metric.menli.settings import NLI_FORMULAS
from infolm_metric.models import nli
from infolm_metric.models.nli import NLIModel, join_pairs
from tests.model_families import SENTENCES, TOKENIZER_KINDS
from tests.nearly_equal import assert_nearly_equal
from tests.nli_models import LABELS, MODELS, build_bart, build_decoder, reorder_outputs
from tests.reference_menli import ReferenceMENLI

CANDIDATES = [SENTENCES[0], "The dog ran.", "", SENTENCES[5], SENTENCES[0]]
EMPTY = 2  # index of the empty candidate
GROUPS = [[SENTENCES[1], SENTENCES[0]], ["The cat sat."], ["Rain fell."]]
GROUPS += [[SENTENCES[3], SENTENCES[9], "a cup of coffee"], [SENTENCES[1]]]
FIRST = [group[0] for group in GROUPS]
LONG = " ".join(SENTENCES[:4])
CORPUS = [f"{text} {end}" for text in SENTENCES[:7] for end in ("Rain fell.", "It was cold.")]

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


@pytest.fixture(scope="module")
def folder(tiny_nli):
    return tiny_nli()


@pytest.fixture(scope="module")
def scorer(folder):
    return MENLIScorer(model_name_or_path=folder)


@pytest.fixture(scope="module")
def bundled():
    """InfoLM scorer with uniform weights, for combinations."""
    return InfoLMScorer(model_name_or_path="bundled", idf=False)


def assert_scores(result, expected):
    """Fail unless these are the scores, with 0 for the empty candidate."""
    expected[EMPTY] = 0
    assert result["scores"] == pytest.approx(expected, abs=1e-6)


# Values


@pytest.mark.parametrize(
    ("family", "rule"), [*((family, "max") for family in MODELS), ("bert", "mean")]
)
def test_scores_match_the_literal_implementation(tiny_nli, family, rule):
    scorer = MENLIScorer(model_name_or_path=tiny_nli(family), formula=list(NLI_FORMULAS))
    reference, combine = ReferenceMENLI(tiny_nli(family), 20), {"max": max, "mean": np.mean}[rule]
    reference.probabilities = functools.cache(reference.probabilities)
    # Some are truncated.
    sides = [*CANDIDATES, LONG, "A cat."], [*GROUPS, [LONG + " Rain."], [LONG]]
    columns = {}
    for direction in ("rh", "hr", "avg"):
        options = {"direction": direction, "multi_reference": rule, "max_length": 20}
        result = scorer.score(*sides, **options)
        columns[direction] = result.scores
        for name in NLI_FORMULAS:
            low = min(NLI_FORMULAS[name])
            expected = [
                combine([reference.score(text, candidate, name, direction) for text in group])
                if candidate
                else low
                for candidate, group in zip(*sides, strict=True)
            ]
            assert result.scores[name] == pytest.approx(expected, abs=5e-6)
            low, high = scorer.bounds(scorer.settings, name)
            assert all(low <= score <= high for score in result.scores[name])
    if rule == "mean":  # formulas are linear
        for name, scores in columns["avg"].items():
            both = np.mean([columns[direction][name] for direction in ("rh", "hr")], axis=0)
            assert scores == pytest.approx(both, abs=1e-6)


@pytest.mark.parametrize("family", TOKENIZER_KINDS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_pairs_are_truncated_like_the_tokenizer_does(tiny_nli, family, side):
    tokenizer = AutoTokenizer.from_pretrained(tiny_nli(family), truncation_side=side)
    texts = [" ".join(LONG.split()[:count]) for count in (0, 1, 2, 4, 7, 12)]
    pairs = list(product(texts, texts))
    for limit in range(tokenizer.num_special_tokens_to_add(pair=True) + 2, 16):
        sides = map(list, zip(*pairs, strict=True))
        expected = tokenizer(*sides, truncation=True, max_length=limit)
        joined = list(join_pairs(tokenizer, pairs, limit))
        assert [list(pair.ids) for pair in joined] == expected["input_ids"]
        types = expected.get("token_type_ids", [None] * len(pairs))
        assert [pair.token_types and list(pair.token_types) for pair in joined] == types


ORDERS = [
    ((2, 0, 1), ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")),
    ((1, 2, 0), ("LABEL_0", "LABEL_1", "LABEL_2")),
]


@pytest.mark.parametrize(("order", "names"), ORDERS)
def test_the_order_of_the_outputs_does_not_change_scores(scorer, folder, tmp_path, order, names):
    other = reorder_outputs(folder, tmp_path / "other", order, names)
    labels = ("neutral", "contradiction", "entailment") if "LABEL_0" in names else None
    scorers = MENLIScorer(model_name_or_path=other, labels=labels), scorer
    sides = CANDIDATES, GROUPS
    result, expected = (scorer.score(*sides, formula=list(NLI_FORMULAS)) for scorer in scorers)
    for name in NLI_FORMULAS:
        assert result.scores[name] == pytest.approx(expected.scores[name], abs=1e-6)
    letters = "".join("enc"[index] for index in order)
    assert f"|labels:{letters}|" in result.signature and "|labels:enc|" in expected.signature


def test_bart_supports_batches_of_texts_with_end_tokens(tmp_path):
    scorer = MENLIScorer(model_name_or_path=build_bart(tmp_path), reuse_memory=0)
    texts = ["the </s> cat", "the cat sat", "a dog", "</s>", "the cat </s> </s> sat"]
    together = scorer.score(texts, ["the dog"] * len(texts)).scores["e"]
    alone = [scorer.score([text], ["the dog"]).scores["e"][0] for text in texts]
    assert together == pytest.approx(alone, abs=1e-6) and len(set(alone)) == len(texts)


@pytest.mark.parametrize("kind", ["qwen3", "gpt2", "opt"])
def test_decoders_without_a_padding_token_score_as_in_transformers(tmp_path, kind):
    folder = build_decoder(tmp_path, kind)
    scorer = MENLIScorer(model_name_or_path=folder, direction="rh", reuse_memory=0)
    texts = ["the cat sat", "a dog", "the cat sat", "rain fell in the garden", "", ""]
    references = ["the cat", "the dog", "a man", "it rained", "a cat", ""]
    scores = scorer.score(texts, references)["scores"]
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    for score, text, reference in zip(scores[:4], texts, references, strict=False):
        with torch.no_grad():  # one pair at a time needs no padding token
            logits = model(**scorer.tokenizer(reference, text, return_tensors="pt")).logits
        assert score == pytest.approx(logits.softmax(-1)[0, 0].item(), abs=1e-5)
    assert scores[4:] == [0, 1] and len(set(scores)) == 6


def test_equal_pairs_are_encoded_once_and_cached(scorer, monkeypatch):
    counts, plain = [], NLIModel.probabilities

    def counting(self, pairs, *more):
        counts.append(len(pairs))
        return plain(self, pairs, *more)

    scorer.unload()
    monkeypatch.setattr(NLIModel, "probabilities", counting)
    scorer.score(["The Cat sat.", "the cat sat.", "A dog."], ["A dog.", "a dog.", "The cat sat."])
    scorer.score(["A dog."], ["the cat sat."], formula=["e", "-c"])
    assert counts == [5, 2, 0]  # the probes, one pair in both directions, and nothing


def test_a_baseline_covers_every_formula(scorer):
    texts = [*CORPUS, *(text.upper() + " again" for text in SENTENCES), *SENTENCES]
    sources = {"task": "source", "direction": "avg"}  # with the same scores
    baseline = scorer.make_baseline([texts], 40, 1, **sources)
    assert len(baseline.stats) == 5
    for name in NLI_FORMULAS:
        options = {"formula": name, "rescale_with_baseline": baseline}
        result = scorer.score(CANDIDATES, FIRST, **options)
        against_sources = scorer.score(CANDIDATES, FIRST, **options, **sources)
        assert_nearly_equal(result["rescaled_scores"], against_sources["rescaled_scores"])
        mean, best = result["baseline"]["mean"], max(NLI_FORMULAS[name])
        expected = [(mean - score) / (mean - best) for score in result["scores"]]
        assert result["rescaled_scores"] == pytest.approx(expected)


def test_the_baseline_of_a_combination_depends_on_the_weights_of_the_other_metric(
    scorer, tiny_bert
):
    infolm = InfoLMScorer(model_name_or_path=tiny_bert, idf=False)
    plain = infolm.settings
    table = plain.replace(idf=IDF.from_corpus(CORPUS, infolm.tokenizer))
    options = {"combine_baseline": infolm.make_baseline([CORPUS], 20, 1), "nli_weight": 0}
    baseline = scorer.make_baseline([CORPUS], 20, 1, combine_with=table, **options)
    assert len(baseline.stats) == 2 * len(NLI_FORMULAS)
    options["rescale_with_baseline"] = baseline
    results = (scorer.score(["a"], ["b"], combine_with=x, **options) for x in (plain, table))
    assert len({result["baseline"]["mean"] for result in results}) == 2


# Models and length limits


def test_models_with_two_labels_support_only_entailment(tiny_nli):
    folder = tiny_nli(labels=("not_entailment", "entailment"))
    texts = [text or "A cat." for text in CANDIDATES]
    scorer = MENLIScorer(model_name_or_path=folder)
    result, run = scorer.score(texts, FIRST), scorer.prepare()
    probabilities = run.pair_probabilities(Pairs(texts, [[text] for text in FIRST]), "avg")
    assert probabilities[:, 0] == pytest.approx(result["scores"], abs=1e-6)
    assert "|labels:-e|" in result.signature and not run.labels.three_way


def test_models_without_a_classifier_are_rejected(folder, tmp_path):
    headless = reorder_outputs(folder, tmp_path / "headless", (0, 1, 2), LABELS)
    weights = load_file(headless / "model.safetensors")
    encoder = {name: tensor for name, tensor in weights.items() if "classifier" not in name}
    save_file(encoder, headless / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="lacks 2 weights .* its classifier is missing"):
        MENLIScorer(model_name_or_path=headless).score(["a"], ["b"])


INVALID = [
    (("not_entailment", "entailment"), {"formula": ["e", "e-c"]}, "'e-c' .* two labels"),
    (LABELS, {"labels": ("entailment", "not_entailment")}, "labels of the 3 outputs"),
    (LABELS, {"max_length": 4}, "max_length must be at least 5 .* 3 special .* got 4"),
    (LABELS, {"max_length": 41}, "max_length must be .* at most 40, .* got 41"),
    (LABELS, {"long_text": "error"}, "tokens together.* more than max_length=40.* long_text"),
]


@pytest.mark.parametrize(("labels", "options", "word"), INVALID)
def test_unusable_models_and_texts_are_rejected_before_weights_are_loaded(
    tiny_nli, labels, options, word, no_model
):
    with pytest.raises(InputError, match=word):
        MENLIScorer(model_name_or_path=tiny_nli(labels=labels), **options).score([LONG], ["b"])


def test_a_matrix_with_long_pairs_is_rejected_if_truncation_is_not_allowed(scorer):
    with pytest.raises(InputError, match="long_text"):
        scorer.matrix(["a", SENTENCES[0]], ["a dog"], max_length=10, long_text="error")


@pytest.mark.filterwarnings("default:infolm")
def test_a_model_that_contradicts_its_labels_triggers_a_single_warning(folder):
    scorer = MENLIScorer(model_name_or_path=folder)
    with pytest.warns(UserWarning) as caught:
        for _ in range(2):
            scorer.score(["a cat"], ["a dog"])
    messages = [str(warning.message) for warning in caught]
    (message,) = (text for text in messages if "labels are wrong" in text)
    assert "'entailment': 0, 'neutral': 1, 'contradiction': 2" in message


@pytest.mark.filterwarnings("default:infolm")
def test_a_model_that_does_not_recognize_copies_triggers_a_warning(folder, monkeypatch):
    monkeypatch.setattr(nli, "PROBES", nli.PROBES[2:])  # an untrained model fails the others too
    scorer = MENLIScorer(model_name_or_path=folder, labels="contradiction,neutral,entailment")
    with pytest.warns(UserWarning, match="identical texts") as caught:
        scorer.score(["a cat"], ["a dog"])
    assert repr(nli.PROBES[0][0]) in str(caught[0].message)


@pytest.mark.filterwarnings("error:infolm")
def test_the_bundled_model_recognizes_copies():
    MENLIScorer(model_name_or_path="bundled").score(["a cat"], ["a dog"])


def test_overflowing_outputs_are_rejected_with_a_remedy(scorer):
    half = MENLIScorer(scorer.settings, dtype="float16", reuse_memory=0)
    for parameter in half.models.model(half.settings).model.parameters():
        parameter.data.fill_(6e4)
    with pytest.raises(InputError, match="not finite with dtype='float16'. Use"):
        half.score(["a cat"], ["a dog"])


# Combinations


def test_a_combination_depends_only_on_the_scores_of_both_metrics(scorer, bundled):
    options = {"combine_with": bundled.settings, "nli_weight": 0.3}
    result = scorer.score(CANDIDATES, GROUPS, **options)
    alone = bundled.score(CANDIDATES, GROUPS)
    unrelated = bundled.score(["a", "b"], ["b", "a"], rescale_with_baseline=True)["baseline"]
    metric = 1 - np.clip(np.array(alone["scores"]) / unrelated["mean"], 0, 1)
    nli = np.array(scorer.score(CANDIDATES, GROUPS)["scores"])
    assert_scores(result, 0.3 * nli + 0.7 * metric)
    for candidate, group, score in zip(CANDIDATES, GROUPS, result["scores"], strict=True):
        (alone,) = scorer.score([candidate], [group], **options)["scores"]
        assert alone == pytest.approx(score, abs=1e-6)
    assert {"combine_with:infolm", "nli_weight:0.3"} <= {*result.signature.split("|")}
    assert "|infolm.measure:fisher_rao_distance|" in result.signature
    assert "|infolm.baseline:package-" in result.signature
    assert scorer.bounds(scorer.settings.replace(**options), "e") == (0, 1)
    counted = options | {"combine_with": bundled.settings.replace(idf="references")}
    assert scorer.select(FIRST, **counted) == scorer.select(FIRST, **options)  # uniform weights


def test_without_a_baseline_scores_are_scaled_by_their_bounds(scorer, tiny_bert):
    others = (InfoLMScorer, {}, 0, 1), (BaryScorer, {"layers": 2}, 0, 4)
    for scorer_type, options, best, worst in (*others, (BERTScorer, {"layer": 1}, 1, -1)):
        other = scorer_type(model_name_or_path=tiny_bert, idf=False, **options)
        with pytest.warns(UserWarning, match="infolm baseline CORPUS"):
            result = scorer.score(CANDIDATES, FIRST, combine_with=other.settings, nli_weight=0)
        assert result.counts["no_baseline"] == len(CANDIDATES)
        scores = np.array(other.score(CANDIDATES, FIRST)["scores"])
        assert_scores(result, (scores - worst) / (best - worst))


def test_one_command_makes_the_baselines_of_both_metrics(scorer, tiny_bert, tmp_path):
    other = BERTScorer(model_name_or_path=tiny_bert, idf=False, layer=1)
    options = {"combine_with": other.settings, "nli_weight": 0.3}
    scorer.make_baseline([CORPUS], 20, 2, **options).save(tmp_path / "both")
    options |= dict.fromkeys(("combine_baseline", "rescale_with_baseline"), tmp_path / "both")
    result = scorer.score(CANDIDATES, FIRST, **options)
    nli = np.array(scorer.score(CANDIDATES, FIRST)["scores"])
    part = other.make_baseline([CORPUS], 20, 2)
    alone = other.score(CANDIDATES, FIRST, rescale_with_baseline=part)["rescaled_scores"]
    assert_scores(result, 0.3 * nli + 0.7 * np.clip(alone, 0, 1))
    assert len(result["rescaled_scores"]) == len(CANDIDATES)
    assert not result.counts["no_baseline"]


def test_a_custom_baseline_scales_the_other_metric(scorer, tiny_bert, tmp_path):
    infolm = InfoLMScorer(model_name_or_path=tiny_bert, idf=False, information_measure="kl")
    infolm.make_baseline([CORPUS], 20, 1).save(tmp_path / "kl.baseline")
    options = {"combine_with": infolm.settings, "combine_baseline": tmp_path / "kl.baseline"}
    result = scorer.score(CANDIDATES, FIRST, nli_weight=0, **options)
    alone = infolm.score(CANDIDATES, FIRST, rescale_with_baseline=tmp_path / "kl.baseline")
    assert_scores(result, np.clip(alone["rescaled_scores"], 0, 1))
    assert "|infolm.baseline:file-" in result.signature
    with pytest.raises(BaselineNotFoundError, match="temperature is 2.0 instead of 1.0"):
        hot = infolm.settings.replace(temperature=2.0)
        scorer.score(["a"], ["b"], **{**options, "combine_with": hot})
    stats = BaselineStats.of([0.0, 0.0], [3, 3])
    keys = Baseline.load(tmp_path / "kl.baseline").stats
    options["combine_baseline"] = Baseline(dict.fromkeys(keys, stats))
    with pytest.raises(InputError, match="combine_baseline must not have the best score"):
        scorer.score(["a"], ["b"], **options)


INVALID_METRICS = [
    (InfoLMScorer, {"information_measure": "kl"}, BaselineNotFoundError, "has neither"),
    (InfoLMScorer, {"max_length": 5, "long_text": "error"}, InputError, "at most max_length=5"),
    (InfoLMScorer, {"idf": "bundled"}, InputError, "for the tokenizer 'bundled'"),
    (BaryScorer, {"layers": 99}, InputError, "layers must be at most"),
    (BaryScorer, {"model_name_or_path": "./nowhere"}, OSError, "nowhere"),
]


@pytest.mark.parametrize(("scorer_type", "options", "error", "word"), INVALID_METRICS)
def test_errors_of_the_other_metric_are_raised_before_a_model_is_loaded(
    scorer, tiny_bert, no_model, scorer_type, options, error, word
):
    scorer.unload()
    other = scorer_type(**{"model_name_or_path": tiny_bert, **options}).settings
    with pytest.raises(error, match=word):
        scorer.score(CANDIDATES, FIRST, combine_with=other)


@pytest.mark.filterwarnings("default:infolm")
def test_warnings_of_both_metrics_are_reported(scorer, bundled):
    other = bundled.settings.replace(max_length=8)
    candidates, groups = [LONG, ""], [["A dog.", "Rain fell.", LONG], ["A dog.", "Rain."]]
    with pytest.warns(UserWarning) as caught:
        result = scorer.score(candidates, groups, combine_with=other, max_length=20)
    assert result["warnings"] == {"too_long": 2, "too_long_pairs": 3, "empty": 1}
    messages = " ".join(str(warning.message) for warning in caught)
    assert "2 of 7 texts" in messages and "3 in total" in messages
    unknown = scorer.score(["ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ"], ["ᚠᚢᚦ ᚨᚱᚲ"], combine_with=bundled.settings)
    assert unknown["warnings"]["unknown_tokens"] and verdict_obstacles(unknown.counts)


@pytest.mark.parametrize("name", ["baryscore", "bertscore"])
def test_the_package_contains_baselines_for_combinations_by_name(name):
    combined = MENLIScorer(model_name_or_path="bundled", combine_with=name)
    settings = combined.settings.replace(formula=list(NLI_FORMULAS))
    stats = combined.prepare(settings).unrelated(range(1, 5))
    assert [list(stats[references]) for references in range(1, 5)] == [list(NLI_FORMULAS)] * 4


# Empty texts


def test_one_empty_text_scores_the_lower_bound_and_two_score_the_upper_bound(scorer):
    candidates, references = ["", "  ", "A cat.", ""], ["A cat.", "A dog.", "", " "]
    for direction, name in product(("rh", "hr", "avg"), NLI_FORMULAS):
        low, high = scorer.bounds(scorer.settings, name)
        options = {"direction": direction, "formula": name}
        assert scorer.score(candidates, references, **options)["scores"] == [low, low, low, high]
        matrix = scorer.matrix(candidates[:3], references[:3], **options)
        scores = scorer.score(candidates[:3] * 3, np.repeat(references[:3], 3), **options)
        assert matrix.T.ravel() == pytest.approx(scores["scores"])


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_a_combination_is_0_for_one_empty_text_and_1_for_two(scorer, bundled, weight):
    candidates = ["", "A cat.", "A cat.", "", ""]
    groups = [["A cat."], [""], ["", " "], [""], ["A dog.", ""]]
    options = {"combine_with": bundled.settings, "nli_weight": weight}
    result = scorer.score(candidates, groups, formula=["e", "e-n-2c"], **options)
    for scores in result.scores.values():
        assert scores == [0, 0, 0, 1, 0]
    assert result["warnings"]["empty"] == 6


@pytest.mark.parametrize("combined", [False, True])
def test_an_empty_text_is_selected_only_if_all_are_empty(scorer, bundled, combined):
    options = {"combine_with": bundled.settings} if combined else {}
    for empty in (["", ""], ["\t", " ", ""]):
        assert scorer.select([*empty, "A cat.", "The dog ran.", "A cat."], **options).strip()
        assert scorer.select([*empty, "A cat."], **options) == "A cat."
        assert scorer.select(empty, **options) == empty[0]
