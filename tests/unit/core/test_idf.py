"""IDF: document frequencies, accepted corpora, caches, saved tables, token weights."""

import json
import math
import shutil
import tempfile

import datasets
import numpy as np
import pandas as pd
import pytest
from datasets import Dataset, IterableDataset
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, BertTokenizer, PerceiverTokenizer

from infolm_metric import InfoLMSettings, InputError
from infolm_metric.core.document_counts import DISTINCT, DOCUMENTS_PER_ROW, tokenizer_fingerprint
from infolm_metric.core.idf import IDF, CorpusStatistics
from infolm_metric.core.inputs import Pairs
from tests.damage import DAMAGE
from tests.made_texts import weighted_text
from tests.model_families import SENTENCES, TOKENIZER_KINDS

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "e"]
CORPUS = ["a b", "a a c", "a b", "", "d zzz a"]
MANY = [CORPUS[index % len(CORPUS)] for index in range(2 * DOCUMENTS_PER_ROW)]


class CountingTokenizer(BertTokenizer):
    """Tokenizer that counts the texts passed to it."""

    texts = 0

    def __call__(self, texts, **options):
        self.texts += len(texts)
        return super().__call__(texts, **options)


def word_tokenizer(words=WORDS, kind=BertTokenizer, **options):
    """Return a tokenizer with these words as its vocabulary, numbered in order."""
    return kind(vocab={word: index for index, word in enumerate(words)}, **options)


TOKENIZER = word_tokenizer()
TABLE = IDF.from_corpus(CORPUS, TOKENIZER)


def frequencies(table):
    """Return the nonzero document frequencies of WORDS."""
    counts = table.document_frequency.tolist()
    return {word: count for word, count in zip(WORDS, counts, strict=True) if count}


def dataset_on_disk(folder, texts=CORPUS, **columns):
    """Return a data set whose files are in the folder."""
    Dataset.from_dict({"text": texts, **columns}).save_to_disk(folder)
    return datasets.load_from_disk(folder)


# Counts

DOCUMENTS = st.lists(st.lists(st.sampled_from("abcde"), max_size=5).map(" ".join), min_size=1)


@given(DOCUMENTS, DOCUMENTS)
@settings(max_examples=30)
def test_document_frequencies_match_a_literal_count_and_add_up(first, second):
    tables = [IDF.from_corpus(part, TOKENIZER) for part in (first, second)]
    whole, corpus = tables[0] + tables[1], first + second
    for word in "abcde":
        count = sum(word in text.split() for text in corpus)
        assert whole.document_frequency[WORDS.index(word)] == count
        weight = math.log((len(corpus) + 1) / (count + 1))
        assert whole.weights[WORDS.index(word)] == pytest.approx(weight, abs=1e-15)
    counted = IDF.from_corpus(corpus, TOKENIZER)
    assert whole == counted and whole.digests == counted.digests
    assert whole.documents == len(corpus)
    assert len(whole.digests) == min(DISTINCT, len({tuple(text.split()) for text in corpus}))


def test_special_tokens_count_only_if_the_text_contains_them():
    table = IDF.from_corpus(["a [SEP] b", "zzz"], TOKENIZER)
    assert frequencies(table) == {"[UNK]": 1, "[SEP]": 1, "a": 1, "b": 1}


def test_without_max_length_documents_are_not_truncated_and_nothing_is_printed(tiny_bert, capfd):
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    text = " ".join(SENTENCES)
    ids = IDF.from_corpus([text], tokenizer).document_frequency.nonzero()[0].tolist()
    whole = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    assert ids == sorted(set(whole)) and len(whole) > tokenizer.model_max_length
    assert capfd.readouterr().err == ""


def test_slow_tokenizers_are_supported():
    tokenizer = PerceiverTokenizer()
    table = IDF.from_corpus(["ab", "b"], tokenizer)
    assert table.document_frequency[tokenizer.convert_tokens_to_ids(["a", "b"])].tolist() == [1, 2]
    assert table.document_frequency.sum() == 3
    assert table.tokenizer == tokenizer_fingerprint(PerceiverTokenizer())


def test_tables_are_immutable_and_compare_by_value():
    same = IDF.from_corpus(CORPUS, word_tokenizer())
    assert (TABLE, hash(TABLE), str(TABLE)) == (same, hash(same), str(same))
    assert TABLE != IDF(TABLE.documents + 1, TABLE.document_frequency, TABLE.tokenizer) != "table"
    for array in (TABLE.document_frequency, TABLE.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    for size, tokenizer in ((len(WORDS), "5f2e"), (1, TABLE.tokenizer)):
        with pytest.raises(InputError, match="different tokenizers"):
            TABLE + IDF(1, np.ones(size, dtype=int), tokenizer)


# Corpora

NESTED = [["a b", "a"], ["c"], ["a b", "a b", "d"]]
CORPORA = {
    "tuple": tuple,
    "generator": iter,
    "numpy array": np.array,
    "column": lambda texts: Dataset.from_dict({"x": texts})["x"],
    "nested column": lambda texts: Dataset.from_dict({"x": [{"y": t} for t in texts]})["x"]["y"],
    "data set": lambda texts: Dataset.from_dict({"n": [0] * len(texts), "text": texts}),
    "transformed": lambda texts: Dataset.from_dict(
        {"x": [text[::-1] for text in texts]}
    ).with_transform(lambda rows: {"text": [text[::-1] for text in rows["x"]]}),
    "stream": lambda texts: Dataset.from_dict({"text": texts}).to_iterable_dataset(num_shards=2),
    "stream column": lambda texts: Dataset.from_dict({"x": texts}).to_iterable_dataset()["x"],
    "stream of unknown columns": lambda texts: IterableDataset.from_generator(
        lambda: ({"n": 0, "text": text} for text in texts)
    ),
}


@pytest.mark.parametrize("kind", CORPORA)
def test_every_type_of_corpus_gives_the_same_table_as_a_list(kind):
    table = IDF.from_corpus(CORPORA[kind](CORPUS), TOKENIZER)
    assert table == TABLE and table.digests == TABLE.digests


@pytest.mark.parametrize("kind", ["tuple", "data set", "stream"])
def test_each_reference_counts_as_a_document(kind):
    table = IDF.from_corpus(CORPORA[kind](NESTED), TOKENIZER)
    assert table == IDF.from_corpus([text for group in NESTED for text in group], TOKENIZER)
    assert table.documents == 6


def test_a_stream_is_read_once():
    read = []

    def rows():
        for index in range(2 * DOCUMENTS_PER_ROW + 1):
            read.append(index)
            yield {"text": CORPUS[index % len(CORPUS)]}

    table = IDF.from_corpus(IterableDataset.from_generator(rows), TOKENIZER)
    assert read == list(range(2 * DOCUMENTS_PER_ROW + 1))
    assert table.documents == len(read)


LATE = Dataset.from_dict({"text": ["a"] * DOCUMENTS_PER_ROW + [None]})
TWO_COLUMNS = Dataset.from_dict({"x": ["a"], "y": ["b"], "n": [0]})
UNKNOWN_COLUMN = IterableDataset.from_generator(lambda: iter([{"x": "a"}]))
INVALID = {  # corpus, pattern of the message
    "empty list": ([], "empty"),
    "None": (["a", None], r"corpus\[1\]"),
    "None in a list": ([["a"], ["b", None]], r"corpus\[1\]\[1\]"),
    "None in a column": (LATE, rf"corpus\[{DOCUMENTS_PER_ROW}\]"),
    "None in a stream": (LATE.to_iterable_dataset(), rf"corpus\[{DOCUMENTS_PER_ROW}\]"),
    "lone surrogate": (["a", "\ud800"], r"corpus\[1\].*surrogate"),
    "a string": ("a b", "Wrap it in a list"),
    "number": (5, "list of strings"),
    "splits": (datasets.DatasetDict(train=LATE), r"corpus\['train'\]"),
    "numbers": (Dataset.from_dict({"text": [1]}), "must be a string, got 1"),
    "a data frame": (pd.DataFrame({"text": ["a"]}), "DataFrame"),
    "another column": (TWO_COLUMNS, r"'text', only 'x', 'y', 'n'\. .*column="),
    "an unknown column of a stream": (UNKNOWN_COLUMN, "'text', only 'x'"),
}


@pytest.mark.parametrize(("corpus", "word"), INVALID.values(), ids=INVALID)
def test_invalid_corpora_are_rejected(corpus, word):
    with pytest.raises(InputError, match=word):
        IDF.from_corpus(corpus, TOKENIZER)


def test_the_requested_column_is_read():
    data = Dataset.from_dict({"text": ["a"], "other": ["b"]})
    assert frequencies(IDF.from_corpus(data, TOKENIZER, column="other")) == {"b": 1}
    with pytest.raises(InputError, match="no column 'othr'"):
        IDF.from_corpus(data.select_columns("other"), TOKENIZER, column="othr")


INVALID_OPTIONS = [("max_length", 2), ("max_length", 5.5), ("num_proc", 0), ("num_proc", "4")]


@pytest.mark.parametrize(("name", "value"), [*INVALID_OPTIONS, ("tokenizer", "bundled")])
def test_invalid_options_are_rejected(name, value):
    with pytest.raises(InputError, match=f"{name} .*got {value!r}"):
        IDF.from_corpus(CORPUS, **{"tokenizer": TOKENIZER, name: value})


# Processes and files


class PinnedTokenizer(BertTokenizer):
    """Tokenizer that cannot be copied to another process or hashed."""

    def __reduce_ex__(self, protocol):
        raise AssertionError("the tokenizer is pickled")


@pytest.mark.parametrize("kind", ["tuple", "column", "data set", "stream"])
def test_one_process_neither_pickles_the_tokenizer_nor_writes_anything(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tokenizer = word_tokenizer(kind=PinnedTokenizer)
    assert IDF.from_corpus(CORPORA[kind](MANY), tokenizer) == IDF.from_corpus(MANY, TOKENIZER)
    assert list(tmp_path.iterdir()) == []


def test_lists_are_counted_without_a_progress_bar(capfd):
    for enabled in (True, False):
        (datasets.enable_progress_bars if enabled else datasets.disable_progress_bars)()
        try:
            assert IDF.from_corpus(CORPUS, TOKENIZER) == TABLE
            assert datasets.are_progress_bars_disabled() is not enabled
        finally:
            datasets.enable_progress_bars()
    assert capfd.readouterr().err == ""


def test_two_processes_give_the_same_counts_and_leave_no_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tokenizer = word_tokenizer(kind=CountingTokenizer)
    table = IDF.from_corpus(MANY, tokenizer, num_proc=2)
    assert table == IDF.from_corpus(MANY, TOKENIZER)
    assert list(tmp_path.rglob("*.arrow")) == []
    data = dataset_on_disk(tmp_path / "data", MANY)
    for num_proc in (2, None):  # the second from the cache
        assert IDF.from_corpus(data, tokenizer, num_proc=num_proc) == table
    assert tokenizer.texts == 0  # in this process


def test_a_data_set_on_disk_is_counted_once(tmp_path):
    tokenizer = word_tokenizer(kind=CountingTokenizer)
    data = dataset_on_disk(tmp_path / "data", other=["c"] * len(CORPUS))
    assert IDF.from_corpus(data, tokenizer) == TABLE
    assert tokenizer.texts == len(CORPUS)
    tokenizer(["a b c", "d"], padding=True, truncation=True, max_length=4)  # changes its state
    tokenizer.texts = 0
    again = datasets.load_from_disk(tmp_path / "data")
    for corpus in (data, again, again["text"]):
        table = IDF.from_corpus(corpus, tokenizer)
        assert table == TABLE and table.digests == TABLE.digests
    assert tokenizer.texts == 0
    assert len(list(tmp_path.rglob("cache-*.arrow"))) == 1


def test_cached_counts_are_reused_only_if_they_would_be_equal(tmp_path):
    data = dataset_on_disk(tmp_path / "data", other=["c"] * len(CORPUS))
    tokenizer, left, larger = (
        word_tokenizer(words, CountingTokenizer, truncation_side=side)
        for words, side in ((WORDS, "right"), (WORDS, "left"), ([*WORDS, "zzz"], "right"))
    )
    changes = [
        (data, tokenizer, {}),
        (data, tokenizer, {"max_length": 3}),
        (data, left, {"max_length": 3}),
        (data, tokenizer, {"max_length": 4}),
        (data, tokenizer, {"column": "other"}),
        (data, larger, {}),
        (data.select(range(3)), tokenizer, {}),
        (dataset_on_disk(tmp_path / "more", [*CORPUS, "e"]), tokenizer, {}),
    ]
    tables = []
    for corpus, reader, options in changes:
        reader.texts = 0
        tables.append(IDF.from_corpus(corpus, reader, **options))
        assert reader.texts == len(corpus), options
    assert len(set(tables)) == len(tables)


def test_nothing_is_cached_if_caching_is_disabled_or_impossible(tmp_path):
    data = dataset_on_disk(tmp_path / "data")
    datasets.disable_caching()
    try:
        assert IDF.from_corpus(data, TOKENIZER) == TABLE
    finally:
        datasets.enable_caching()
    assert list(tmp_path.rglob("cache-*.arrow")) == []
    shutil.rmtree(tmp_path / "data")  # the files are still open, but their folder is gone
    assert IDF.from_corpus(data, TOKENIZER) == TABLE
    assert list(tmp_path.iterdir()) == []


# Saved tables


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("idf") / "idf.json"
    TABLE.save(path)
    return path


def test_saving_and_loading_preserves_a_table(tiny_models, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(tiny_models("roberta"))
    table = IDF.from_corpus(SENTENCES, tokenizer)
    table.save(tmp_path / "idf.json")
    loaded = IDF.load(str(tmp_path / "idf.json"))
    assert loaded == table
    np.testing.assert_allclose(loaded.weights, table.weights, rtol=1e-12)
    assert (loaded.tokenizer_name, loaded.digests) == (table.tokenizer_name, table.digests)
    assert repr(loaded) == repr(table) and "[" not in repr(table)


def test_equal_tables_are_saved_as_identical_readable_files(saved, tmp_path):
    IDF.from_corpus(CORPUS[::-1], TOKENIZER).save(tmp_path / "reversed")
    assert (tmp_path / "reversed").read_bytes() == saved.read_bytes()
    record = json.loads(saved.read_text())
    assert (record["documents"], record["vocabulary"]) == (5, len(WORDS))
    counts = {WORDS[i]: count for i, count in zip(record["token_ids"], record["counts"])}  # noqa: B905
    assert counts == {"[UNK]": 1, "a": 4, "b": 2, "c": 1, "d": 1}
    del record["digests"]  # older files have none
    (tmp_path / "old").write_text(json.dumps(record))
    assert IDF.load(tmp_path / "old") == TABLE


ENTRIES = ["format", "version", "fingerprint", "tokenizer", "tokenizer_name", "documents"]
ENTRIES += ["vocabulary", "token_ids", "counts", "digests"]
WRONG = st.sampled_from([None, "five", 6, -1, 0.5, [], [1], [1, 5, 6, 7, 99], {}, True])


ENTRIES_REPLACED = st.dictionaries(st.sampled_from(ENTRIES), WRONG, min_size=1, max_size=2).map(
    lambda entries: lambda content: json.dumps(json.loads(content) | entries).encode()
)


@given(damage=DAMAGE | ENTRIES_REPLACED)
def test_a_damaged_file_is_rejected_or_loads_the_same_table(saved, tmp_path, damage):
    path = tmp_path / "changed"
    path.write_bytes(damage(saved.read_bytes()))
    try:
        assert IDF.load(path) == TABLE
    except InputError as error:
        assert str(path) in str(error) and "Create one" in str(error)


# Tokenizer fingerprints


@pytest.mark.parametrize("family", TOKENIZER_KINDS)
def test_using_or_saving_a_tokenizer_does_not_change_its_fingerprint(family, tiny_models, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(tiny_models(family))
    fingerprint = tokenizer_fingerprint(tokenizer)
    tokenizer(list(SENTENCES), padding=True, truncation=True, max_length=9)
    assert tokenizer_fingerprint(tokenizer) == fingerprint
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 9  # unchanged
    tokenizer.save_pretrained(tmp_path)
    assert tokenizer_fingerprint(AutoTokenizer.from_pretrained(tmp_path)) == fingerprint


def test_tokenizers_with_different_ids_have_different_fingerprints():
    extended = word_tokenizer()
    extended.add_tokens(["new"])
    tokenizers = [TOKENIZER, word_tokenizer(WORDS[:-1]), word_tokenizer(WORDS[::-1]), extended]
    tokenizers += [word_tokenizer(do_lower_case=False), PerceiverTokenizer()]
    assert len({tokenizer_fingerprint(tokenizer) for tokenizer in tokenizers}) == len(tokenizers)


# Corpus statistics

WORD = st.sampled_from([*"abcde", "a b", "a c", "b d", "c d", "d e", "a e", "b e"])
IDF_FORMS = ["references", "separate", False]


def corpus_statistics(pairs, sides=("candidates", "references")):
    texts = {"candidates": pairs.predictions, "references": pairs.flat_references}
    return CorpusStatistics({side: IDF.from_corpus(texts[side], TOKENIZER) for side in sides})


@given(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=14), st.sampled_from(IDF_FORMS))
@settings(max_examples=30)
def test_distinct_documents_of_the_smaller_side_are_counted(pairs, idf):
    sides = InfoLMSettings(idf=idf).idf_sides
    statistics = corpus_statistics(Pairs.of((a, [b]) for a, b in pairs), sides)
    texts = {"candidates": {a for a, _ in pairs}, "references": {b for _, b in pairs}}
    distinct = min((len(texts[side]) for side in sides), default=0)
    assert statistics.distinct_documents == min(distinct, DISTINCT)


# Token weights


IDFS = st.lists(st.sampled_from([0.0, 0.3, 1.0, 5.0]), min_size=20, max_size=20).map(np.array)


@given(st.lists(st.integers(0, 19), max_size=8), IDFS)
def test_token_weights_are_normalized_and_uniform_if_all_are_zero(tokens, table):
    raw = table[tokens] if table[tokens].any() else np.ones(len(tokens))
    for weights, expected in ((table, raw), (None, np.ones(len(tokens)))):
        normalized = np.exp(weighted_text(*tokens, table=weights).log_weights)
        np.testing.assert_allclose(normalized, expected / max(expected.sum(), 0.1), rtol=1e-12)


def test_equal_tokens_with_equal_weights_have_equal_keys():
    table = np.arange(20.0)
    assert weighted_text(10, 11).key == weighted_text(10, 11).key != weighted_text(11, 10).key
    assert weighted_text(10, 11).key != weighted_text(10, 11, table=table).key
    assert weighted_text(10, 11, table=table).key == weighted_text(10, 11, table=2 * table).key
    table = np.zeros(20)
    table[11] = 1.0
    assert weighted_text(10, 12, table=table).zero_weight is True
    for text in (weighted_text(10, 11, table=table), weighted_text(10), weighted_text(table=table)):
        assert text.zero_weight is False
