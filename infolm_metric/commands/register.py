"""`infolm register`: lets `evaluate.load("infolm")` find the installed package, also offline.

Behind a firewall that drops packets, `evaluate` waits minutes for the Hugging Face Hub before it
looks at registered metrics. With HF_EVALUATE_OFFLINE=1 it does not ask the Hub.
"""

from __future__ import annotations

import argparse

from infolm_metric.commands import options
from infolm_metric.integrations.register import register

USAGE = "infolm register"


def add_options(parser: argparse.ArgumentParser, types: options.SettingsTypes) -> None:
    """Add the options of the command."""
    options.add_settings(parser, ())


def run(arguments: argparse.Namespace) -> None:
    """Register the metrics with `evaluate`, and print how to load them."""
    scripts = register()
    for script in scripts.values():
        print(script)
    for name in scripts:
        print(f'evaluate.load("{name}") now finds the metric, from any folder.')
    print("Where the Hub cannot be reached, set HF_EVALUATE_OFFLINE=1 to save the wait for it.")
