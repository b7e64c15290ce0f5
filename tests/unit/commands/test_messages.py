"""Messages of commands name flags, values and remedies, for every option."""

import argparse
import re

import pytest

from infolm_metric.commands.main import COMMANDS
from infolm_metric.commands.options import read_settings
from infolm_metric.commands.parser import name_flags
from infolm_metric.core.results import WARNING_MESSAGES
from infolm_metric.core.settings import flags, ordered_fields
from infolm_metric.metrics import METRICS
from tests.unit.commands.conftest import make_parser

SETTINGS = [
    (metric, field.name, flags(field)[-1])
    for metric in METRICS
    for field in ordered_fields(METRICS[metric].settings_type())
    if flags(field)
]
# Settings that accept any string, except for a wrong value that only this setting has.
WRONG = {"model_name_or_path": None, "model_revision": None, "combine_with": "bary"}
WRONG |= {"device": "gpu", "combine_baseline": None}


def options(accepts):
    """Return the command and an option, for all options that satisfy a condition."""
    return [
        pytest.param(command, action, id=f"{command} {action.option_strings[-1]}")
        for command in COMMANDS
        for action in make_parser(command)._actions
        if action.option_strings and action.dest != "help" and accepts(action)
    ]


# Settings are named as flags


@pytest.mark.parametrize(("metric", "name", "flag"), SETTINGS)
def test_message_about_an_invalid_setting_contains_its_flag_and_value(
    infolm_error, metric, name, flag
):
    value = WRONG.get(name, "?!")
    if value is None:
        return
    errors = infolm_error("score", "--metric", metric, f"{flag}={value}", "a", "b")
    assert re.search(rf" {flag}\b", errors) and repr(value) in errors
    assert name not in re.sub(r"'.*?'", "", errors) or "_" not in name


MESSAGES = [  # message, name of its setting, expected message
    ("idf must be a path, got 'idf'. Use idf=False", "idf", "--idf must be a path, got 'idf'. "),
    ("layers[1] must be 1, not layers", "layers", "--layers must be 1, not layers"),
    ("the device and the labels of the model", "", "the device and the labels of the model"),
    ("unknown x='long_text=1'", "x", "unknown x='long_text=1'"),
    ("(dtype=x), max_length. Read max_length.csv", "", "(--dtype=x), --max-length. Read max_l"),
]


@pytest.mark.parametrize(("message", "setting", "expected"), MESSAGES)
def test_the_setting_and_assignments_are_replaced_in_messages(message, setting, expected):
    flags = {name: flag for _, name, flag in SETTINGS}
    assert name_flags(message, flags, setting).startswith(expected)
    assert name_flags(message, {}, setting) == message


@pytest.mark.parametrize("message", WARNING_MESSAGES.values())
def test_warnings_name_flags_instead_of_settings(message):
    text = name_flags(message, {name: flag for _, name, flag in SETTINGS})
    names = re.findall(r"(?<![-\w])\w+(?==)|\b[a-z]+_\w+|=False", text)
    assert {*names} <= {"answer_check", "from_corpus"}


# Options that are repeated, empty or not a number


def value_of(action):
    return [next(iter(action.choices or ["1"]))] if action.nargs != 0 else []


@pytest.mark.parametrize(
    ("command", "action"), options(lambda action: not isinstance(action, argparse._AppendAction))
)
def test_an_option_passed_twice_is_rejected(infolm_error, command, action):
    words = [action.option_strings[-1], *value_of(action)]
    assert f"{words[0]}: passed twice" in infolm_error(command, *words, *words)


@pytest.mark.parametrize(("command", "action"), options(lambda action: action.type in (int, float)))
@pytest.mark.parametrize("value", ["1,5", "ten"])
def test_numbers_are_checked(infolm_error, command, action, value):
    errors = infolm_error(command, f"{action.option_strings[-1]}={value}")
    assert re.search(rf"(invalid (int|float) value: |number, got ){value!r}", errors)


def test_baseline_uses_the_parameters_of_all_measures():
    arguments = make_parser("baseline").parse_args(["a.txt", "-o", "b", "--alpha=0.3"])
    assert read_settings("infolm", arguments).alpha == 0.3
