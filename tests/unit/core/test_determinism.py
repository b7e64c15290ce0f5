"""The bits of a row do not depend on the rows beside it, nor on when threads were set."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from infolm_metric.core import determinism

CPU = torch.device("cpu")


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_row_has_the_same_bits_alone_and_among_others_by_any_number_of_threads(threads, number):
    threads(number)
    assert determinism.min_rows() == max(16, 8 * number)
    torch.manual_seed(0)
    layer, rows = torch.nn.Linear(384, 1536), torch.randn(300, 384)
    with torch.inference_mode():
        whole = determinism.by_rows(layer, rows)
        for count in (1, 2, 3, 5, 17, 40):
            assert torch.equal(determinism.by_rows(layer, rows[:count]), whole[:count])
            assert torch.equal(determinism.deterministic_linear(layer)(rows[:count]), whole[:count])


def test_only_linear_layers_are_changed_and_in_place():
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.Bilinear(4, 4, 2)
    )
    weights = model.state_dict()
    assert determinism.deterministic_linear(model) is model
    kinds = ["DeterministicLinear", "LayerNorm", "Bilinear"]
    assert [type(part).__name__ for part in model] == kinds
    assert model.state_dict().keys() == weights.keys()


def test_two_threads_share_the_precision_until_both_are_done():
    before = torch.get_float32_matmul_precision()
    both_are_in, first_is_out = threading.Barrier(2, timeout=60), threading.Event()

    def first():
        with determinism.deterministic_inference(CPU):
            both_are_in.wait()
        first_is_out.set()

    def second():
        with determinism.deterministic_inference(CPU):
            both_are_in.wait()
            assert first_is_out.wait(60)
            return torch.get_float32_matmul_precision()

    torch.set_float32_matmul_precision("medium")
    try:
        with ThreadPoolExecutor(2) as pool:
            early, late = pool.submit(first), pool.submit(second)
        early.result()
        assert late.result() == "highest"
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.skipif(
    not hasattr(torch.backends, "fp32_precision"), reason="torch before 2.9 has one precision"
)
@pytest.mark.parametrize("place", [torch.backends, torch.backends.cuda.matmul])
def test_a_precision_that_was_set_by_backend_is_put_aside_and_back(place):
    products = [torch.backends.cuda.matmul, torch.backends.mkldnn.matmul]
    places = [torch.backends, *products]
    precisions = [backend.fp32_precision for backend in places]
    for backend in places:
        backend.fp32_precision = "none"
    place.fp32_precision = "tf32"  # of torch.backends this is what a Trainer's tf32=True does
    try:
        before = [backend.fp32_precision for backend in products]
        assert "tf32" in before
        with determinism.deterministic_inference(CPU):
            assert [backend.fp32_precision for backend in products] == ["ieee", "ieee"]
        assert [backend.fp32_precision for backend in products] == before
    finally:
        for backend, precision in zip(places, precisions, strict=True):
            backend.fp32_precision = precision
