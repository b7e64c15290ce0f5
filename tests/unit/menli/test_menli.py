"""MENLI as `evaluate` and as the command line know it."""

import json
from pathlib import Path

import evaluate
import pytest

from infolm_metric import MENLI, MENLIScorer
from infolm_metric.commands.main import main
from tests.project_files import ROOT

PREDICTIONS = ["The cat sat on the mat.", "The dog ran.", "Rain."]
REFERENCES = ["A cat sat.", "The dog slept.", "It rained for 12 days."]

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


@pytest.fixture
def folder(tiny_nli):
    return str(tiny_nli())


@pytest.fixture
def infolm(capsys, folder, monkeypatch, tmp_path):
    """A function that runs `infolm` on texts in files: (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    Path("sys.txt").write_text("\n".join(PREDICTIONS) + "\n")
    Path("ref.txt").write_text("\n".join(REFERENCES) + "\n")

    def run(command: str, *arguments: object) -> tuple[int, str, str]:
        given = [str(argument) for argument in arguments]
        code = main([command, "--metric", "menli", "--model", folder, *given])
        return (code, *capsys.readouterr())

    return run


def test_pairs_come_in_every_way_to_the_same_effect(folder):
    menli = evaluate.load(str(ROOT / "infolm_metric" / "menli"), model_name_or_path=folder)
    assert menli.name == "menli"
    pairs = {"predictions": PREDICTIONS, "references": REFERENCES}
    result = menli.compute(**pairs)
    assert list(result) == ["menli", "scores", "higher_is_better", "signature", "remarks"]
    assert result["higher_is_better"] is True
    assert result["signature"].startswith("metric:menli|formula:e|direction:avg|")
    menli.add_batch(**pairs)
    assert menli.compute() == result
    for prediction, reference in zip(PREDICTIONS, REFERENCES, strict=True):
        menli.add(prediction=prediction, source=reference)
    assert menli.compute() == result
    menli.add_batch(predictions=PREDICTIONS, sources=REFERENCES)
    assert menli.compute() == result
    assert menli.compute(predictions=PREDICTIONS, sources=REFERENCES) == result
    assert MENLIScorer(model_name_or_path=folder).score(PREDICTIONS, REFERENCES) == result
    with pytest.raises(TypeError, match="got both references and sources"):
        menli.compute(**pairs, sources=REFERENCES)


def test_it_stands_beside_others_in_evaluate_combine(folder):
    both = evaluate.combine([MENLI(model_name_or_path=folder), MENLI(model_name_or_path=folder)])
    one = evaluate.combine([MENLI(model_name_or_path=folder, formula="e-c")])
    result = one.compute(predictions=PREDICTIONS, references=REFERENCES)
    alone = MENLI(model_name_or_path=folder, formula="e-c")
    assert result["menli"] == alone.compute(predictions=PREDICTIONS, references=REFERENCES)["menli"]
    assert both.compute(predictions=PREDICTIONS, references=REFERENCES)


def test_score_says_that_higher_is_better_and_takes_a_formula_that_begins_with_a_dash(
    infolm, folder
):
    expected = MENLIScorer(model_name_or_path=folder, formula="-c").score(PREDICTIONS, REFERENCES)
    code, output, errors = infolm("score", "-c", "sys.txt", "-r", "ref.txt", "--formula=-c")
    assert code == 0, errors
    first, last = output.splitlines()
    assert first.startswith(f"-c: {expected['menli']:.6g} (mean of 3 pairs; higher is better; ")
    assert last == f"signature: {expected.signature}"
    for more in (["--sources", "ref.txt"], ["-r", "ref.txt"]):
        code, output, errors = infolm(
            "score", "-c", "sys.txt", *more, "--formula=-c", "--formula", "e", "--json"
        )
        assert code == 0, errors
        assert json.loads(output)["scores"]["-c"] == expected["scores"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--formula", "c"], "unknown formula 'c'; did you mean '-c'?"),
        (["--nli-weight", "1.5"], "nli_weight must lie between 0"),
        (["--nli-weight", "0.3"], "give combine_with, too, or leave nli_weight out"),
        (["--formula", "-c"], "a value that begins with a dash is given as --formula=VALUE"),
        (["--sources", "ref.txt"], "give -r FILE or --sources FILE, not both"),
        (["--temperature=2"], "unrecognized arguments: --temperature=2"),
        (["--combine-with", "bleu"], "unknown combine_with 'bleu'; known: 'infolm'"),
    ],
)
def test_the_command_line_refuses_what_is_wrong(infolm, arguments, message):
    code, output, errors = infolm("score", "-c", "sys.txt", "-r", "ref.txt", *arguments)
    assert (code, output) == (2, "")
    assert message in errors


def test_help_says_how_such_a_formula_is_given_and_sources_are_menlis_alone(infolm, capsys):
    output = infolm("score", "--help")[1]
    assert "--formula=-c" in " ".join(output.split())
    assert "--sources FILE" in output
    assert main(["score", "--sources", "ref.txt", "-c", "sys.txt"]) == 2
    assert "unrecognized arguments: --sources" in capsys.readouterr().err


def test_the_manual_names_the_types_that_callers_give_and_none_of_ours():
    manual = " ".join(MENLI().inputs_description.split())
    assert "combine_with (str | Settings | None): " in manual


def test_a_baseline_is_made_and_used_for_every_formula(infolm):
    texts = [f"{one} {two}" for one in PREDICTIONS + REFERENCES for two in "abcdefgh"]
    Path("corpus.txt").write_text("\n".join(texts) + "\n")
    code, output, errors = infolm(
        "baseline", "corpus.txt", "--pairs", "20", "--references", "1", "-o", "unrelated.json"
    )
    assert code == 0, errors
    assert [line.partition(",")[0] for line in output.splitlines()[:-1]] == [
        "e", "-c", "e-n", "e-c", "e-n-2c",
    ]  # fmt: skip
    code, output, errors = infolm(
        "score", "-c", "sys.txt", "-r", "ref.txt", "--formula=e-n",
        "--rescale-with-baseline", "unrelated.json",
    )  # fmt: skip
    assert code == 0, errors
    assert "e-n rescaled: " in output
