"""The bits of a row do not depend on the rows beside it, nor on when threads were set."""

import pytest
import torch

from infolm_metric import metrics
from infolm_metric.kernel.exactness import by_rows, exactly, least_rows, steady


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_row_has_the_same_bits_alone_and_among_others_by_any_number_of_threads(threads, number):
    threads(number)
    assert least_rows() == max(16, 8 * number)
    torch.manual_seed(0)
    layer, rows = torch.nn.Linear(384, 1536), torch.randn(300, 384)
    with torch.inference_mode():
        whole = by_rows(layer, rows)
        for count in (1, 2, 3, 5, 17, 40):
            assert torch.equal(by_rows(layer, rows[:count]), whole[:count])
            assert torch.equal(steady(layer)(rows[:count]), whole[:count])


def test_two_threads_share_the_precision_until_both_are_done():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        one, other = exactly(torch.device("cpu")), exactly(torch.device("cpu"))
        one.__enter__()
        other.__enter__()
        one.__exit__(None, None, None)
        assert torch.get_float32_matmul_precision() == "highest"
        other.__exit__(None, None, None)
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
    own = [each.fp32_precision for each in places]
    for each in places:
        each.fp32_precision = "none"
    place.fp32_precision = "tf32"  # of torch.backends this is what a Trainer's tf32=True does
    try:
        before = [each.fp32_precision for each in products]
        assert "tf32" in before
        with exactly(torch.device("cpu")):
            assert [each.fp32_precision for each in products] == ["ieee", "ieee"]
        assert [each.fp32_precision for each in products] == before
    finally:
        for each, precision in zip(places, own, strict=True):
            each.fp32_precision = precision


@pytest.mark.parametrize("name", ["infolm", "baryscore", "menli"])
def test_a_default_device_of_the_callers_changes_nothing(name, tiny_bert, tiny_nli):
    """The device "meta" stands for a GPU: what is made there has no numbers."""
    own = {"layers": 2} if name == "baryscore" else {}
    model = tiny_nli() if name == "menli" else tiny_bert
    scorer = metrics.find(name).scorer_type()(model_name_or_path=model, reuse_memory=0, **own)
    texts, others = ["the cat", "a dog", ""], ["the cat sat", "the dog", "rain"]
    every = [{}, {"interpolation": 0.2}, {"masks_per_pass": 0}] if name == "infolm" else [{}]
    for settings in every:
        expected = scorer.score(texts, others, **settings)
        with torch.device("meta"):
            assert scorer.score(texts, others, **settings)["scores"] == expected["scores"]
