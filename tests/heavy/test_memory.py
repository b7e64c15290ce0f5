"""Memory does not grow with the number of pairs and is released, measured in a separate process."""

import sys

import pytest

from tools.timing import in_process


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("form", ["list", "stream"])
def test_memory_with_the_bundled_model_is_limited_and_released(form):
    job = {"count": 500, "form": form, "reuse_memory": 16 << 20}  # distributions take 240 MB
    sizes = in_process("tools.memory", job)
    assert sizes["peak"] - sizes["loaded"] < 310 and sizes["unloaded"] < 700  # MB
