"""Tests that need a library infolm does not install: `nox -s integrations` has them.

Without the library its tests are not collected.
"""

from importlib.util import find_spec

collect_ignore = [
    f"test_{name}.py" for name in ("lm_eval", "inspect_ai", "trl") if not find_spec(name)
]
