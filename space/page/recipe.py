"""The Python code that reproduces a score."""

from __future__ import annotations

import json
from collections.abc import Sequence

from infolm_metric.infolm.measures import MEASURES
from infolm_metric.infolm.settings import Settings

from .choices import CORPUS, OFF, REFERENCES, Choices

INFOLM, BARYSCORE, MENLI = "InfoLM", "BaryScore", "MENLI"
SHORT_CORPUS = 12  # lines that are written into the code
WEIGHTS = {OFF: "False", REFERENCES: '"references"', CORPUS: "idf"}


def code_for(
    candidate: str, references: Sequence[str], choices: Choices, metric: str = INFOLM
) -> str:
    """Code that prints the score of a candidate by a metric; MENLI's model is the bundled one.

    >>> print(code_for("A cat.", ["The cat."], Choices(temperature=1.5)))
    from infolm_metric import InfoLM
    <BLANKLINE>
    infolm = InfoLM(model_name_or_path='bundled')
    results = infolm.compute(
        predictions=['A cat.'],
        references=['The cat.'],
        information_measure='fisher_rao_distance',
        temperature=1.5,
        idf="references",
    )
    print(results["infolm"])
    >>> print(code_for("A cat.", ["The cat."], Choices(), BARYSCORE))
    from infolm_metric import BaryScore
    <BLANKLINE>
    baryscore = BaryScore(model_name_or_path='bundled')
    results = baryscore.compute(
        predictions=['A cat.'],
        references=['The cat.'],
        idf="references",
    )
    print(results["baryscore"])
    >>> print(code_for("A cat.", ["The cat."], Choices(), MENLI))
    from infolm_metric import MENLI
    <BLANKLINE>
    menli = MENLI(model_name_or_path='bundled')
    results = menli.compute(
        predictions=['A cat.'],
        references=['The cat.'],
    )
    print(results["menli"])
    """
    if metric == MENLI:
        choices = Choices(multi_reference=choices.multi_reference)
    single = references[0] if len(references) == 1 else list(references)
    texts = [f"predictions=[{candidate!r}],", f"references=[{single!r}],"]
    return _code(texts, choices, metric)


def code_for_file(
    name: str, candidate: str, references: Sequence[str], choices: Choices, separator: str = ","
) -> str:
    r"""Code that scores columns of a file as the page does.

    >>> print(code_for_file("a.csv", "prediction", ["reference"], Choices()).split("\n\n")[2])
    with open('a.csv', encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    """
    if name.lower().endswith((".csv", ".tsv")):
        given = "" if separator == "," else f", delimiter={json.dumps(separator)}"
        module, read = "csv", f"list(csv.DictReader(file{given}))"
    else:
        module, read = "json", "[json.loads(line) for line in file if line.strip()]"
    columns = [f"row[{column!r}]" for column in references]
    reading = [
        f'with open({name!r}, encoding="utf-8-sig", newline="") as file:',
        f"    rows = {read}",
        "",
    ]
    if len(columns) > 1 and module == "json":  # a cell is a text or a list of them
        columns = [f"*texts({column})" for column in columns]
        reading += [
            "def texts(cell):",
            "    return cell if isinstance(cell, list) else [cell]",
            "",
        ]
    reference = columns[0] if len(columns) == 1 else f"[{', '.join(columns)}]"
    texts = [
        f"predictions=[row[{candidate!r}] for row in rows],",
        f"references=[{reference} for row in rows],",
    ]
    return _code(texts, choices, INFOLM, [f"import {module}", ""], reading)


def _code(
    texts: Sequence[str],
    choices: Choices,
    metric: str,
    imports: Sequence[str] = (),
    reading: Sequence[str] = (),
) -> str:
    name = metric.lower()
    names = metric
    made = [f"{name} = {metric}(model_name_or_path={choices.model!r})"]
    if choices.idf == CORPUS:
        names = f"IDF, {metric}"
        if len(choices.corpus) > SHORT_CORPUS:
            made.append('with open("corpus.txt", encoding="utf-8", newline="\\n") as file:')
            made.append('    corpus = [line for line in file.read().split("\\n") if line.strip()]')
        else:
            made.append(f"corpus = {list(choices.corpus)!r}")
        made.append(f"idf = IDF.from_corpus(corpus, {name}.scorer.tokenizer)")
    arguments = [f"    {line}" for line in [*texts, *_arguments(metric, choices)]]
    body = [*reading, *made, f"results = {name}.compute(", *arguments, ")"]
    return "\n".join(
        [*imports, f"from infolm_metric import {names}", "", *body, f'print(results["{name}"])']
    )


def _arguments(metric: str, choices: Choices) -> list[str]:
    """The settings as arguments of `compute`; those that change nothing are left out."""
    default = Settings()
    several = choices.multi_reference != default.multi_reference
    if metric == MENLI:
        return ['multi_reference="mean",'] if several else []
    weights = f"idf={WEIGHTS[choices.idf]},"
    rules = [f"multi_reference={choices.multi_reference!r},"] if several else []
    if metric == BARYSCORE:
        return [weights, *rules]
    measure = MEASURES[choices.information_measure]
    lines = [f"information_measure={measure.name!r},"]
    lines += [f"{p.name}={getattr(choices, p.name)!r}," for p in measure.parameters]
    lines.append(f"temperature={choices.temperature!r},")
    if choices.interpolation != default.interpolation:
        lines.append(f"interpolation={choices.interpolation!r},")
    lines.append(weights)
    if not measure.symmetric and choices.symmetrize != default.symmetrize:
        lines.append(f"symmetrize={choices.symmetrize!r},")
    return lines + rules
