"""MENLI's scores: against a literal implementation, in any company, combined, and as jobs."""

import json
import math
import pickle
import warnings

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from infolm_metric import BaryScorer, InfoLMScorer, MENLIScorer
from infolm_metric.kernel.baselines import NoBaseline
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.rescaling import make_baseline, score_part
from infolm_metric.kernel.results import joined
from infolm_metric.menli import nli_model
from infolm_metric.menli.formulas import FORMULAS
from infolm_metric.running.files import PairSource
from infolm_metric.running.resume import run_job
from tests.model_families import SENTENCES
from tests.nli_models import LABELS, MODELS, build, build_bart, reordered
from tests.reference_menli import ReferenceMENLI

CANDIDATES = [SENTENCES[0], "The dog ran.", "", SENTENCES[5], SENTENCES[0]]
GROUPS = [
    [SENTENCES[1], SENTENCES[0]],
    ["The cat sat."],
    ["Rain fell."],
    [SENTENCES[3], SENTENCES[9], "a cup of coffee"],
    [SENTENCES[1]],
]
FIRST = [group[0] for group in GROUPS]

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


@pytest.fixture(scope="module")
def folder(tiny_nli):
    return tiny_nli()


@pytest.fixture(scope="module")
def scorer(folder):
    return MENLIScorer(model_name_or_path=folder)


@pytest.fixture(scope="module")
def reference(folder):
    return ReferenceMENLI(folder, 40)


@pytest.mark.parametrize("how", ["max", "mean"])
@pytest.mark.parametrize("direction", ["rh", "hr", "avg"])
def test_scores_are_those_of_a_literal_implementation(scorer, reference, direction, how):
    combined = {"max": max, "mean": lambda values: sum(values) / len(values)}[how]
    result = scorer.score(
        CANDIDATES, GROUPS, formula=list(FORMULAS), direction=direction, multi_reference=how
    )
    for name in FORMULAS:
        expected = [
            combined([reference.score(text, candidate, name, direction) for text in group])
            for candidate, group in zip(CANDIDATES, GROUPS, strict=True)
        ]
        assert result.scores[name] == pytest.approx(expected, abs=1e-6)
        assert result["menli"][name] == pytest.approx(np.mean(expected), abs=1e-6)
        low, high = scorer.inner.bounds(scorer.settings, name)
        assert all(low <= score <= high for score in result.scores[name])
    assert result.higher_is_better


def test_avg_is_the_mean_of_both_directions(scorer):
    every = [
        scorer.score(CANDIDATES, FIRST, formula=list(FORMULAS), direction=way).scores
        for way in ("rh", "hr", "avg")
    ]
    rh, hr, avg = (np.array(list(scores.values())) for scores in every)
    assert avg == pytest.approx((rh + hr) / 2, abs=1e-12)
    assert not np.allclose(rh, hr)
    swapped = scorer.score(FIRST, CANDIDATES, direction="hr")
    assert swapped["scores"] == rh[0].tolist()


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ((2, 1, 0), ("contradiction", "neutral", "entailment")),
        ((2, 0, 1), ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")),
        ((1, 2, 0), ("LABEL_0", "LABEL_1", "LABEL_2")),
    ],
)
def test_a_head_in_another_order_gives_the_same_scores(scorer, folder, tmp_path, order, names):
    other = reordered(folder, tmp_path / "other", order, names)
    given = ("neutral", "contradiction", "entailment") if "LABEL_0" in names else None
    scores = MENLIScorer(model_name_or_path=other, labels=given).score(
        CANDIDATES, GROUPS, formula=list(FORMULAS)
    )
    own = scorer.score(CANDIDATES, GROUPS, formula=list(FORMULAS))
    for name in FORMULAS:
        assert scores.scores[name] == pytest.approx(own.scores[name], abs=1e-6)
    letters = "".join("enc"[index] for index in order)
    assert f"|labels:{letters}|" in scores.signature and "|labels:enc|" in own.signature


@pytest.mark.parametrize("family", MODELS)
def test_a_score_is_the_same_to_the_last_bit_in_any_company(tiny_nli, family):
    scorer = MENLIScorer(model_name_or_path=tiny_nli(family), reuse_memory=0)
    whole = scorer.score(CANDIDATES, GROUPS)["scores"]
    assert len(set(whole)) > 3
    assert scorer.score(CANDIDATES[::-1], GROUPS[::-1], batch_size=1)["scores"] == whole[::-1]
    for candidate, group, score in zip(CANDIDATES, GROUPS, whole, strict=True):
        assert scorer.score([candidate], [group])["scores"] == [score]


def test_a_typed_end_token_is_read_in_company_by_a_model_like_bart(tmp_path):
    scorer = MENLIScorer(model_name_or_path=build_bart(tmp_path), reuse_memory=0)
    texts = ["the </s> cat", "the cat sat", "a dog", "</s>", "the cat </s> </s> sat"]
    together = scorer.score(texts, ["the dog"] * len(texts)).scores["e"]
    alone = [scorer.score([text], ["the dog"]).scores["e"][0] for text in texts]
    assert together == alone and len(set(alone)) == len(texts)


def test_equal_pairs_are_read_once_and_kept(scorer, monkeypatch):
    read = []
    own = nli_model.NLIModel.probabilities
    monkeypatch.setattr(
        nli_model.NLIModel,
        "probabilities",
        lambda self, pairs, *more: (read.append(len(pairs)), own(self, pairs, *more))[1],
    )
    scorer.unload()
    scorer.score(["The Cat sat.", "the cat sat.", "A dog."], ["A dog.", "a dog.", "The cat sat."])
    assert read == [2, 2]  # the probes, and one couple in both directions
    scorer.score(["A dog."], ["the cat sat."], formula=["e", "-c"])
    assert read == [2, 2, 0]


def test_probabilities_are_those_behind_the_scores(scorer):
    result = scorer.score(CANDIDATES, GROUPS, formula="e-c", probabilities=True)
    found = result["probabilities"]
    assert list(found) == ["e", "n", "c"]
    assert np.sum(list(found.values()), axis=0) == pytest.approx(np.ones(5))
    assert np.subtract(found["e"], found["c"]) == pytest.approx(result["scores"])
    both = scorer.score(CANDIDATES, GROUPS, formula=["e", "-c"], probabilities=True)
    assert both["probabilities"]["-c"]["c"] == [-score for score in both["scores"]["-c"]]
    parts = [
        scorer.score(CANDIDATES[part], GROUPS[part], formula="e-c", probabilities=True)
        for part in (slice(2), slice(2, 5))
    ]
    assert joined(parts).as_dict()["probabilities"] == found
    assert "probabilities" not in result.as_dict(return_scores=False)


def test_a_model_of_two_labels_does_for_entailment_alone(tiny_nli):
    folder = tiny_nli(labels=("not_entailment", "entailment"))
    result = MENLIScorer(model_name_or_path=folder, probabilities=True).score(CANDIDATES, FIRST)
    assert result["probabilities"] == {"e": result["scores"]}
    with pytest.raises(ValueError, match="formula='e-c' needs a model .* two labels"):
        MENLIScorer(model_name_or_path=folder, formula=["e", "e-c"]).score(["a"], ["b"])


def test_models_that_cannot_be_used_are_refused_before_their_weights_are_read(
    tiny_nli, tiny_models, folder, tmp_path
):
    nameless = tiny_nli(labels=("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(ValueError, match="give their names in the order of the outputs"):
        MENLIScorer(model_name_or_path=nameless).score(["a"], ["b"])
    with pytest.raises(ValueError, match="labels must name the 2 outputs"):
        MENLIScorer(model_name_or_path=tiny_models("bert"), labels=LABELS).score(["a"], ["b"])
    headless = reordered(folder, tmp_path / "headless", (0, 1, 2), LABELS)
    weights = load_file(headless / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if "classifier" not in name}
    save_file(kept, headless / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match="lacks 2 weights .* its classifier is missing"):
        MENLIScorer(model_name_or_path=headless).score(["a"], ["b"])


@pytest.mark.filterwarnings("default:infolm")
def test_a_model_that_is_not_what_its_labels_say_is_warned_of_once(folder):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scorer = MENLIScorer(model_name_or_path=folder)
        for _ in range(2):
            scorer.score(["a cat"], ["a dog"])
    told = [str(each.message) for each in caught if "may not be what its labels say" in str(each)]
    assert len(told) == 1
    assert "'entailment': 0, 'neutral': 1, 'contradiction': 2" in told[0]


def test_empty_and_too_long_texts_are_scored_and_told_of(scorer):
    long = " ".join(SENTENCES[:4])
    with pytest.warns(UserWarning) as caught:
        result = scorer.score(["", long], ["a cat", "a cat"])
    told = [str(each.message) for each in caught]
    assert any("1 of 4 texts without a token" in text for text in told)
    assert any("1 of 4 texts too long for 40 tokens with the other" in text for text in told)
    assert all(math.isfinite(score) for score in result["scores"])
    assert (result.remarks.empty, result.remarks.too_long, result.remarks.texts) == (1, 1, 4)
    with pytest.raises(ValueError, match=r"tokens together, more than max_length=40: .* long_text"):
        scorer.score(["", long], ["a cat", "a cat"], long_text="error")


# Combinations.


def test_a_fixed_combination_is_made_of_both_metrics_alone_and_of_nothing_else_in_the_call(scorer):
    infolm = InfoLMScorer(model_name_or_path="bundled")
    other = infolm.settings.replace(idf=False)
    options = {"combine_with": other, "nli_weight": 0.3}
    result = scorer.score(CANDIDATES, GROUPS, **options)
    alone = infolm.score(CANDIDATES, GROUPS, idf=False)
    lit = infolm.score(["a", "b"], ["b", "a"], idf=False, rescale_with_baseline=True)
    metric = 1 - np.clip(np.array(alone["scores"]) / lit["baseline"]["mean"], 0, 1)
    nli = np.array(scorer.score(CANDIDATES, GROUPS)["scores"])
    assert result["scores"] == pytest.approx(0.3 * nli + 0.7 * metric, abs=1e-12)
    for candidate, group, score in zip(CANDIDATES, GROUPS, result["scores"], strict=True):
        assert scorer.score([candidate], [group], **options)["scores"] == [score]
    fields = dict(part.split(":", 1) for part in result.signature.split("|"))
    assert fields["combine_with"] == "infolm" and fields["nli_weight"] == "0.3"
    assert fields["infolm.measure"] == "fisher_rao_distance"
    assert fields["infolm.baseline"].startswith("package-")
    assert scorer.inner.bounds(scorer.settings.replace(**options), "e") == (0, 1)


def test_without_a_baseline_the_bounds_fix_the_range_and_without_bounds_it_is_refused(
    scorer, tiny_bert
):
    own = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    result = scorer.score(CANDIDATES, FIRST, combine_with=own.settings, nli_weight=0)
    alone = own.score(CANDIDATES, FIRST)
    expected = 1 - np.array(alone["scores"])  # Fisher-Rao is at most 1
    assert result["scores"] == pytest.approx(expected, abs=1e-12)
    unbounded = own.settings.replace(information_measure="kl")
    with pytest.raises(NoBaseline, match="combine_with needs .* kl_divergence has neither"):
        scorer.score(["a"], ["b"], combine_with=unbounded)


def test_a_baseline_of_ones_own_scales_the_other_metric(scorer, tiny_bert, tmp_path):
    own = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False, information_measure="kl")
    texts = [f"{one} {two}" for one in SENTENCES[:7] for two in ("Rain fell.", "It was cold.")]
    make_baseline(own.inner, own.settings, texts, 20, 1).save(tmp_path / "kl.baseline")
    options = {"combine_with": own.settings, "combine_baseline": tmp_path / "kl.baseline"}
    result = scorer.score(CANDIDATES, FIRST, nli_weight=0, **options)
    alone = own.score(CANDIDATES, FIRST, rescale_with_baseline=tmp_path / "kl.baseline")
    assert result["scores"] == pytest.approx(np.clip(alone["rescaled_scores"], 0, 1), abs=1e-12)
    assert "|infolm.baseline:file-" in result.signature
    with pytest.raises(NoBaseline, match="does not fit: .*temperature was 1.0 and is 2.0"):
        hot = own.settings.replace(temperature=2.0)
        scorer.score(["a"], ["b"], **{**options, "combine_with": hot})


@pytest.mark.parametrize(
    ("other", "error", "message"),
    [
        (InfoLMScorer(information_measure="kl"), NoBaseline, "kl_divergence has neither"),
        (InfoLMScorer(max_length=2), ValueError, "max_length must be at least 3"),
        (InfoLMScorer(max_length=5, long_text="error"), ValueError, "more than"),
        (InfoLMScorer(idf="bundled"), ValueError, "belongs to the tokenizer 'bundled'"),
        (BaryScorer(layers=99), ValueError, "layers must be at most"),
    ],
)
def test_what_the_other_metric_refuses_is_refused_before_the_model_reads(
    scorer, tiny_bert, monkeypatch, other, error, message
):
    read = []
    own = nli_model.NLIModel.probabilities
    monkeypatch.setattr(
        nli_model.NLIModel,
        "probabilities",
        lambda self, pairs, *more: (read.append(len(pairs)), own(self, pairs, *more))[1],
    )
    scorer.unload()
    given = other.settings.replace(model_name_or_path=str(tiny_bert))
    with pytest.raises(error, match=message):
        scorer.score(CANDIDATES, FIRST, combine_with=given)
    with pytest.raises(OSError, match="nowhere"):
        nowhere = given.replace(model_name_or_path="./nowhere")
        scorer.score(CANDIDATES, FIRST, combine_with=nowhere)
    assert read == []


@pytest.mark.filterwarnings("default:infolm")
def test_what_only_the_other_metric_cuts_or_cannot_read_is_told_of_it(scorer, tmp_path):
    long = "The cat sat on the mat in the "
    texts = ([long + "sun."] * 2, [long + "rain.", ""])
    other = InfoLMScorer(model_name_or_path="bundled", max_length=8, idf=False).settings
    with pytest.warns(UserWarning) as caught:
        result = scorer.score(*texts, combine_with=other, nli_weight=0)
    told = [str(each.message) for each in caught if "part of the score" in str(each.message)]
    assert told == [
        "infolm: infolm's part of the score: 3 of 4 texts longer than 8 tokens: cut there; "
        "as combine_with its settings with long_text='window' read texts whole",
        "infolm: infolm's part of the score: 1 of 4 texts without a token of their own: scored by "
        "what the model makes of no text",
    ]
    assert result["remarks"]["texts"] == 4 and result["remarks"]["empty"] == 1
    assert (result["remarks"]["too_long"], result["remarks"]["infolm.too_long"]) == (0, 3)
    assert result["remarks"]["infolm.empty"] == 1
    # Parts of a corpus add up, as jobs and streams score them, and as they keep it.
    pairs = [(text, [reference]) for text, reference in zip(*texts, strict=True)]
    with pytest.warns(UserWarning, match="infolm's part of the score: 3 of 4 texts longer"):
        list(scorer.stream(pairs, combine_with=other))
    job = MENLIScorer(**vars(scorer.settings.replace(combine_with=other)))
    for _ in range(2):  # the second time from what was kept
        with pytest.warns(UserWarning, match="infolm's part of the score: 3 of 4 texts longer"):
            run_job(job, PairSource("pairs", lambda: iter(pairs)), tmp_path / "s.jsonl", chunk=1)
    whole = other.replace(max_length=None)
    assert "infolm.too_long" in scorer.score(*texts, combine_with=whole)["remarks"]


def test_what_the_other_metric_cannot_read_is_not_judged(scorer, tiny_bert):
    other = InfoLMScorer(model_name_or_path="bundled", idf=False).settings
    texts = ["ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ"], ["ᚠᚢᚦ ᚨᚱᚲ"]
    remarks = scorer.score(*texts, combine_with=other).remarks
    assert not remarks.judged and remarks.beside["infolm"].unknown_tokens
    assert any("infolm's part of the score: " in each for each in remarks.sentences())


def test_the_other_metric_counts_for_its_weights(scorer):
    options = {"combine_with": InfoLMScorer(model_name_or_path="bundled").settings}
    settings = scorer.settings.replace(**options)
    assert settings.counted == ("references",)
    statistics = scorer.inner.count(Pairs(CANDIDATES, GROUPS), settings)
    assert statistics.tables["references"].documents == 8
    result = scorer.score(CANDIDATES, GROUPS, **options)
    assert "|infolm.idf:references|infolm.weights:idf|" in result.signature
    part = score_part(scorer.inner, Pairs(CANDIDATES[:2], GROUPS[:2]), settings, statistics)
    assert part.scores["e"] == result.scores["e"][:2]


def test_outputs_that_overflow_are_refused_by_the_settings_name(scorer):
    half = MENLIScorer.of(scorer.settings.replace(dtype="float16", reuse_memory=0))
    half.score(["a cat"], ["a dog"])
    for parameter in half.inner.probabilities.model(half.settings).model.classifier.parameters():
        parameter.data.fill_(6e4)
    with pytest.raises(ValueError, match="no finite numbers with dtype='float16'; give"):
        half.score(["a cat"], ["a dog"])


def test_several_settings_are_scored_as_each_alone(scorer):
    grid = scorer.settings.grid({"formula": ["e", "e-c"], "direction": ["rh", "avg"]})
    other = InfoLMScorer(model_name_or_path="bundled", idf=False).settings
    grid.append(scorer.settings.replace(combine_with=other))
    pairs = Pairs(CANDIDATES, GROUPS)
    together = scorer.inner.score_many(pairs, grid, [Statistics()] * len(grid))
    for settings, result in zip(grid, together, strict=True):
        alone = scorer.score_pairs(pairs, settings)
        assert (result.scores, result.signature) == (alone.scores, alone.signature)


# Beside the kernel.


def test_a_job_and_a_stream_score_as_one_call(scorer, tmp_path):
    result = scorer.score(CANDIDATES, GROUPS, formula=["e", "-c"])
    pairs = list(zip(CANDIDATES, GROUPS, strict=True))
    found = list(scorer.stream(pairs, formula=["e", "-c"]))
    assert {name: [row[name] for row in found] for name in ("e", "-c")} == result.scores
    own = MENLIScorer(**vars(scorer.settings.replace(formula=["e", "-c"])))
    job = run_job(own, PairSource("pairs", lambda: iter(pairs)), tmp_path / "s.jsonl", chunk=2)
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert [row["-c"] for row in rows] == result.scores["-c"]
    assert job.signature == result.signature


def test_a_baseline_of_a_corpus_serves_every_formula(scorer):
    texts = [f"{one} {two}" for one in SENTENCES[:7] for two in ("Rain fell.", "It was cold.")]
    texts += [text.upper() + " again" for text in SENTENCES] + list(SENTENCES)
    baseline = make_baseline(scorer.inner, scorer.settings, texts, 40, 1)
    assert len(baseline.spreads) == 5
    for name, formula in FORMULAS.items():
        result = scorer.score(CANDIDATES, FIRST, formula=name, rescale_with_baseline=baseline)
        mean, best = result["baseline"]["mean"], formula.range[1]
        expected = [(mean - score) / (mean - best) for score in result["scores"]]
        assert result["rescaled_scores"] == pytest.approx(expected)


def test_sources_stand_in_the_place_of_references(scorer):
    assert scorer.score(CANDIDATES, sources=GROUPS) == scorer.score(CANDIDATES, GROUPS)
    with pytest.raises(TypeError, match="got both references and sources"):
        scorer.score(CANDIDATES, GROUPS, sources=GROUPS)


def test_a_scorer_can_be_shown_and_copied(scorer):
    chosen = MENLIScorer(model_name_or_path=scorer.settings.model_name_or_path, formula="e-c")
    again = pickle.loads(pickle.dumps(chosen))
    assert again.settings == chosen.settings
    assert again.score(["a"], ["b"]).scores == chosen.score(["a"], ["b"]).scores
    assert "formula='e-c'" in repr(chosen)


def test_after_unload_the_models_files_are_read_and_hashed_again(tmp_path):
    folder = build(tmp_path / "model")
    scorer = MENLIScorer(model_name_or_path=folder)
    first = scorer.score(CANDIDATES, GROUPS)
    weights = load_file(folder / "model.safetensors")
    save_file({name: 2 * each for name, each in weights.items()}, folder / "model.safetensors")
    scorer.unload()
    second = scorer.score(CANDIDATES, GROUPS)
    fresh = MENLIScorer(model_name_or_path=folder).score(CANDIDATES, GROUPS)
    assert second.scores == fresh.scores != first.scores
    assert second.signature == fresh.signature != first.signature
