"""BaryScore among other metrics: `evaluate`, the command line, jobs and the meta-evaluation."""

import json
from pathlib import Path

import evaluate
import pytest

import infolm_metric
from infolm_metric import BaryScore, BaryScorer, InfoLM
from infolm_metric.commands.main import main
from infolm_metric.commands.register import register
from tests.project_files import ROOT
from tests.random_pairs import write_lines

PREDICTIONS = ["the cat sat on the mat", "a dog ran in the garden", "rain fell for 12 days"]
REFERENCES = ["the cat slept on the chair", "a small dog barked", "the river rose by 3.5 metres"]
PAIRS = {"predictions": PREDICTIONS, "references": REFERENCES}
FILES = ("--metric", "baryscore", "-c", "sys.txt", "-r", "ref.txt")

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, tiny_bert) -> Path:
    """The working folder with texts in plain files; the model is the tiny one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INFOLM_MODEL", str(tiny_bert))
    for name, texts in (("sys", PREDICTIONS), ("other", REFERENCES[::-1]), ("ref", REFERENCES)):
        Path(f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    return tmp_path


@pytest.fixture
def infolm(capsys):
    """A function that runs `infolm` here: (exit code, standard output, standard error)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def expected(tiny_bert):
    return BaryScorer(layers=2).score(PREDICTIONS, REFERENCES)


@pytest.mark.parametrize("way", ["a checkout", "registered"])
def test_evaluate_loads_it_from_a_checkout_and_once_it_is_registered(way, expected):
    path = "baryscore" if way == "registered" else str(ROOT / "infolm_metric" / "baryscore")
    if way == "registered":
        register()
    metric = evaluate.load(path, layers=2)
    assert metric.name == "baryscore"
    assert (type(metric) is infolm_metric.BaryScore) == (way == "registered")
    assert metric.compute(**PAIRS) == expected.as_dict()
    for prediction, reference in zip(PREDICTIONS, REFERENCES, strict=True):
        metric.add(prediction=prediction, reference=reference)
    assert metric.compute() == expected.as_dict()


def test_it_combines_with_infolm(expected):
    own = InfoLM(idf=False)
    both = evaluate.combine([own, BaryScore(layers=2)]).compute(**PAIRS)
    assert both["baryscore"] == expected["baryscore"]
    assert both["baryscore_scores"] == expected["scores"]
    assert both["infolm"] == own.compute(**PAIRS)["infolm"]


def test_a_wrong_setting_is_refused_and_what_was_added_remains():
    metric = BaryScore()
    metric.add_batch(**PAIRS)
    for given, error, message in (
        ({"layers": "some"}, ValueError, "layers must be a number"),
        ({"temperature": 1.0}, TypeError, "unknown argument 'temperature'"),
        ({}, ValueError, "layers must be at most 3, .* got 5"),  # the tiny model's
    ):
        with pytest.raises(error, match=message):
            metric.compute(**given)
    assert len(metric) == 3


def test_the_command_line_scores_with_it(infolm, expected):
    code, output, errors = infolm("score", *FILES, "--layers", "2")
    assert code == 0, errors
    first, last = output.splitlines()
    assert first == (
        f"baryscore: {expected['baryscore']:.6g} (mean of 3 pairs; lower is better; 0 = the same "
        "tokens in the same places, largest 4)"
    )
    assert last == f"signature: {expected.signature}"
    assert json.loads(infolm("score", *FILES, "--layers", "2", "--json")[1]) == expected.as_dict()
    for words, signed in (("all", "all"), ("0,2", "0+2"), ("1", "last1")):
        found = json.loads(infolm("score", *FILES, "--layers", words, "--json")[1])
        assert f"|layers:{signed}|" in found["signature"]


def test_the_bundled_model_comes_with_a_baseline(infolm):
    texts = ("A paraphrase of it.", "It in other words.")
    code, output, errors = infolm("score", "--metric", "baryscore", "--model", "bundled", *texts)
    assert code == 0, errors
    assert "(500 pairs of the package); this pair is " in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layers", "x"], "layers must be a number of last hidden states, 'all', or indices"),
        (["--temperature=2"], "unrecognized arguments: --temperature=2"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_refused(infolm, arguments, message):
    code, output, errors = infolm("score", *FILES, *arguments)
    assert (code, output) == (2, "")
    assert message in errors


def test_a_job_writes_what_one_call_gives_and_goes_on(infolm, expected):
    for known in (0, 3):
        code, _, errors = infolm("score", *FILES, "--layers", "2", "-o", "scores.jsonl")
        assert code == 0, errors
        assert (f"{known} pairs were there already" in errors) == bool(known)
    rows = [json.loads(line) for line in Path("scores.jsonl").read_text().splitlines()]
    assert [row["baryscore"] for row in rows] == expected["scores"]


def test_systems_are_compared_with_it(infolm):
    code, output, errors = infolm(
        "compare", "sys.txt", "other.txt", "-r", "ref.txt", "--metric", "baryscore",
        "--layers", "2", "--resamples", "20", "--json",
    )  # fmt: skip
    assert code == 0, errors
    found = json.loads(output)
    assert found["higher_is_better"] is False
    assert found["systems"]["baryscore"][0]["mean"] > 0


def ratings() -> list[dict]:
    """Systems that turn more and more words round, as people notice."""
    rows = []
    for rank in range(4):
        for sample, text in enumerate([*PREDICTIONS, *REFERENCES]):
            words = text.split()
            words[len(words) - rank :] = ["chair"] * rank
            human = {"fluency": 90 - 10 * rank + sample % 3}
            row = {"system": f"s{rank}", "id": sample, "reference": text, "human": human}
            rows.append({**row, "prediction": " ".join(words)})
    return rows


def test_it_is_correlated_with_people(infolm, tiny_models, monkeypatch):
    deeper = tiny_models("bert", num_hidden_layers=4)  # which has the default's five states
    monkeypatch.setenv("INFOLM_MODEL", str(deeper))
    write_lines(Path("rows.jsonl"), ratings())
    asked = ("rows.jsonl", "--metric", "baryscore", "--resamples", "20")
    code, output, errors = infolm("correlate", *asked, "--layers", "2", "--json")
    assert code == 0, errors
    agreement = [c for c in json.loads(output)["agreement"] if c["metric"] == "baryscore"]
    cells = {(c["level"], c["statistic"]): c["value"] for c in agreement}
    assert cells["system", "pearson"] > 0.9


def test_a_table_and_a_baseline_are_made_with_it(infolm):
    code, output, errors = infolm("idf", "ref.txt", "--metric", "baryscore", "-o", "table.json")
    assert (code, output.splitlines()[0]) == (0, "documents: 3"), errors
    texts = [" ".join(["cat"] * n + ["dog"] * m) for n in range(8) for m in range(1, 8)]
    Path("corpus.txt").write_text("\n".join(texts))
    code, output, errors = infolm(
        "baseline", "corpus.txt", "--metric", "baryscore", "--layers", "2", "--pairs", "30",
        "--references", "1", "-o", "own.json",
    )  # fmt: skip
    assert code == 0, errors
    assert output.startswith("baryscore, uniform weights: ")
    light = ("--rescale-with-baseline", "own.json", "--idf", "table.json", "--layers", "2")
    code, output, errors = infolm("score", *FILES, *light)
    assert code == 0, errors
    assert "baryscore rescaled: " in output
