"""Every way to score pairs returns the scores of `score` with the same settings."""

import json
import statistics
from itertools import product
from operator import gt, lt
from pathlib import Path
from pkgutil import resolve_name

import pytest

from infolm_metric import IDF, InputError
from infolm_metric.baryscore.settings import BaryScoreSettings
from infolm_metric.commands.main import main
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.settings import flags, ordered_fields
from infolm_metric.integrations import torchmetrics
from infolm_metric.jobs.resume import run_job
from infolm_metric.metrics import METRICS
from infolm_metric.robustness import AttackCase, evaluate_robustness
from infolm_metric.scoring.distributed import distributed_score
from infolm_metric.tables import Source
from tests.random_pairs import random_pairs

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")

ROWS = random_pairs(24, seed=3, longest=12)
TEXTS = list(dict.fromkeys(str(row["prediction"]) for row in ROWS))
CANDIDATES = TEXTS[:4]
GROUPS = [TEXTS[4:6], TEXTS[6:8], TEXTS[8:10], TEXTS[10:12]]
REFERENCES = [group[0] for group in GROUPS]
LAST = slice(2, None)

ENCODING_SETTINGS = [
    {"multi_reference": "mean"},
    {"idf": "a table"},
    {"idf": "separate"},
    {"long_text": "window", "max_length": 8},
]
SETTINGS = {
    "infolm": [*ENCODING_SETTINGS, {"information_measure": ["kl", "l1"]}],
    "baryscore": [*ENCODING_SETTINGS, {"layers": [0, 2]}],
    "bertscore": [*ENCODING_SETTINGS, {"score": ["precision", "recall"]}],
    "menli": [
        {"multi_reference": "mean"},
        {"task": "source"},
        {"max_length": 12},
        {"formula": ["e", "e-c"]},
        {"combine_with": "a settings object", "nli_weight": 0.5},
    ],
    "answer_check": [
        {"strip_thinking": False},
        {"thresholds": (0.25, 0.75)},
        {"score": ["completeness", "correctness"]},
    ],
}
CASES = [(metric, changes) for metric in METRICS for changes in SETTINGS[metric]]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def scorer(request, tiny_bert, tiny_nli):
    """Scorer with a tiny model and settings other than the defaults."""
    metric, changes = request.param
    scorer_type = METRICS[metric].scorer_type()
    model = str(tiny_nli() if metric in ("menli", "answer_check") else tiny_bert)
    # The tiny model has few layers.
    depth = {"baryscore": {"layers": 2}, "bertscore": {"layer": 2}}.get(metric, {})
    values = {"model_name_or_path": model, **depth, **changes}
    table = IDF.from_corpus(TEXTS, scorer_type(model_name_or_path=model).tokenizer)
    if changes.get("idf") == "a table":
        values["idf"] = table
    if "combine_with" in changes:
        other = {"model_name_or_path": str(tiny_bert), "idf": "references", "layers": 1}
        values["combine_with"] = BaryScoreSettings(**other, multi_reference="mean")
    return scorer_type(**values)


@pytest.fixture(scope="module")
def expected(scorer):
    """Result of `score`, with the scores of all pairs by name."""
    return scorer.score(CANDIDATES, GROUPS)


def values(scorer):
    """Return the settings as keyword arguments."""
    fields = ordered_fields(type(scorer.settings))
    return {field.name: getattr(scorer.settings, field.name) for field in fields}


def assert_equal_scores(scores, expected):
    """Assert that scores by name equal the scores of `score`."""
    assert list(scores) == list(expected.scores)
    for name, column in expected.scores.items():
        assert len({*column}) > 1
        assert scores[name] == pytest.approx(column, abs=1e-6)


def assert_equal_means(means, expected):
    assert means == pytest.approx([*map(statistics.fmean, expected.scores.values())], abs=1e-6)


def test_stream(scorer, expected):
    rows = list(scorer.stream(list(zip(CANDIDATES, GROUPS, strict=True))))
    assert_equal_scores({name: [row[name] for row in rows] for name in rows[0]}, expected)


def test_evaluate(scorer, expected):
    metric = resolve_name(METRICS[scorer.settings.metric].evaluate)(**values(scorer))
    metric.add(prediction=CANDIDATES[0], reference=GROUPS[0])
    metric.add_batch(predictions=CANDIDATES[1:2], references=GROUPS[1:2])
    result = metric.compute(predictions=CANDIDATES[LAST], references=GROUPS[LAST])
    scores = result["scores"]
    name = scorer.settings.names[0]
    assert_equal_scores(scores if scorer.settings.several else {name: scores}, expected)
    assert result["signature"] == expected.signature


def test_distributed_score(scorer, expected):
    result = distributed_score(scorer, CANDIDATES, GROUPS)
    assert_equal_scores(result.scores, expected)
    assert result.signature == expected.signature


def test_job(scorer, expected, tmp_path):
    rows = [
        (f"row {number}", {"prediction": candidate, "references": group})
        for number, (candidate, group) in enumerate(zip(CANDIDATES, GROUPS, strict=True))
    ]
    output = tmp_path / "scores.jsonl"
    summary = run_job(scorer, Source("rows", lambda: iter(rows)), output, chunk=2)
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    columns = {name: scorer.settings.column(name) for name in expected.scores}
    scores = {name: [line[column] for line in lines] for name, column in columns.items()}
    assert_equal_scores(scores, expected)
    assert_equal_means([*summary.means.values()], expected)
    assert summary.signature == expected.signature


def test_matrix(scorer):
    for name in scorer.settings.names:
        settings = scorer.settings.single(name)
        matrix = type(scorer)(settings).matrix(CANDIDATES, REFERENCES)
        run = scorer.prepare(settings, {"candidates": CANDIDATES, "references": REFERENCES})
        pairs = product(CANDIDATES, REFERENCES)
        result = run.score(Pairs.of((candidate, [text]) for candidate, text in pairs))
        assert matrix.ravel() == pytest.approx(result.scores[name], abs=1e-6)


def test_robustness(scorer):
    anchors, paraphrases, adversaries = TEXTS[:6], TEXTS[6:12], TEXTS[12:18]
    texts = zip(anchors, paraphrases, adversaries, strict=True)
    cases = [AttackCase("1", "num", "adequacy", *row, None) for row in texts]
    if "candidates" in scorer.settings.idf_sides:
        with pytest.raises(InputError, match="candidates from attacked texts"):
            evaluate_robustness(cases, {"metric": scorer})
        return
    results = evaluate_robustness(cases, {"metric": scorer})
    sides = [scorer.score(side, anchors).scores for side in (paraphrases, adversaries)]
    is_better = gt if scorer.higher_is_better else lt
    assert len(results) == len(scorer.settings.names)
    for result, name in zip(results.values(), scorer.settings.names, strict=True):
        hits = list(map(is_better, sides[0][name], sides[1][name]))
        assert 0 < sum(hits) < 6
        assert result.attacks["num"].accuracy == pytest.approx(sum(hits) / 6)


def test_compare(scorer, expected, tmp_path, capsys):
    settings = scorer.settings
    if isinstance(values(scorer).get("combine_with"), BaryScoreSettings):
        return  # no option of the command line selects the other metric's model
    columns = {"a": CANDIDATES, "b": REFERENCES, "r": REFERENCES, "s": [g[1] for g in GROUPS]}
    for name, texts in columns.items():
        Path(tmp_path, name).write_text("".join(f"{text}\n" for text in texts))
    words = ["compare", *(f"{tmp_path}/{name}" for name in "ab"), "--json", "--quiet"]
    words += ["--metric", settings.metric, "-r", f"{tmp_path}/r", "-r", f"{tmp_path}/s"]
    for field in ordered_fields(type(settings)):
        value = getattr(settings, field.name)
        if not flags(field) or value in (None, field.default):
            continue
        if isinstance(value, IDF):
            value.save(tmp_path / "idf")
            value = tmp_path / "idf"
        if isinstance(value, tuple) and field.name != settings.names_field:
            value = ",".join(map(str, value))
        parts = value if isinstance(value, tuple) else [value]
        flag = flags(field)[-1]
        words += [flag if isinstance(part, bool) else f"{flag}={part}" for part in parts]
    if "candidates" in settings.idf_sides:
        assert main(words) == 2 and "scores are not comparable" in capsys.readouterr().err
        return
    assert main(words) in (0, None)
    report = json.loads(capsys.readouterr().out)
    assert_equal_means([rows[0]["mean"] for rows in report["systems"].values()], expected)
    assert report["metrics"][settings.metric]["signature"] == expected.signature


def test_torchmetrics(scorer, expected):
    class Metric(torchmetrics.TextMetric):
        scorer_type = type(scorer)

    metric = Metric(**values(scorer))
    metric.update(CANDIDATES[:2], GROUPS[:2])
    metric.update(CANDIDATES[LAST], GROUPS[LAST])
    result = metric.compute()
    tensors = result.values() if isinstance(result, dict) else [result]
    assert_equal_means([tensor.item() for tensor in tensors], expected)
