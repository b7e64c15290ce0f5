"""The commands over a metric that they know by its entry in `metrics` alone: higher is better."""

import json
from pathlib import Path

import evaluate
import pytest

from infolm_metric import metrics
from infolm_metric.commands.main import main
from infolm_metric.commands.register import register
from tests.toy import Overlap, Toy, ToyScorer

TOY = metrics.Metric("toy", "tests.toy:ToySettings", "tests.toy:ToyScorer", "tests.toy:Toy")
CANDIDATES = ["a small cat sat", "the dog ran", "rain"]
REFERENCES = ["a small cat slept", "a dog ran", "it was cold"]
FILES = ("--metric", "toy", "-c", "sys.txt", "-r", "ref.txt")
TEXTS = [
    "several children played outside",
    "yesterday evening something happened",
    "everybody travels through mountains",
    "another letter arrived yesterday",
]


def make_rows() -> list[dict]:
    """Systems that turn more and more words round, which only pairs of letters in a row can show.

    The better the system, the more letters of its own it has: letters alone say the opposite.
    """
    made = []
    for rank in range(4):
        for sample, text in enumerate(TEXTS):
            words = text.split()
            words[4 - rank :] = [word[::-1] for word in words[4 - rank :]]
            human = {"fluency": 90 - 10 * rank + sample % 3}
            row = {"system": f"s{rank}", "id": sample, "reference": text, "human": human}
            candidate = " ".join(words) + "qzxjk"[rank:]
            made.append({**row, "prediction": candidate, "metrics": {"rank": float(rank)}})
    return made


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The working folder with texts and ratings; the toy is one of the metrics."""
    monkeypatch.setitem(metrics.METRICS, "toy", TOY)
    monkeypatch.chdir(tmp_path)
    for name, texts in (("sys", CANDIDATES), ("other", REFERENCES), ("ref", REFERENCES)):
        Path(f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, make_rows())))
    return tmp_path


@pytest.fixture
def infolm(capsys):
    """A function that runs `infolm` here: (exit code, standard output, standard error)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        return (code, *capsys.readouterr())

    return run


def agreement(output: str, metric: str, statistic: str = "pearson") -> float:
    """The agreement of a metric at the system level, as `infolm correlate --json` says it."""
    return next(
        cell["value"]
        for cell in json.loads(output)["agreement"]
        if (cell["metric"], cell["level"], cell["statistic"]) == (metric, "system", statistic)
    )


@pytest.mark.parametrize("flag", [["--metric", "toy"], ["--metric=toy"]])
def test_score_says_which_scores_are_better(infolm, flag):
    result = ToyScorer(size=2).score(["the cat"], ["a cat"])
    code, output, errors = infolm("score", *flag, "--size", "2", "the cat", "a cat")
    assert code == 0, errors
    assert output.splitlines() == [
        f"toy: {result['toy']:.6g} (higher is better)",
        f"signature: {result.signature}",
    ]


@pytest.mark.parametrize(
    ("best_means", "bounds", "words"),
    [
        ("", (0, 1), "higher is better; largest 1, smallest 0"),
        ("the same letters", (0, 1), "higher is better; 1 = the same letters, smallest 0"),
        ("the same", (float("-inf"), 1), "higher is better; 1 = the same, no smallest value"),
    ],
)
def test_score_says_how_far_scores_go_where_that_is_known(
    infolm, monkeypatch, best_means, bounds, words
):
    monkeypatch.setattr(Overlap, "bounds", lambda self, settings, name: bounds)
    monkeypatch.setattr(Overlap, "best_means", best_means)
    _, output, _ = infolm("score", "--metric", "toy", "a cat", "a cat")
    assert output.startswith(f"toy: 1 ({words})\n")


def test_score_gives_what_python_gives(infolm):
    expected = ToyScorer().score(CANDIDATES, REFERENCES)
    assert json.loads(infolm("score", *FILES, "--json")[1]) == expected.as_dict()
    table = infolm("score", *FILES, "--per-pair")[1].splitlines()
    assert table[0] == "pair\ttoy"
    assert [float(line.split("\t")[1]) for line in table[1:4]] == pytest.approx(
        expected["scores"], rel=1e-5
    )


def test_a_job_scores_and_goes_on_where_it_was(infolm):
    expected = ToyScorer().score(CANDIDATES, REFERENCES)
    for known in ("", "infolm: 3 pairs were there already\n"):
        code, output, errors = infolm("score", *FILES, "-o", "scores.jsonl")
        assert (code, errors.splitlines()[-1:]) == (0, known.splitlines())
        assert f"toy: {expected['toy']:.6g} (mean of 3 pairs; higher is better)" in output
    rows = [json.loads(line) for line in Path("scores.jsonl").read_text().splitlines()]
    assert rows == [
        {"pair": number, "toy": score} for number, score in enumerate(expected["scores"], 1)
    ]
    code, _, errors = infolm("score", *FILES, "--size", "2", "-o", "scores.jsonl")
    assert code == 2
    assert "size was 1 and is 2 now" in errors


def test_correlate_takes_a_higher_score_for_a_better_one(infolm):
    code, output, errors = infolm(
        "correlate", "rows.jsonl", "--metric", "toy", "--size", "2", "--json",
        "--resamples", "50", "--against", "rank", "--lower-is-better", "rank",
    )  # fmt: skip
    assert code == 0, errors
    assert agreement(output, "toy") > 0.9
    assert agreement(output, "toy", "accuracy") == 1
    assert agreement(output, "rank") > 0.9
    assert json.loads(output)["signature"] == ToyScorer(size=2).signature()
    _, shown, _ = infolm("correlate", "rows.jsonl", "--metric", "toy", "--resamples", "50")
    assert "toy: higher is better." in shown.splitlines()


def test_compare_says_that_higher_is_better(infolm):
    asked = ("compare", "sys.txt", "other.txt", "-r", "ref.txt", "--metric", "toy")
    code, output, errors = infolm(*asked)
    assert code == 0, errors
    assert "3 texts; higher is better." in output
    result = json.loads(infolm(*asked, "--json")[1])
    assert (result["against"], result["higher_is_better"]) == ("sys.txt", True)
    assert result["systems"]["toy"][1]["mean"] == 1


@pytest.mark.parametrize("command", ["score", "correlate"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size=3"], "unrecognized arguments: --size=3"),
        (["--metric", "toy", "--temperature=2"], "unrecognized arguments: --temperature=2"),
        (["--metric", "tog"], "unknown metric 'tog'; did you mean 'toy'?"),
    ],
)
def test_what_is_no_setting_of_the_metric_is_not_recognized(infolm, command, arguments, message):
    code, output, errors = infolm(command, "rows.jsonl", *arguments)
    assert (code, output) == (2, "")
    assert message in errors


def test_a_wrong_value_is_refused(infolm):
    code, _, errors = infolm("score", "--metric", "toy", "--size", "0", "a", "b")
    assert code == 2
    assert "size must be at least 1, got 0" in errors


def test_idf_refuses_a_metric_that_weighs_nothing(infolm):
    code, _, errors = infolm("idf", "ref.txt", "--metric", "toy", "-o", "table.json")
    assert code == 2
    assert "toy has no use for a table: it weighs no tokens" in errors


@pytest.mark.parametrize("command", ["score", "compare", "correlate", "idf"])
def test_help_shows_the_settings_of_the_metric_that_is_named(infolm, command):
    code, output, _ = infolm(command, "--metric", "toy", "--help")
    assert code == 0
    assert ("--size" in output) == (command != "idf")
    assert "--revision" not in output
    assert "--size" not in infolm(command, "--help")[1]


def test_register_lets_evaluate_find_every_metric(tmp_path):
    scripts = register(tmp_path)
    assert list(scripts) == [*metrics.METRICS]
    assert list(scripts)[-1] == "toy"
    toy = evaluate.load(str(scripts["toy"]), size=2)
    assert type(toy) is Toy
    assert toy.compute(predictions=["a cat"], references=["a cat"])["toy"] == 1
