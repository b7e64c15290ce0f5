"""Runs the unit tests with the lowest versions of setup.cfg and those that requirements.txt pins.

    nox -s lowest          # the lowest that infolm runs with
    nox -s pinned          # what .ci/run has
    nox -s transport       # BaryScore with each release of POT that it is promised for
    nox -s integrations    # the harnesses of docs/integrations.md, as new as they come
    nox -s estimation      # infolm estimate against ppi-python

A session needs a few gigabytes for torch, whose CPU wheels are enough: set PIP_INDEX_URL or
PIP_EXTRA_INDEX_URL to where yours come from. Give pytest's own arguments after `--`.
"""

import re
import tempfile
from configparser import ConfigParser
from pathlib import Path

import nox

nox.options.sessions = ["lowest", "pinned"]
LEAST = re.compile(r"([\w-]+)>=([\d.]+)")
POT = ["0.9.6", "0.9.7"]
# What the unit tests need beside the package; the page's gradio wants newer versions than it.
NEEDED = ".[plots,ray]"
WITH = ["accelerate", "hypothesis", "import-linter", "mpmath", "pytest>=8.4", "pytest-xdist>=3.8"]
WITH += ["pytest-timeout>=2.3", "torchmetrics==1.9.0"]
# What Inspect allows of fsspec is older than requirements.txt has it.
HARNESSES = ["lm-eval[hf]>=0.4.9", "inspect-ai>=0.3.200", "trl>=0.20"]


def lowest() -> list[str]:
    """The lowest versions of what infolm runs with that setup.cfg allows, pinned.

    >>> [pin for pin in lowest() if pin.startswith("numpy")]
    ['numpy==2']
    """
    setup = ConfigParser()
    setup.read(Path(__file__).with_name("setup.cfg"))
    return ["==".join(pin) for pin in LEAST.findall(setup["options"]["install_requires"])]


@nox.session(name="lowest")
def with_lowest(session: nox.Session) -> None:
    """The lowest versions of setup.cfg."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write("\n".join(lowest()))
        constraints.flush()
        session.install("-c", constraints.name, "-e", NEEDED, *WITH)
    # Without the tests of the page, for want of its gradio.
    session.run("pytest", *(session.posargs or ["tests/unit", "--ignore=tests/unit/space"]))


@nox.session(name="pinned")
def with_pinned(session: nox.Session) -> None:
    """The versions of requirements.txt."""
    session.install("-c", "requirements.txt", "-e", ".[test]")
    session.run("pytest", *(session.posargs or ["tests/unit"]))


@nox.session(name="transport")
@nox.parametrize("pot", POT)
def with_pot(session: nox.Session, pot: str) -> None:
    """The pinned versions, with another release of POT."""
    session.install("-c", "requirements.txt", "-e", ".[test]")
    session.install(f"POT=={pot}")
    session.run("pytest", *(session.posargs or ["tests/unit/baryscore"]))


@nox.session(name="integrations")
def with_harnesses(session: nox.Session) -> None:
    """The pinned torch and transformers, with lm-evaluation-harness, Inspect and TRL."""
    lines = Path(__file__).with_name("requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line.startswith(("torch==", "transformers=="))]
    session.install("-e", ".", *WITH, *HARNESSES, *pins)
    session.run("pytest", *(session.posargs or ["tests/heavy/integrations"]))


@nox.session(name="estimation")
def with_ppi_python(session: nox.Session) -> None:
    """Compare estimates with ppi-python, by the authors of PPI++."""
    session.install("-c", "requirements.txt", "-e", ".[test]", "ppi-python>=0.2.3")
    session.run("pytest", *(session.posargs or ["-n", "0", "tests/heavy/estimation"]))
