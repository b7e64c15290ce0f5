"""`infolm compare`: means, verdicts and invalid input."""

import io
import json
import re
from pathlib import Path

import pytest

from infolm_metric.meta_evaluation import holm
from tests.project_files import ROOT
from tests.random_pairs import random_pairs

TEXTS = [row["references"][0] for row in random_pairs(60, longest=20)]


@pytest.fixture(autouse=True)
def systems(folder) -> None:
    """Outputs of systems of decreasing quality, and their references."""
    for name, count in (("good", 9), ("fair", 6), ("same", 6), ("weak", 1)):
        lines = (" ".join(text.split()[:count]) + " x\n" for text in TEXTS)
        Path(f"{name}.txt").write_text("".join(lines))
    Path("truth.txt").write_text("".join(f"{text}\n" for text in TEXTS))


@pytest.fixture
def compare(infolm_output):
    """Function that compares systems with the toy metric and returns the output."""
    return lambda *arguments: infolm_output("compare", *arguments, "--metric", "toy", "--size", "4")


def test_compare_reports_the_means_of_score_and_a_verdict_per_system(infolm_output, compare):
    files = ["fair.txt", "good.txt", "weak.txt", "same.txt"]
    arguments = (*files, "-r", "truth.txt", "--resamples", "200")
    result = json.loads(compare(*arguments, "--json"))
    assert result["against"] == "fair.txt" and result["metrics"]["toy"]["higher_is_better"]
    rows = result["systems"]["toy"]
    assert [row["system"] for row in rows] == files
    assert [row["verdict"] for row in rows] == [None, "better", "worse", "unsure"]
    score = ("score", "--metric", "toy", "--size", "4", "-r", "truth.txt", "--json")
    for row in rows:
        single = json.loads(infolm_output(*score, "-c", row["system"]))
        assert row["mean"] == pytest.approx(single["toy"])
        assert result["metrics"]["toy"]["signature"] == single["signature"]
        assert row["low"] <= row["mean"] <= row["high"]
    lines = compare(*arguments).splitlines()
    assert [line.split()[-1] for line in lines[2:5]] == ["better", "worse", "unsure"]
    assert "higher is better" in "\n".join(lines)


def test_p_values_of_several_systems_are_corrected(compare):
    others, options = ["good.txt", "weak.txt", "same.txt"], ("-r", "truth.txt", "--json")
    rows = json.loads(compare("fair.txt", *others, *options))["systems"]["toy"]
    alone = [
        json.loads(compare("fair.txt", other, *options))["systems"]["toy"][1]["p_value"]
        for other in others
    ]
    assert [row["p_value"] for row in rows[1:]] == pytest.approx(holm(alone))
    assert min(row["p_value"] for row in rows[1:]) == pytest.approx(3 * min(alone))
    assert "corrected for 3 systems" in compare("fair.txt", *others, *options[:2])
    assert "corrected" not in compare("fair.txt", "good.txt", *options[:2])


def test_documented_command_fails_only_if_the_new_outputs_are_worse(infolm):
    page = (ROOT / "docs/integrations.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^infolm (compare .* -r references.txt .*)$", page, re.MULTILINE)
    Path("references.txt").write_text(Path("truth.txt").read_text())
    for old, new, code in (("weak", "good", 0), ("same", "fair", 0), ("good", "weak", 1)):
        for name, source in (("old", old), ("new", new)):
            Path(f"{name}.txt").write_text(Path(f"{source}.txt").read_text())
        assert infolm(*command.split())[0] == code


GERMAN = ["Der Hund schläft auf dem Sofa.", "Die Katze ist nicht im Haus, sie schläft."] * 5
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PRICES = [f"the price is {number} dollars" for number in NUMBERS]
# Texts, options, verdict, and words in the table and on standard error.
UNRELIABLE = [
    (GERMAN, [], None, "out-of-domain texts"),
    (PRICES, [], None, "few weighted tokens"),
    (PRICES, ["--idf", "none"], "worse", "worse"),
]


@pytest.mark.filterwarnings("ignore:infolm")
@pytest.mark.parametrize(("texts", "options", "verdict", "words"), UNRELIABLE)
def test_unreliable_scores_get_no_verdict_and_fail_on_request(
    infolm, texts, options, verdict, words
):
    for name, lines in (("right", texts), ("wrong", texts[1:] + texts[:1])):
        Path(f"{name}.txt").write_text("".join(f"{text}\n" for text in lines))
    files = ("right.txt", "wrong.txt", "-r", "right.txt", "--resamples", "50")
    arguments = ("compare", *files, "--model", "bundled", "--fail-if-worse", *options)
    code, output, errors = infolm(*arguments)
    assert code == 1 and words in output and words in errors
    assert ("no verdict, because" in errors) == (verdict is None)
    (rows,) = json.loads(infolm(*arguments, "--json")[1])["systems"].values()
    assert rows[1]["verdict"] == verdict and rows[1]["p_value"] is not None


WORSE = [
    (("fair", "good", "same"), 0, ""),
    (("fair", "weak", "good"), 1, "significantly worse than fair.txt: weak.txt by toy"),
    (("fair", "absent"), 2, "absent.txt"),
]


@pytest.mark.parametrize(("names", "code", "words"), WORSE)
def test_a_worse_system_fails_on_request(infolm, names, code, words):
    files = [f"{name}.txt" for name in names]
    options = ("-r", "truth.txt", "--metric", "toy", "--size", "4")
    result = infolm("compare", *files, *options, "--fail-if-worse")
    assert result[0] == code and words in result[2]
    assert ("fair.txt" in result[1]) == (code < 2)
    if code < 2:
        assert infolm("compare", *files, *options) == (0, result[1], "")


@pytest.mark.filterwarnings("ignore:infolm")
def test_several_metrics_are_compared_in_one_table(infolm, compare):
    arguments = ("fair.txt", "weak.txt", "-r", "truth.txt", "--resamples", "50")
    both = ("--metric", "infolm", "--idf", "none")
    output = compare(*arguments, *both)
    rows = [line.split()[:2] for line in output.partition("\n\n")[0].splitlines()]
    names = [["infolm", "fair.txt"], ["infolm", "weak.txt"]]
    assert rows == [["metric", "system"], *names, ["toy", "fair.txt"], ["toy", "weak.txt"]]
    assert "infolm: lower is better, toy: higher is better" in output
    assert output.count("\nsignature: ") == 2
    report = json.loads(compare(*arguments, *both, "--json"))
    alone = json.loads(compare(*arguments, "--json"))
    assert report["systems"]["toy"] == alone["systems"]["toy"]
    assert [*report["metrics"]] == [*report["systems"]] == ["infolm", "toy"]
    code, _, errors = infolm("compare", *arguments, *both, "--metric", "toy", "--fail-if-worse")
    assert code == 1 and "weak.txt by infolm, weak.txt by toy" in errors


def test_one_file_can_be_standard_input(compare, monkeypatch):
    expected = compare("good.txt", "fair.txt", "-r", "truth.txt")
    content = io.TextIOWrapper(io.BytesIO(Path("truth.txt").read_bytes()))
    monkeypatch.setattr("sys.stdin", content)
    assert compare("good.txt", "fair.txt", "-r", "-") == expected


INVALID = [
    (["good.txt"], "SYSTEM must name two or more files, each once, got good.txt"),
    (["good.txt", "good.txt"], "each once, got good.txt, good.txt"),
    (["good.txt", "a.csv"], "infolm score --data a.csv"),
    (["good.txt", "one.txt"], "one.txt has only 1"),
    (["good.txt", "weak.txt", "--resamples", "0"], "--resamples must be at least 1, got 0"),
    (["good.txt", "weak.txt", "--idf", "separate"], "--idf separate estimates token weights"),
    (["one.txt", "other.txt", "-r", "one.txt"], "one.txt must have at least 2 texts, got 1"),
]


@pytest.mark.parametrize(("arguments", "words"), INVALID)
def test_invalid_comparisons_are_rejected(infolm_error, no_model, arguments, words):
    for name in ("one", "other"):
        Path(f"{name}.txt").write_text("a\n")
    Path("a.csv").write_text("prediction,reference\na,b\n")
    references = () if "-r" in arguments else ("-r", "truth.txt")
    assert words in infolm_error("compare", *arguments, *references)


@pytest.mark.parametrize("count", [2, 9, 10])
def test_fewer_than_10_texts_get_no_verdict_and_do_not_fail(infolm, count):
    for name in ("good", "weak", "truth"):
        lines = Path(f"{name}.txt").read_text().splitlines(keepends=True)
        Path(f"{name}.txt").write_text("".join(lines[:count]))
    options = ("--metric", "toy", "--size", "4", "--json", "--fail-if-worse")
    code, output, errors = infolm("compare", "good.txt", "weak.txt", "-r", "truth.txt", *options)
    (_, row) = json.loads(output)["systems"]["toy"]
    assert row["p_value"] is not None and row["low"] <= row["mean"] <= row["high"]
    few = count < 10
    assert (code, row["verdict"]) == ((0, None) if few else (1, "worse"))
    assert (f"got {count} texts" in errors) == ("--fail-if-worse does not fail" in errors) == few


@pytest.mark.filterwarnings("ignore:infolm")
def test_intervals_stay_within_the_bounds_of_the_score(infolm_output):
    Path("one.txt").write_text("the cat\nthe dog\n")
    Path("two.txt").write_text("the cat\na green house\n")
    options = ("-r", "one.txt", "--model", "bundled", "--idf", "none", "--json")
    report = json.loads(infolm_output("compare", "one.txt", "two.txt", *options))
    same, other = report["systems"]["infolm"]
    assert (same["mean"], same["low"], same["high"]) == pytest.approx((0, 0, 0), abs=1e-6)
    assert (other["low"], other["high"]) == (0, 1)  # t with one degree of freedom is wide


def test_an_empty_system_does_not_gain_from_blank_references(infolm):
    Path("empty.txt").write_text("\n" * len(TEXTS))
    blank = ("" if place % 2 else text for place, text in enumerate(reversed(TEXTS)))
    Path("partly_blank.txt").write_text("".join(f"{text}\n" for text in blank))
    options = ("--resamples", "50", "--json")
    references = ("-r", "truth.txt", "-r", "partly_blank.txt")
    code, output, errors = infolm("compare", "good.txt", "empty.txt", *references, *options)
    (rows,) = json.loads(output)["systems"].values()
    assert code == 0 and rows[1]["verdict"] == "worse" and "(30 in total)" in errors
