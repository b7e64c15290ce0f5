"""What a sub-command is made of, and the settings as options: a table with one entry for each."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Option:
    """An argument of a sub-command: its flags, or one name, and the keywords for argparse."""

    flags: tuple[str, ...]
    keywords: Mapping[str, Any]


@dataclass(frozen=True)
class Command:
    """A sub-command: what it does in one line, its options by heading, what its help ends with."""

    name: str
    summary: str
    run: Callable[[argparse.Namespace], None]
    options: Mapping[str, Sequence[Option]]
    epilogue: str = ""


def option(*flags: str, **keywords: Any) -> Option:
    """The option that argparse's `add_argument` makes of the same arguments.

    >>> option("--json", action="store_true").flags
    ('--json',)
    """
    return Option(flags, keywords)


def setting(name: str, *flags: str, **keywords: Any) -> Option:
    """The option that gives the setting `name`.

    The namespace holds the setting only if the option was given, so that defaults and checks stay
    in one place, `Settings`.

    >>> setting("temperature", "-t", type=float).keywords["dest"]
    'temperature'
    """
    return Option(flags, {"dest": name, "default": argparse.SUPPRESS, **keywords})


def given_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings given on the command line, as InfoLMScorer takes them.

    >>> given_settings(argparse.Namespace(information_measure=["kl"], idf="none", json=True))
    {'information_measure': 'kl', 'idf': False}
    """
    names = {option.keywords["dest"] for option in SETTINGS}
    given = {name: value for name, value in vars(arguments).items() if name in names}
    if given.get("idf") == "none":
        given["idf"] = False
    if len(given.get("information_measure", ())) == 1:
        (given["information_measure"],) = given["information_measure"]
    return given


def with_flags(message: str) -> str:
    """The message with the flags of settings in the place of their Python names.

    Names that are also English words, such as temperature, stay as they are.

    >>> with_flags('max_length must be at most 40, got 99; long_text="window" reads longer texts')
    '--max-length must be at most 40, got 99; --long-text window reads longer texts'
    """
    for entry in SETTINGS:
        name, flag = entry.keywords["dest"], entry.flags[-1]
        if "_" in name:  # and not inside a path
            message = re.sub(rf'(?<![\w/\\]){name}=("?)(\w+)\1', rf"{flag} \2", message)
            message = re.sub(rf"(?<![\w/\\]){name}(?![\w/\\])", flag, message)
    return message


def check_writable(output: str) -> None:
    """Nothing; raises ValueError if no file can be made there, before time goes into its content.

    >>> check_writable("missing/scores.txt")
    Traceback (most recent call last):
    ValueError: cannot write missing/scores.txt: no folder 'missing'; name a file in one that exists
    """
    path = Path(output)
    if path.is_dir() or not path.parent.is_dir():
        problem = "it is a folder" if path.is_dir() else f"no folder {str(path.parent)!r}"
        raise ValueError(f"cannot write {output}: {problem}; name a file in one that exists")


def _number_or_word(text: str) -> int | str:
    return int(text) if text.lstrip("+-").isdecimal() else text


MODEL = setting(
    "model_name_or_path",
    "--model",
    metavar="NAME",
    help="masked language model: a folder, a name on the Hub, or 'bundled', the small English one "
    "that needs no network (default: $INFOLM_MODEL, else google-bert/bert-base-uncased)",
)
REVISION = setting(
    "model_revision",
    "--revision",
    metavar="NAME",
    help="branch, tag or commit of a model on the Hub",
)
MAX_LENGTH = setting(
    "max_length",
    "--max-length",
    type=int,
    metavar="N",
    help="tokens of the longest text, special ones included (default: what the model allows)",
)
LONG_TEXT = setting(
    "long_text",
    "--long-text",
    metavar="HOW",
    help="what to do with longer texts: truncate (default), window or error",
)
PROCESSES = setting(
    "tokenize_processes",
    "--processes",
    type=int,
    metavar="N",
    help="processes that tokenise a large corpus",
)
VERBOSE = setting(
    "verbose",
    "-v",
    "--verbose",
    action="store_true",
    help="show progress, and where in the code an error arose",
)

SETTINGS = (
    setting(
        "information_measure",
        "-m",
        "--measure",
        action="append",
        metavar="NAME",
        help="information measure by its full or short name, such as fisher_rao_distance "
        "(default), kl or l1; repeat for several; a name that does not exist is answered with "
        "those that do",
    ),
    setting(
        "alpha",
        "--alpha",
        type=float,
        metavar="A",
        help="parameter of the alpha, Renyi and AB divergences",
    ),
    setting(
        "beta", "--beta", type=float, metavar="B", help="parameter of the beta and AB divergences"
    ),
    setting(
        "symmetrize",
        "--symmetrize",
        metavar="HOW",
        help="jeffreys (default), jensen, none (from reference to candidate) or reverse",
    ),
    setting(
        "temperature",
        "-t",
        "--temperature",
        type=float,
        metavar="T",
        help="number that the model's logits are divided by (default: 1)",
    ),
    setting(
        "idf",
        "--idf",
        metavar="SOURCE",
        help="what weighs the tokens: references (default), separate (each side by its own texts), "
        "none (all alike), or the path of a table saved by infolm idf",
    ),
    setting(
        "multi_reference",
        "--multi-reference",
        metavar="HOW",
        help="score of several references: their min (default) or mean",
    ),
    MODEL,
    REVISION,
    MAX_LENGTH,
    LONG_TEXT,
    setting("dtype", "--dtype", metavar="TYPE", help="float32 (default), bfloat16 or float16"),
    setting(
        "device",
        "--device",
        metavar="NAME",
        help="cpu, cuda, cuda:1 ... (default: a GPU that has room)",
    ),
    setting(
        "masks_per_pass",
        "--masks-per-pass",
        type=int,
        metavar="N",
        help="tokens masked at once (default: 1, exact); more is an approximation, and faster",
    ),
    setting(
        "batch_size",
        "--batch-size",
        type=_number_or_word,
        metavar="N",
        help="masked contexts in one forward pass (default: auto)",
    ),
    PROCESSES,
    setting(
        "similarity",
        "--similarity",
        action="store_true",
        help="give also 1 - score/largest value, where higher is better; bounded measures only",
    ),
    VERBOSE,
)
"""All settings but `return_scores` and `reuse_memory`, in the order in which help shows them."""
