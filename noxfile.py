"""Test sessions with different versions of the dependencies.

    nox -s lowest          # minimum versions in setup.cfg
    nox -s pinned          # versions in requirements.txt, as in .ci/run
    nox -s transport       # BaryScore with each supported release of POT
    nox -s integrations    # latest lm-evaluation-harness, Inspect, MLflow and TRL
    nox -s estimation      # comparison of infolm estimate with ppi-python

Each session needs a few gigabytes of disk space for torch. CPU wheels are sufficient; set
PIP_INDEX_URL or PIP_EXTRA_INDEX_URL to an index that provides them. Arguments after `--` are passed
to pytest.
"""

import re
import tempfile
from configparser import ConfigParser
from pathlib import Path

import nox

nox.options.sessions = ["lowest", "pinned"]
MINIMUM = re.compile(r"([\w-]+)>=([\d.]+)")
POT = ["0.9.6", "0.9.7"]
PACKAGE = ".[ray]"  # without gradio, which requires newer versions of other packages
TEST_TOOLS = [
    "accelerate",
    "bert-score>=0.3.13",
    "hypothesis",
    "import-linter",
    "matplotlib>=3.9",
    "mpmath",
    "torchmetrics==1.9.0",
]
TEST_TOOLS += ["pytest>=8.4", "pytest-timeout>=2.3", "pytest-xdist>=3.8", "tokenizers>=0.23.3"]
# Not installed with requirements.txt, because Inspect requires an older fsspec.
HARNESSES = ["lm-eval[hf]>=0.4.9", "inspect-ai>=0.3.200", "mlflow>=3.4", "trl>=0.20"]


def lowest() -> list[str]:
    """Return the dependencies in setup.cfg, pinned to their minimum versions.

    >>> [pin for pin in lowest() if pin.startswith("numpy")]
    ['numpy==2']
    """
    setup = ConfigParser()
    setup.read(Path(__file__).with_name("setup.cfg"))
    return ["==".join(pin) for pin in MINIMUM.findall(setup["options"]["install_requires"])]


@nox.session(name="lowest")
def with_lowest(session: nox.Session) -> None:
    """Test with the minimum versions in setup.cfg."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write("\n".join(lowest()))
        constraints.flush()
        session.install("-c", constraints.name, "-e", PACKAGE, *TEST_TOOLS)
    # The demo's tests need gradio, which is not installed.
    session.run("pytest", *(session.posargs or ["tests/unit", "--ignore=tests/unit/space"]))


@nox.session(name="pinned")
def with_pinned(session: nox.Session) -> None:
    """Test with the versions in requirements.txt."""
    session.install("-c", "requirements.txt", "-e", ".[test]")
    session.run("pytest", *(session.posargs or ["tests/unit"]))


@nox.session(name="transport")
@nox.parametrize("pot", POT)
def with_pot(session: nox.Session, pot: str) -> None:
    """Test with the pinned versions, except for POT."""
    session.install("-c", "requirements.txt", "-e", ".[test]")
    session.install(f"POT=={pot}")
    session.run("pytest", *(session.posargs or ["tests/unit/baryscore"]))


@nox.session(name="integrations")
def with_harnesses(session: nox.Session) -> None:
    """Test the integrations with the pinned torch and transformers."""
    lines = Path(__file__).with_name("requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line.startswith(("torch==", "transformers=="))]
    session.install("-e", ".", *TEST_TOOLS, *HARNESSES, *pins)
    session.run("pytest", *(session.posargs or ["tests/heavy/integrations"]))


@nox.session(name="estimation")
def with_ppi_python(session: nox.Session) -> None:
    """Compare estimates with ppi-python, the implementation by the authors of PPI++."""
    session.install("-c", "requirements.txt", "-e", ".[test]", "ppi-python>=0.2.3")
    session.run("pytest", *(session.posargs or ["-n", "0", "tests/heavy/estimation"]))
