"""Tests with libraries that infolm does not install; `nox -s integrations` installs them.

The tests of a missing library are not collected.
"""

from importlib.util import find_spec

collect_ignore = [
    f"test_{name}.py" for name in ("lm_eval", "inspect_ai", "trl") if not find_spec(name)
]
