"""The corpus IDF: counts, the corpora it accepts, what is kept in files, and whose table it is."""

import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
from datasets import Dataset, IterableDataset
from transformers import AutoTokenizer, BertTokenizer, PerceiverTokenizer

from infolm_metric.kernel.idf.counting import BATCH, LARGE
from infolm_metric.kernel.idf.table import IDF, tokenizer_fingerprint
from tests.model_families import FAMILIES, SENTENCES, build

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "e"]
CORPUS = ["a b", "a a c", "a b", "", "d zzz a"]
TOKENIZERS = ("bert", "roberta", "xlm-roberta", "deberta-v2")


class CountingTokenizer(BertTokenizer):
    """A tokenizer that counts the texts it was given."""

    texts = 0

    def __call__(self, texts: Any, **settings: Any) -> Any:
        self.texts += len(texts)
        return super().__call__(texts, **settings)


def word_tokenizer(words: list[str] = WORDS, kind: type = BertTokenizer, **settings: Any) -> Any:
    """A tokenizer that knows these words, numbered in order."""
    return kind(vocab={word: index for index, word in enumerate(words)}, **settings)


def frequency(table: IDF) -> dict[str, int]:
    """Word -> number of documents, for the words of WORDS that were met."""
    counts = table.document_frequency.tolist()
    return {word: count for word, count in zip(WORDS, counts, strict=True) if count}


def on_disk(folder: Path, texts: list[Any] | None = None, **columns: list[Any]) -> Dataset:
    """A data set that lies in files in the folder."""
    Dataset.from_dict({"text": CORPUS if texts is None else texts, **columns}).save_to_disk(folder)
    return datasets.load_from_disk(folder)


@pytest.fixture
def tokenizer() -> Any:
    return word_tokenizer()


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("families")
    return {family: build(family, root / family) for family in FAMILIES}


# Counts and weights


def test_weights_are_those_of_a_literal_count(tokenizer: Any) -> None:
    documents = [set(tokenizer.tokenize(text)) for text in CORPUS]
    expected = [
        math.log((len(CORPUS) + 1) / (sum(word in document for document in documents) + 1))
        for word in WORDS
    ]
    table = IDF.from_corpus(CORPUS, tokenizer)
    assert table.weights.dtype == np.float64
    np.testing.assert_allclose(table.weights, expected, rtol=0, atol=1e-15)


def test_a_document_counts_once_for_a_token_however_often_it_stands_there(tokenizer: Any) -> None:
    assert frequency(IDF.from_corpus(["a a a b", "a"], tokenizer)) == {"a": 2, "b": 1}


def test_a_repeated_document_counts_each_time(tokenizer: Any) -> None:
    table = IDF.from_corpus(["a b", "a b", "c"], tokenizer)
    assert (table.documents, frequency(table)) == (3, {"a": 2, "b": 2, "c": 1})


def test_empty_documents_are_documents(tokenizer: Any) -> None:
    table = IDF.from_corpus(["", "", "a"], tokenizer)
    assert (table.documents, frequency(table)) == (3, {"a": 1})
    table = IDF.from_corpus(["", ""], tokenizer)
    assert (table.documents, frequency(table)) == (2, {})


def test_a_token_never_seen_weighs_most_and_one_seen_everywhere_nothing(tokenizer: Any) -> None:
    weights = IDF.from_corpus(["a b", "a"], tokenizer).weights
    assert weights[WORDS.index("e")] == weights.max() == math.log(3)
    assert weights[WORDS.index("a")] == 0


def test_in_a_corpus_of_one_document_its_own_tokens_weigh_nothing(tokenizer: Any) -> None:
    weights = IDF.from_corpus(["a b"], tokenizer).weights
    assert weights[[WORDS.index("a"), WORDS.index("b")]].tolist() == [0, 0]


def test_special_tokens_count_only_where_someone_typed_them(tokenizer: Any) -> None:
    assert frequency(IDF.from_corpus(["a [SEP] b", "zzz"], tokenizer)) == {
        **{"[UNK]": 1, "[SEP]": 1},
        **{"a": 1, "b": 1},
    }


@pytest.mark.parametrize("kind", [list, Dataset, IterableDataset])
def test_several_references_are_several_documents(kind: type, tokenizer: Any) -> None:
    references = [["a b", "a"], ["c"], ["a b", "a b", "d"]]
    data = Dataset.from_dict({"references": references})
    corpus = {list: references, Dataset: data, IterableDataset: data.to_iterable_dataset()}[kind]
    flat = [reference for group in references for reference in group]
    table = IDF.from_corpus(corpus, tokenizer)
    assert table == IDF.from_corpus(flat, tokenizer)
    assert table.documents == 6


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("family", FAMILIES)
def test_what_counts_is_what_the_tokenizer_itself_leaves(
    family: str, side: str, families: dict[str, Path]
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(families[family], truncation_side=side)
    for max_length in (3, 7):
        encoded = tokenizer(
            list(SENTENCES), truncation=True, max_length=max_length, return_special_tokens_mask=True
        )
        expected = np.zeros(len(tokenizer), dtype=int)
        for ids, special in zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True):
            for token in {token for token, flag in zip(ids, special, strict=True) if not flag}:
                expected[token] += 1
        table = IDF.from_corpus(SENTENCES, tokenizer, max_length=max_length)
        assert table.document_frequency.tolist() == expected.tolist()
    assert IDF.from_corpus(SENTENCES, tokenizer, max_length=1000) == IDF.from_corpus(
        SENTENCES, tokenizer
    )


def test_nothing_is_cut_and_nothing_said_without_max_length(
    families: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(families["bert"])
    text = " ".join(SENTENCES)
    found = IDF.from_corpus([text], tokenizer).document_frequency
    assert found.nonzero()[0].tolist() == sorted(
        set(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
    )
    assert len(tokenizer.tokenize(text)) > tokenizer.model_max_length
    assert capfd.readouterr().err == ""


def test_a_vocabulary_with_gaps_has_a_weight_for_its_last_id() -> None:
    words = {word: index for index, word in enumerate(WORDS)} | {"last": 20}
    table = IDF.from_corpus(["a last"], BertTokenizer(vocab=words))
    assert table.document_frequency.nonzero()[0].tolist() == [WORDS.index("a"), 20]


def test_a_tokenizer_written_in_python_counts_too() -> None:
    tokenizer = PerceiverTokenizer()
    table = IDF.from_corpus(["ab", "b"], tokenizer)
    ids = tokenizer.convert_tokens_to_ids(["a", "b"])
    assert table.document_frequency[ids].tolist() == [1, 2]
    assert table.document_frequency.sum() == 3
    assert table.tokenizer == tokenizer_fingerprint(PerceiverTokenizer())


def test_the_tables_of_two_corpora_add_up_to_that_of_both(tokenizer: Any) -> None:
    first, second = (IDF.from_corpus(part, tokenizer) for part in (CORPUS[:2], CORPUS[2:]))
    assert first + second == IDF.from_corpus(CORPUS, tokenizer)
    other = IDF.from_corpus(CORPUS, word_tokenizer([*WORDS, "f"]))
    with pytest.raises(ValueError, match="cannot add idf tables of two tokenizers"):
        first + other


def test_tables_are_values(tokenizer: Any) -> None:
    table, same = (IDF.from_corpus(CORPUS, tokenizer) for _ in range(2))
    assert (table, hash(table), table.fingerprint) == (same, hash(same), same.fingerprint)
    changed = IDF(table.documents + 1, table.document_frequency, table.tokenizer)
    assert table != changed
    assert table.fingerprint != changed.fingerprint
    assert table != "table"
    for array in (table.document_frequency, table.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("documents", "counts"), [(0, [0]), (2, [3]), (2, [-1]), (2, [0.5]), (2, [[1]])]
)
def test_an_impossible_table_is_refused(documents: int, counts: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"document"):
        IDF(documents, np.array(counts), "5f2e")


# Corpora

CORPORA: dict[str, Callable[[list[str]], Any]] = {
    "tuple": tuple,
    "generator": iter,
    "numpy array": np.array,
    "numpy objects": lambda texts: np.array(texts, dtype=object),
    "pandas": pd.Series,
    "column": lambda texts: Dataset.from_dict({"x": texts})["x"],
    "nested column": lambda texts: Dataset.from_dict({"x": [{"y": t} for t in texts]})["x"]["y"],
    "data set": lambda texts: Dataset.from_dict({"n": [0] * len(texts), "text": texts}),
    "only text column": lambda texts: Dataset.from_dict({"n": [0] * len(texts), "x": texts}),
    "shuffled": lambda texts: Dataset.from_dict({"text": texts}).shuffle(seed=0),
    "formatted": lambda texts: Dataset.from_dict({"text": texts}).with_format("numpy"),
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
def test_every_kind_of_corpus_gives_the_table_of_the_list(kind: str, tokenizer: Any) -> None:
    assert IDF.from_corpus(CORPORA[kind](CORPUS), tokenizer) == IDF.from_corpus(CORPUS, tokenizer)


def test_a_stream_is_read_once_and_by_the_batch(tokenizer: Any) -> None:
    read = []

    def rows() -> Iterator[dict[str, str]]:
        for index in range(2 * BATCH + 1):
            read.append(index)
            yield {"text": CORPUS[index % len(CORPUS)]}

    table = IDF.from_corpus(IterableDataset.from_generator(rows), tokenizer)
    assert read == list(range(2 * BATCH + 1))
    assert table.documents == 2 * BATCH + 1
    assert frequency(table)["c"] == 2 * BATCH / len(CORPUS)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "nothing": ([], ValueError, "corpus is empty"),
    "no reference": ([[]], ValueError, "corpus is empty"),
    "no row": (Dataset.from_dict({"text": CORPUS}).select([]), ValueError, "corpus is empty"),
    "None": (["a", None], ValueError, r"corpus\[1\] must be a string, got None"),
    "a number": (["a", "b", 5], ValueError, r"corpus\[2\] must be a string, got 5 \(int\)"),
    "None in a list": ([["a"], ["b", None]], ValueError, r"corpus\[1\]\[1\] must be a string"),
    "None in a column": (
        Dataset.from_dict({"text": ["a"] * BATCH + [None]}),
        ValueError,
        rf"corpus\[{BATCH}\] must be a string, got None",
    ),
    "None in a stream": (
        Dataset.from_dict({"text": ["a"] * BATCH + [None]}).to_iterable_dataset(),
        ValueError,
        rf"corpus\[{BATCH}\] must be a string, got None",
    ),
    "half a character": (["a", "\ud800"], ValueError, r"corpus\[1\] has a lone surrogate"),
    "a string": ("a b", TypeError, "bare string"),
    "no list": (5, TypeError, "must be a list of strings"),
    "splits": (
        datasets.DatasetDict(train=Dataset.from_dict({"text": ["a"]})),
        TypeError,
        "DatasetDict of 'train'; give one of these",
    ),
    "a data frame": (pd.DataFrame({"text": ["a"]}), TypeError, "DataFrame of 'text'"),
    "two text columns": (
        Dataset.from_dict({"x": ["a"], "y": ["b"], "n": [0]}),
        ValueError,
        r"no column 'text'; name one with column= \(those that hold text: 'x', 'y'\)",
    ),
    "an unknown column in a stream": (
        IterableDataset.from_generator(lambda: iter([{"x": "a"}])),
        ValueError,
        "no column 'text', only 'x'; name one with column=",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_corpus_is_refused_by_name_and_position(case: str, tokenizer: Any) -> None:
    corpus, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        IDF.from_corpus(corpus, tokenizer)


def test_a_column_that_was_asked_for_is_the_one_read(tokenizer: Any) -> None:
    data = Dataset.from_dict({"text": ["a"], "other": ["b"]})
    assert frequency(IDF.from_corpus(data, tokenizer, column="other")) == {"b": 1}
    with pytest.raises(ValueError, match="no column 'othr'"):
        IDF.from_corpus(data.select_columns("other"), tokenizer, column="othr")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_length": 2}, "max_length must be more than the 2 special tokens .* got 2"),
        ({"processes": 0}, "processes must be at least 1, got 0"),
        ({"processes": 1.5}, "processes must be a whole number, got 1.5"),
        ({"max_length": "5"}, "max_length must be a whole number, got '5'"),
        ({"tokenizer": "bundled"}, "tokenizer must be one of transformers, .* got 'bundled'"),
    ],
)
def test_settings_without_sense_are_refused(
    settings: dict[str, Any], message: str, tokenizer: Any
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        IDF.from_corpus(CORPUS, **{"tokenizer": tokenizer, **settings})


# Processes, files and progress


def test_two_processes_count_the_same_and_leave_no_trace(
    tokenizer: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment, before = os.environ, dict(os.environ)
    texts = [CORPUS[index % len(CORPUS)] for index in range(2 * BATCH)]
    alone = IDF.from_corpus(texts, tokenizer)  # the tokenizer's threads are awake from here on
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().err == ""
    assert IDF.from_corpus(texts, tokenizer, processes=2) == alone
    assert "fork" not in capfd.readouterr().err
    assert list(tmp_path.rglob("*.arrow")) == []
    assert os.environ is environment
    assert dict(os.environ) == before


def test_counts_of_files_are_kept_whoever_counted_them(tmp_path: Path) -> None:
    texts = [CORPUS[index % len(CORPUS)] for index in range(2 * BATCH)]
    data, tokenizer = on_disk(tmp_path / "data", texts), word_tokenizer(kind=CountingTokenizer)
    table = IDF.from_corpus(data, tokenizer, processes=2)
    assert len(list(tmp_path.rglob("cache-*.arrow"))) == 2
    assert IDF.from_corpus(data, tokenizer) == table == IDF.from_corpus(texts, word_tokenizer())
    assert tokenizer.texts == 0  # in this process


def test_a_data_set_in_files_is_counted_once(tmp_path: Path) -> None:
    tokenizer = word_tokenizer(kind=CountingTokenizer)
    data = on_disk(tmp_path / "data", other=["c"] * len(CORPUS))
    table = IDF.from_corpus(data, tokenizer)
    assert tokenizer.texts == len(CORPUS)
    tokenizer(["a b c", "d"], padding=True, truncation=True, max_length=4)  # changes its state
    tokenizer.texts = 0
    again = datasets.load_from_disk(tmp_path / "data")
    for corpus in (data, again, again["text"]):
        assert IDF.from_corpus(corpus, tokenizer) == table
    assert tokenizer.texts == 0
    assert len(list(tmp_path.rglob("cache-*.arrow"))) == 1


def test_counts_that_would_differ_are_counted_again(tmp_path: Path) -> None:
    data = on_disk(tmp_path / "data", other=["c"] * len(CORPUS))
    tokenizer = word_tokenizer(kind=CountingTokenizer)
    left = word_tokenizer(kind=CountingTokenizer, truncation_side="left")
    larger = word_tokenizer([*WORDS, "zzz"], kind=CountingTokenizer)
    changes: list[tuple[Dataset, Any, dict[str, Any]]] = [
        (data, tokenizer, {}),
        (data, tokenizer, {"max_length": 3}),
        (data, left, {"max_length": 3}),
        (data, tokenizer, {"max_length": 4}),
        (data, tokenizer, {"column": "other"}),
        (data, larger, {}),
        (data.select(range(3)), tokenizer, {}),
        (on_disk(tmp_path / "more", [*CORPUS, "e"]), tokenizer, {}),
    ]
    tables = []
    for corpus, reader, settings in changes:
        reader.texts = 0
        tables.append(IDF.from_corpus(corpus, reader, **settings))
        assert reader.texts == len(corpus), settings
    assert len(set(tables)) == len(tables)


def test_counts_of_a_json_file_are_kept(tmp_path: Path) -> None:
    path, tokenizer = tmp_path / "corpus.jsonl", word_tokenizer(kind=CountingTokenizer)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in CORPUS))
    tables = [
        IDF.from_corpus(Dataset.from_json(str(path), cache_dir=str(tmp_path)), tokenizer)
        for _ in range(2)
    ]
    assert tables == [IDF.from_corpus(CORPUS, word_tokenizer())] * 2
    assert tokenizer.texts == len(CORPUS)


def test_nothing_is_kept_where_caching_is_switched_off_or_impossible(
    tokenizer: Any, tmp_path: Path
) -> None:
    data, expected = on_disk(tmp_path / "data"), IDF.from_corpus(CORPUS, tokenizer)
    datasets.disable_caching()
    try:
        assert IDF.from_corpus(data, tokenizer) == expected
    finally:
        datasets.enable_caching()
    assert list(tmp_path.rglob("cache-*.arrow")) == []
    shutil.rmtree(tmp_path / "data")  # the files are still open, but have no folder any more
    assert IDF.from_corpus(data, tokenizer) == expected
    assert list(tmp_path.iterdir()) == []


def test_progress_is_shown_for_large_corpora_unless_datasets_is_told_not_to(
    tokenizer: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    large = ["a"] * LARGE
    IDF.from_corpus(large[1:], tokenizer)
    assert capfd.readouterr().err == ""
    IDF.from_corpus(large, tokenizer)
    assert "Counting documents: 100%" in capfd.readouterr().err
    datasets.disable_progress_bars()
    try:
        IDF.from_corpus(large, tokenizer)
    finally:
        datasets.enable_progress_bars()
    assert capfd.readouterr().err == ""


# The saved table


def test_a_saved_table_comes_back_whole(families: dict[str, Path], tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(families["roberta"])
    table = IDF.from_corpus(SENTENCES, tokenizer)
    table.save(tmp_path / "idf.json")
    loaded = IDF.load(str(tmp_path / "idf.json"))
    assert loaded == table
    assert loaded.weights.tolist() == table.weights.tolist()
    assert loaded.tokenizer_name == table.tokenizer_name == str(families["roberta"])
    loaded.check_tokenizer(AutoTokenizer.from_pretrained(families["roberta"]))


def test_equal_tables_give_equal_files_that_can_be_read(tokenizer: Any, tmp_path: Path) -> None:
    for name, texts in (("one", CORPUS), ("two", CORPUS[::-1])):
        IDF.from_corpus(texts, tokenizer).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    record = json.loads((tmp_path / "one").read_text())
    assert (record["documents"], record["vocabulary"]) == (5, len(WORDS))
    assert dict(zip(record["token_ids"], record["counts"], strict=True)) == {
        WORDS.index(word): count
        for word, count in {"[UNK]": 1, **{"a": 4, "b": 2, "c": 1, "d": 1}}.items()
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_a_large_vocabulary_stays_a_small_file(tmp_path: Path) -> None:
    counts = np.random.default_rng(0).zipf(1.3, 250_000).clip(max=10_000)
    IDF(10_000, counts, "5f2e").save(tmp_path / "idf.json")
    assert (tmp_path / "idf.json").stat().st_size < 3_000_000


def _edited(**changes: Any) -> Callable[[bytes], bytes]:
    return lambda content: json.dumps({**json.loads(content), **changes}).encode()


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda content: b"", "is not an idf table"),
    "cut off": (lambda content: content[:-20], "is not an idf table"),
    "binary": (lambda content: b"\x93NUMPY\x00\xff" + content, "is not an idf table"),
    "a list": (lambda content: b"[1, 2]", "is not an idf table"),
    "too deep": (lambda content: b"[" * 100_000, "is not an idf table"),
    "other JSON": (lambda content: b'{"model_type": "bert"}', "is not an idf table"),
    "later version": (_edited(version=2), "of version 2, and this release reads version 1"),
    "other counts": (_edited(counts=[1, 4, 2, 1, 2]), "is damaged"),
    "count too many": (_edited(counts=[1, 4, 2, 1, 1, 1]), "is damaged"),
    "no counts": (_edited(counts=None), "is damaged"),
    "impossible id": (_edited(token_ids=[1, 5, 6, 7, 99]), "is damaged"),
    "other documents": (_edited(documents=6), "is damaged"),
    "words for documents": (_edited(documents="five"), "is damaged"),
    "endless vocabulary": (_edited(vocabulary=10**17), "is damaged"),
    "gigabytes of vocabulary": (_edited(vocabulary=1 << 33), "is damaged"),
    "less than no vocabulary": (_edited(vocabulary=-1), "is damaged"),
    "other tokenizer": (_edited(tokenizer="5f2e"), "is damaged"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_no_whole_table_is_refused(
    damage: str, tokenizer: Any, tmp_path: Path
) -> None:
    path = tmp_path / "idf.json"
    IDF.from_corpus(CORPUS, tokenizer).save(path)
    change, message = DAMAGES[damage]
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match=message) as raised:
        IDF.load(path)
    assert str(path) in str(raised.value)
    assert "count it again" in str(raised.value)


def test_a_missing_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no idf table '.*nowhere.json'; check the path"):
        IDF.load(tmp_path / "nowhere.json")
    with pytest.raises(FileNotFoundError, match="no folder '.*nowhere'; make it first"):
        IDF(1, np.array([1]), "5f2e").save(tmp_path / "nowhere" / "idf.json")


def test_a_table_is_shown_without_its_counts() -> None:
    table = IDF(3, np.array([0, 2, 3]), "5f2e", digests=("a0",))
    assert repr(table) == "IDF(documents=3, tokenizer='5f2e', tokenizer_name='')"
    assert re.fullmatch(r"table-[0-9a-f]{12}", str(table))


def test_a_table_that_cannot_be_written_leaves_the_old_one_and_nothing_else(
    tokenizer: Any, tmp_path: Path
) -> None:
    resource = pytest.importorskip("resource", reason="this system has no limits on files")
    path = tmp_path / "idf.json"
    old = IDF.from_corpus(CORPUS, tokenizer)
    old.save(path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))  # as on a full disk
    try:
        with pytest.raises(OSError, match="too large"):
            IDF.from_corpus(["e"], tokenizer).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert IDF.load(path) == old
    with pytest.raises(OSError, match="director"):
        old.save(tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_is_saved_through_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "idf.json", tmp_path / "link.json"
    IDF(1, np.array([1]), "5f2e").save(path)
    link.symlink_to(path)
    IDF(2, np.array([1]), "5f2e").save(link)
    assert link.is_symlink()
    assert IDF.load(path).documents == 2


# Whose table it is


@pytest.mark.parametrize("family", FAMILIES)
def test_use_and_storage_do_not_change_a_fingerprint(
    family: str, families: dict[str, Path], tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(families[family])
    fingerprint = tokenizer_fingerprint(tokenizer)
    tokenizer(list(SENTENCES), padding=True)
    assert tokenizer_fingerprint(tokenizer) == fingerprint
    tokenizer(list(SENTENCES), padding=True, truncation=True, max_length=9)
    assert tokenizer_fingerprint(tokenizer) == fingerprint
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 9  # left as it was
    tokenizer.save_pretrained(tmp_path)
    assert tokenizer_fingerprint(AutoTokenizer.from_pretrained(tmp_path)) == fingerprint


def test_whatever_changes_the_ids_changes_the_fingerprint() -> None:
    extended = word_tokenizer()
    extended.add_tokens(["new"])
    cased = word_tokenizer(do_lower_case=False)
    tokenizers = [word_tokenizer(), word_tokenizer(WORDS[:-1]), word_tokenizer(WORDS[::-1])]
    tokenizers += [extended, cased, PerceiverTokenizer()]
    assert len({tokenizer_fingerprint(tokenizer) for tokenizer in tokenizers}) == len(tokenizers)


def test_a_table_of_another_tokenizer_is_refused_with_both_names(
    families: dict[str, Path],
) -> None:
    mine, other = (AutoTokenizer.from_pretrained(families[name]) for name in TOKENIZERS[:2])
    table = IDF.from_corpus(CORPUS, mine)
    table.check_tokenizer(mine)
    with pytest.raises(ValueError, match="count it again with IDF.from_corpus") as raised:
        table.check_tokenizer(other)
    for name in (mine, other):
        assert name.name_or_path in str(raised.value)
        assert tokenizer_fingerprint(name) in str(raised.value)
