"""Tests with libraries that infolm does not install; `nox` installs them.

The tests of a missing library are not collected.
"""

from importlib.util import find_spec

HARNESSES = ("lm_eval", "inspect_ai", "mlflow", "trl")
LIBRARIES = {f"integrations/test_{name}.py": name for name in HARNESSES}
LIBRARIES["estimation/test_ppi.py"] = "ppi_py"
collect_ignore = [path for path, library in LIBRARIES.items() if not find_spec(library)]
