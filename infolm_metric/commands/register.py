"""`infolm register`: make `evaluate.load("infolm")` find the installed package, even offline.

evaluate queries the Hugging Face Hub before it looks for registered metrics. Behind a firewall that
drops packets, this can take minutes. Set HF_EVALUATE_OFFLINE=1 to skip the query.
"""

from __future__ import annotations

import argparse

from infolm_metric.commands import options
from infolm_metric.commands.parser import Parser
from infolm_metric.integrations.register import register

USAGE = "infolm register"


def add_options(parser: Parser) -> None:
    options.add_running(parser.add_argument_group("running"))


def run(arguments: argparse.Namespace) -> None:
    for name, script in register().items():
        print(f'evaluate.load("{name}") now works from any folder ({script}).')
