"""Tests that need ppi-python, which infolm does not install: `nox -s estimation` has it.

Without the package they are not collected.
"""

from importlib.util import find_spec

collect_ignore = [] if find_spec("ppi_py") else ["test_ppi.py"]
