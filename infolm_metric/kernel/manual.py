"""The manual page of `compute`, which notebooks show: what all metrics share, written once."""

from __future__ import annotations

from infolm_metric.kernel.settings import Settings

_ARGUMENTS = """
Args:
    predictions (list of str): the texts to judge, at least one.
    references (list of str, or list of lists of str): for each prediction its reference, or its
        references, at least one each.

    Every setting below can be given to `compute`, and to `evaluate.load` or `{kind}`, where it
    becomes the default of every `compute`.

{settings}

    Given to `compute` alone, under torchrun or accelerate launch:

    ranks (str): None (default): this process scores what it was given, whatever others do.
        "share": every rank was given a share, and scores it. "same": every rank was given all the
        pairs, as a Trainer does, and the ranks divide the work. All ranks must call `compute`.
    gather (str): which ranks get the result: "all" (default) or "main".

Returns:
    A dictionary, or None on the ranks other than the first if gather="main":

    {name} (float): the mean of the scores. {range}
    scores (list of float): the score of each pair, unless return_scores=False.
{more}    higher_is_better (bool): {higher}.
    signature (str): every setting that can change a score, the model and the versions. Report it
        with the score.
    remarks (dict of int): how many texts and tokens there were, how many texts were too long,
        empty, of one token or without any weight, how many tokens the model does not know, how many
        texts are of another kind than the English it was trained on, and on how many distinct
        documents idf rests (10: or more); warnings are made from these counts.
    rescaled (float), rescaled_scores (list of float), baseline (dict): with
        rescale_with_baseline; 1 is a copy, 0 what unrelated texts score. The baseline holds their
        mean, deviation and deciles, the number of pairs, and its source.
{several}
Raises:
    TypeError, ValueError: an argument or a setting is wrong; found before a model is loaded. What
        was added with `add` and `add_batch` remains, the arguments of the failing call do not.
    OSError: the model is not there.

Examples:
"""


def manual(
    kind: str,
    settings: type[Settings],
    examples: str,
    *,
    range: str,
    higher: bool = False,
    more: str = "",
    several: str = "",
) -> str:
    """The inputs description of the metric class called `kind`.

    `range` says which scores there are and which is best; `more` what else is returned, and
    `several` in what form for several scores.
    """
    head = _ARGUMENTS.format(
        kind=kind,
        settings=settings.documentation(),
        name=settings.metric,
        range=range,
        higher=higher,
        more=more,
        several=several,
    )
    return f"{head}{examples}"
