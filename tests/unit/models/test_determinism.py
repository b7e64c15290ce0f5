"""Batch-invariant matrix products, and float32 precision shared by threads."""

import os

import pytest
import torch

from infolm_metric.models import determinism


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture(params=[None, True], ids=["default", "oneDNN"])
def library(request, monkeypatch):
    """Use the default library for matrix products, or oneDNN."""
    if request.param and not torch.backends.mkldnn.is_available():
        pytest.skip("torch was built without oneDNN")
    avx512 = torch.backends.cpu.get_cpu_capability() == "AVX512"
    if request.param and not avx512 and torch.__version__ < "2.13":
        pytest.skip("without AVX-512, oneDNN is unused, and older versions have no rule")
    determinism.probe_rows.cache_clear()
    if request.param:
        monkeypatch.setattr(determinism, "uses_onednn", lambda dtype: dtype == torch.float32)
    yield
    determinism.probe_rows.cache_clear()


@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize("shape", [(384, 1536), (1536, 384), (384, 3)], ids=str)
def test_rows_of_a_linear_layer_are_bitwise_batch_invariant(threads, library, number, shape):
    threads(number)
    torch.manual_seed(0)
    layer, rows = torch.nn.Linear(*shape), torch.randn(1500, shape[0])
    if determinism.row_rule(layer.weight) == determinism.RowRule():
        determinism.probe_rows.cache_clear()  # without padding the plain layer is batch-invariant
    else:
        determinism.deterministic_linear(layer)
    with torch.inference_mode():
        whole = layer(rows)
        counts = (1, 2, 3, 17, 40, 64, 190, 1033)
        for start, count in zip((0, 5, 0, 7, 1, 3, 2, 9), counts, strict=True):
            assert torch.equal(layer(rows[start : start + count]), whole[start : start + count])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_linear_layers_agree_with_products_in_float64(library, dtype):
    torch.manual_seed(0)
    layer, rows = torch.nn.Linear(50, 3000, dtype=dtype), torch.randn(40, 50, dtype=dtype)
    expected = rows.double() @ layer.weight.double().t() + layer.bias.double()
    with torch.inference_mode():
        output = determinism.deterministic_linear(layer)(rows)
    rounding = torch.finfo(dtype).eps
    torch.testing.assert_close(output.double(), expected, rtol=rounding, atol=10 * rounding)


@pytest.mark.parametrize("rule", [determinism.RowRule(16), determinism.RowRule(block=64)], ids=str)
@pytest.mark.parametrize("count", [1, 15, 16, 64, 65, 150])
@pytest.mark.parametrize("in_place", [False, True])
def test_padding_and_blocks_do_not_change_matrix_products(rule, count, in_place, monkeypatch):
    weight, bias, rows = torch.randn(5, 32), torch.randn(5), torch.randn(count, 32)
    out = torch.empty(rule.padded(count), 5) if in_place else None
    linear, sizes = determinism.linear, []

    def noted(part, *arguments):
        sizes.append(len(part))
        return linear(part, *arguments)

    monkeypatch.setattr(determinism, "linear", noted)
    output = rule.apply(rows, weight, bias, out)
    torch.testing.assert_close(output, rows @ weight.t() + bias)
    assert sum(sizes) == rule.padded(count) >= count
    assert set(sizes) == {rule.block or max(16, count)}
    assert out is None or out.data_ptr() == output.data_ptr() or determinism.uses_onednn(out.dtype)


@pytest.mark.parametrize("block", [64, 0])
def test_the_probe_selects_blocks_if_only_their_rows_are_independent(block, monkeypatch):
    """Emulate a library whose rounding depends on some numbers of rows, as on CPUs with AMX."""

    def linear(rows, weight, bias, out=None):
        output = torch.stack([weight @ row + bias for row in rows])
        if len(rows) != block:
            output += torch.arange(len(rows))[:, None] + len(rows)
        return output if out is None else out.copy_(output)

    monkeypatch.setattr(determinism, "linear", linear)
    rule = determinism.probe_rows.__wrapped__(16, 24, torch.float64, 1)
    assert rule == determinism.RowRule(block=block)


@pytest.mark.parametrize("mode", [None, "COMPATIBLE"])
def test_the_environment_is_not_changed(mode, monkeypatch):
    monkeypatch.delenv(determinism.MKL_MODE, raising=False)
    if mode:
        monkeypatch.setenv(determinism.MKL_MODE, mode)
    before = dict(os.environ)
    determinism.make_products_reproducible()
    assert dict(os.environ) == before


@pytest.mark.parametrize("place", [torch.backends, torch.backends.cuda.matmul])
def test_backend_specific_precision_is_overridden_and_restored(place):
    products = [torch.backends.cuda.matmul, torch.backends.mkldnn.matmul]
    places = [torch.backends, *products]
    precisions = [backend.fp32_precision for backend in places]
    for backend in places:
        backend.fp32_precision = "none"
    place.fp32_precision = "tf32"  # a Trainer with tf32=True sets it on torch.backends
    try:
        before = [backend.fp32_precision for backend in products]
        assert "tf32" in before
        with determinism.deterministic_inference(torch.device("cpu")):
            assert [backend.fp32_precision for backend in products] == ["ieee", "ieee"]
        assert [backend.fp32_precision for backend in products] == before
    finally:
        for backend, precision in zip(places, precisions, strict=True):
            backend.fp32_precision = precision
