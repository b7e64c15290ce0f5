"""`infolm register`: lets `evaluate.load("infolm")` find the metric."""

from __future__ import annotations

import argparse

from infolm_metric.commands.options import VERBOSE, Command


def _register(arguments: argparse.Namespace) -> None:
    """Registers the metric with `evaluate`, and says how to load it."""
    from infolm_metric.commands.registration import register

    print(register())
    print('evaluate.load("infolm") now finds the metric, from any folder.')
    print("Where the Hub cannot be reached, set HF_EVALUATE_OFFLINE=1 to save the wait for it.")


COMMAND = Command(
    "register", 'make evaluate.load("infolm") work from any folder', _register, {"how": (VERBOSE,)}
)
