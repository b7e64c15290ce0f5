"""Two texts in one sequence, against what each family's tokenizer makes of them."""

import pytest
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer

from infolm_metric.menli import nli_model, pair_tokens
from tests.model_families import SENTENCES
from tests.nli_models import MODELS

COUPLES = [
    (SENTENCES[0], SENTENCES[1]),
    ("a cat", SENTENCES[3]),
    (SENTENCES[3], ""),
    ("", "Rain."),
    ("", ""),
    ("[SEP] and </s> and [MASK]", "été 東京"),
    (" ".join(SENTENCES[:3]), " ".join(SENTENCES[4:7])),
]


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", MODELS)
def test_pairs_are_joined_and_cut_as_the_tokenizer_does_it(tiny_nli, family, side):
    folder = tiny_nli(family)
    tokenizer = AutoTokenizer.from_pretrained(folder, truncation_side=side)
    template = pair_tokens.find_pair_template(family, tokenizer)
    source = nli_model.open_nli(str(folder))
    for limit in (None, 30, 17, 12, 9):
        options = {"truncation": "longest_first", "max_length": limit} if limit else {}
        for premise, hypothesis in COUPLES:
            first, second = nli_model.tokens_of(source, [premise, hypothesis])
            expected = tokenizer([premise], [hypothesis], **options)
            pair = template.join(first, second, limit)
            assert pair.ids.tolist() == expected["input_ids"][0]
            types = expected.get("token_type_ids")
            assert template.token_types(pair) == (types and types[0])


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_the_default_limit_is_what_the_model_can_read(tiny_nli, family):
    source = nli_model.open_nli(str(tiny_nli(family)))
    assert source.checkpoint.limit == 40  # of RoBERTa's 42 positions two are of padding
    assert source.template.overhead == {"bert": 3, "roberta": 4}[family]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (4, "max_length must be at least 5, because the tokenizer adds 3 special .* got 4"),
        (41, "max_length must be at most 40, what 'm' can read, got 41"),
    ],
)
def test_a_limit_that_cannot_be_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        pair_tokens.check_limit("m", 40, given, 3)


def test_a_model_without_room_for_two_texts_is_refused():
    with pytest.raises(ValueError, match="'m' reads 4 tokens at most, .* choose another model"):
        pair_tokens.check_limit("m", 4, None, 3)


def test_batches_hold_pairs_of_one_length_without_padding(tiny_nli):
    source = nli_model.open_nli(str(tiny_nli()))
    tokens = nli_model.tokens_of(source, SENTENCES)
    pairs = [source.template.join(one, two, 30) for one in tokens for two in tokens[:4]]
    seen = []
    for batch in pair_tokens.batches(pairs, source.template, 5, "cpu"):
        assert len(batch.owners) <= 5
        assert [ids.tolist() for ids in batch.ids] == [pairs[i].ids.tolist() for i in batch.owners]
        seen += batch.owners
    assert sorted(seen) == list(range(len(pairs)))


def test_a_tokenizer_that_joins_texts_in_another_way_is_refused(tiny_nli):
    class Odd:
        def __init__(self):
            self.own = AutoTokenizer.from_pretrained(tiny_nli())

        def __call__(self, *texts, **options):
            return self.own("".join(texts), **options)

        def convert_ids_to_tokens(self, ids):
            return self.own.convert_ids_to_tokens(ids)

    with pytest.raises(ValueError, match="'m' joins two texts in a way that is not known"):
        pair_tokens.find_pair_template("m", Odd())


def test_a_tokenizer_that_puts_nothing_around_two_texts_is_refused(tiny_nli):
    tokenizer = AutoTokenizer.from_pretrained(tiny_nli())
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="$A", pair="$A $B", special_tokens=[]
    )
    with pytest.raises(ValueError, match="'m' joins two texts in a way that is not known"):
        pair_tokens.find_pair_template("m", tokenizer)
