"""Make training rows for the bundled NLI model by rule, from open text, or from judged answers.

    python -m tools.nli_rows rules CORPUS train.tsv.gz --exclude valid.tsv.gz --wordnet WORDNET
        -o rules.tsv.gz
    python -m tools.nli_rows rules CORPUS --held-out -o rules_valid.tsv.gz
    python -m tools.nli_rows answers answers_train.jsonl -o answers.tsv.gz

CORPUS is a folder of `NAME.txt.gz` and `NAME.valid.txt.gz` files with one paragraph per line.
Texts come from the first files and from the premises of the given rows, or with --held-out from
the second files alone. No text of the second files or of the excluded rows is used for training.

Each row has a premise that contains a sentence (a copy, a harmless variant, a paragraph, or a
denial of something else), and a hypothesis that is the sentence, a variant or a shorter form
(entailment), or one of these after an edit of nli_edits.py. The same texts and seed always give
the same rows.
"""

import argparse
import csv
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pandas as pd

from tools.nli_edits import (
    EDITS,
    TABLES,
    Names,
    collect_names,
    difference,
    extend,
    shorten,
    vary,
    widen,
)
from tools.tables import show
from tools.wordnet import WordNet

ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"
NOT_ENTAILMENT = "not_entailment"  # neutral or contradiction
# Relative frequencies of short answers, and their labels for the right and the wrong value.
ANSWER_WEIGHTS = {"corrections": 8, "denials": 4, "doubts": 3, "assertions": 5, "both": 1}
ANSWER_LABELS = {
    "corrections": (ENTAILMENT, CONTRADICTION),
    "denials": (NEUTRAL, CONTRADICTION),
    "doubts": (NEUTRAL, NEUTRAL),
    "assertions": (ENTAILMENT, NOT_ENTAILMENT),
    "both": (ENTAILMENT, ENTAILMENT),
}
MAX_VALUE_WORDS = 5
MAX_WORDS = 120  # maximum number of words in a pair, about 190 tokens
EDITS_PER_SENTENCE = 2
SHORT = 14  # maximum number of words in a short sentence (about half of the sentences)
ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Prof|Gen|Col|Lt|Sen|Rep|Gov|No|vs|e\.g|i\.e|etc|approx|ca|"
    r"Jr|Sr|Inc|Ltd|Co|Corp|Vol|pp|Fig|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)|\.[A-Za-z])\.$"
)
BREAK = re.compile(r"(?<=[.!?])[\"”’)]?\s+(?=[\"“(]?[A-Z0-9])")
SENTENCE = re.compile(r"[A-Z0-9\"“][^\n|{}<>=_\\]+[.!?][\"”)]?")


class Row(NamedTuple):
    """Labeled pair."""

    source: str
    label: str
    premise: str
    hypothesis: str


class Item(NamedTuple):
    """A sentence and the paragraph that it comes from."""

    sentence: str
    before: str  # up to two sentences before it
    after: str  # up to two sentences after it

    def context(self, sentence: str | None = None) -> str:
        """Return the paragraph, with another sentence ("" for none) in place of this one."""
        middle = self.sentence if sentence is None else sentence
        return " ".join(part for part in (self.before, middle, self.after) if part)


def split_sentences(paragraph: str) -> list[str]:
    """Split a paragraph at full stops, except after common abbreviations and initials.

    >>> split_sentences("Dr. A. Bean flew. It was 3.5 km (approx. 2 miles)! Why?")
    ['Dr. A. Bean flew.', 'It was 3.5 km (approx. 2 miles)!', 'Why?']
    """
    sentences, start = [], 0
    for match in BREAK.finditer(paragraph):
        head = paragraph[start : match.end()].strip()
        if not ABBREVIATION.search(head):
            sentences.append(head)
            start = match.end()
    return [*sentences, paragraph[start:].strip()]


def find_items(paragraph: str, random: Random) -> list[Item]:
    """Return the complete sentences of a paragraph, each with a few of its neighbors."""
    sentences = split_sentences(paragraph)
    items = []
    for index, sentence in enumerate(sentences):
        if SENTENCE.fullmatch(sentence) and 3 <= len(sentence.split()) <= 40:
            first = max(0, index - random.randrange(3))
            last = index + 1 + random.randrange(3)
            before = " ".join(sentences[first:index])
            items.append(Item(sentence, before, " ".join(sentences[index + 1 : last])))
    return items


def key(text: str) -> str:
    """Return the letters and digits of a text, in lower case, to find repeated texts."""
    return re.sub(r"[\W_]+", "", text.lower())


# Rows about one sentence.


def entailed_and_edited(item: Item, names: Names, random: Random) -> Iterator[Row]:
    """Yield rows with the sentence as the hypothesis, first unchanged, then with edits.

    All are made in the same way, so that a model must learn the meaning of the edits.
    """
    yield make_pair(item, "", item.sentence, ENTAILMENT, names, random)
    if random.random() < 0.7 and (varied := vary(item.sentence, random, names)):
        yield Row("variant", ENTAILMENT, *random.sample((item.sentence, varied), 2))
    # Edits that apply to few sentences are tried first more often.
    count = 0
    for name, edit in sorted(EDITS.items(), key=lambda e: random.random() * e[1].frequency):
        edited = edit.rule(item.sentence, random, names)
        if not edited or edited == item.sentence:
            continue
        yield make_pair(item, name, edited, edit.label, names, random)
        if count == 0 and random.random() < 0.35:  # an edited sentence also entails itself
            yield Row("copy", ENTAILMENT, edited, edited)
        count += 1
        if count == EDITS_PER_SENTENCE:
            return


def make_pair(
    item: Item, edit: str, hypothesis: str, label: str, names: Names, random: Random
) -> Row:
    """Return a row with a sentence, a variant or a paragraph as premise."""
    view = random.choices(("copy", "variant", "context", "shorter"), (4, 3, 4, 2))[0]
    sentence = item.sentence
    if view == "context" and (item.before or item.after):
        source, premise = "sentence", item.context()
        if random.random() < 0.25:
            source, hypothesis = "paragraph", item.context(hypothesis)
        return Row(f"{source}_{edit}" if edit else source, label, premise, hypothesis)
    if view == "shorter" and (short := shorten(hypothesis, random)):
        values = difference(sentence, hypothesis)
        if not edit or (values and values[1] in short):  # otherwise, the edit was dropped
            return Row(edit or "shorter", label, sentence, short)
    premise, source = sentence, edit or "copy"
    if view == "variant":
        varied = vary(hypothesis, random, names) or hypothesis
        source = edit or ("copy" if varied == hypothesis else "variant")
        hypothesis = varied
    if random.random() < 0.5:
        premise, hypothesis = hypothesis, premise
    return Row(source, label, premise, hypothesis)


def extended(item: Item, names: Names, random: Random) -> Iterator[Row]:
    """Yield rows with a sentence and a longer sentence in both directions."""
    sentence = item.sentence
    pairs = (
        (shorten(sentence, random), sentence),
        (widen(sentence, random, names), sentence),
        (sentence, extend(sentence, random, names)),
    )
    for short, long in pairs:
        if short and long:
            yield Row("longer", NEUTRAL, short, long)
            if random.random() < 0.5:
                yield Row("shorter", ENTAILMENT, long, short)


def unrelated(item: Item, other: Item) -> Row:
    """Return a row whose hypothesis is missing from the premise, from the same text if possible."""
    if item.before and item.after:
        return Row("missing", NEUTRAL, item.context(""), item.sentence)
    if item.after:
        return Row("missing", NEUTRAL, item.sentence, split_sentences(item.after)[0])
    return Row("missing", NEUTRAL, other.context(), item.sentence)


def reported(item: Item, random: Random) -> Row:
    """Return a row whose premise asserts, doubts or denies a sentence."""
    label = random.choice(list(TABLES["reports"]))
    report = random.choice(TABLES["reports"][label])
    return Row("report", label, report.format(item.sentence.rstrip(".!?")), item.sentence)


def answered(item: Item, names: Names, random: Random) -> Iterator[Row]:
    """Yield rows with premises that assert, doubt or deny a value, as answers to questions do.

    Hypotheses are the right value, which is part of the sentence, or a wrong value. Premises are
    short texts about the values, or the sentence with a denial of the wrong value.
    """
    templates: Mapping[str, list[str]] = TABLES["answers"]
    edited = EDITS[random.choice(("number", "date", "name"))].rule(item.sentence, random, names)
    values = difference(item.sentence, edited) if edited else None
    if not edited or not values or max(len(value.split()) for value in values) > MAX_VALUE_WORDS:
        return
    right, wrong = map(random.choice(templates["hypotheses"]).format, values)
    texts = {"y": values[0], "x": values[1], "s": item.sentence, "e": edited}

    def fill(kind: str) -> str:
        return random.choice(templates[kind]).format(**texts)

    for kind in random.choices(list(ANSWER_WEIGHTS), list(ANSWER_WEIGHTS.values()), k=2):
        premise, labels = fill(kind), ANSWER_LABELS[kind]
        for label, hypothesis in zip(labels, (right, wrong), strict=True):
            yield Row("phrase" if kind == "assertions" else "denial", label, premise, hypothesis)
    kind = random.choice(("sentence", "sentence", "context", "in_sentence", "with_sentence"))
    if kind in ("sentence", "context"):
        premise = item.sentence if kind == "sentence" else item.context()
        if values[1].lower() not in premise.lower():
            yield Row("phrase", ENTAILMENT, premise, right)
            yield Row("phrase", NOT_ENTAILMENT, premise, wrong)
        return
    premise = fill(kind)
    if kind == "in_sentence":
        premise = item.sentence.replace(values[0], premise, 1)
    if random.random() < 0.5:
        right, wrong = item.sentence, edited
    yield Row("denial", ENTAILMENT, premise, right)
    yield Row("denial", CONTRADICTION, premise, wrong)


def make_rows(items: Sequence[Item], names: Names, seed: int) -> Iterator[Row]:
    """Yield the rows of all items. The random choices of an item depend only on its sentence."""
    for item, other in zip(items, [*items[1:], *items[:1]], strict=True):
        digest = hashlib.sha256(f"{seed}\n{item.sentence}".encode()).digest()
        random = Random(int.from_bytes(digest, "big"))
        rows = [*entailed_and_edited(item, names, random)]
        if random.random() < 0.15:
            rows += extended(item, names, random)
        if random.random() < 0.15:
            rows.append(unrelated(item, other))
        if random.random() < 0.12:
            rows.append(reported(item, random))
        if random.random() < 0.4:
            rows += answered(item, names, random)
        for row in rows:
            texts = [" ".join(text.split()) for text in row[2:]]
            if sum(len(text.split()) for text in texts) <= MAX_WORDS and all(texts):
                yield Row(f"rule_{row.source}", row.label, *texts)


# Texts.


def read_lines(folder: Path, held_out: bool) -> Iterator[str]:
    """Yield the paragraphs of the training files, or of the held-out files, of a corpus."""
    for file in sorted(folder.glob("*.txt.gz")):
        if file.name.endswith(".valid.txt.gz") is held_out:
            with gzip.open(file, "rt", encoding="utf-8") as lines:
                yield from (line.strip() for line in lines)


def read_texts(files: Sequence[Path], columns: Sequence[str]) -> list[str]:
    """Return the distinct texts in some columns of `.tsv.gz` files, in order."""
    texts: dict[str, None] = {}
    for file in files:
        rows = pd.read_csv(file, sep="\t", quoting=csv.QUOTE_NONE, keep_default_na=False, dtype=str)
        for column in columns:
            texts.update(dict.fromkeys(rows[column]))
    return list(texts)


def choose_items(
    paragraphs: Sequence[str], count: int, seed: int, excluded: frozenset[str] = frozenset()
) -> list[Item]:
    """Return `count` random sentences, without repeated or excluded ones.

    Half of the sentences are short, and half have a number, as far as there are enough.
    """
    random, seen = Random(seed), set(excluded)
    groups: dict[tuple[bool, bool], list[Item]] = {
        (short, number): [] for short in (True, False) for number in (True, False)
    }
    order = list(range(len(paragraphs)))
    random.shuffle(order)
    for index in order:
        found = find_items(paragraphs[index], random)
        for item in random.sample(found, min(2, len(found))):
            has_number = any(symbol.isdigit() for symbol in item.sentence)
            group = groups[len(item.sentence.split()) <= SHORT, has_number]
            if len(group) < (count + 3) // 4 and key(item.sentence) not in seen:
                seen.add(key(item.sentence))
                group.append(item)
        if sum(map(len, groups.values())) >= count:
            break
    items = [item for group in groups.values() for item in group]
    random.shuffle(items)
    return items[:count]


def held_out_keys(folder: Path, files: Sequence[Path]) -> frozenset[str]:
    """Return the keys of all texts that must not be used for training."""
    paragraphs = read_lines(folder, held_out=True)
    sentences = (sentence for text in paragraphs for sentence in split_sentences(text))
    return frozenset(map(key, [*sentences, *read_texts(files, ("premise", "hypothesis"))]))


def answer_rows(file: Path, seed: int) -> Iterator[Row]:
    """Yield rows from answers with human verdicts. The hypotheses are references.

    A correct answer entails its references, and an incorrect one does not. Each answer has up to
    two rows with different references.
    """
    random = Random(seed)
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        label = ENTAILMENT if record["human"]["correct"] else NOT_ENTAILMENT
        references = random.sample(record["references"], min(2, len(record["references"])))
        for reference in references:
            hypothesis = random.choice(TABLES["answers"]["hypotheses"]).format(reference)
            texts = [" ".join(text.split()) for text in (record["prediction"], hypothesis)]
            if all(texts):
                yield Row("answers", label, *texts)


def write_rows(rows: Iterable[Row], file: Path) -> None:
    """Save distinct rows, and print their number by source and label."""
    table = pd.DataFrame(list(dict.fromkeys(rows)), columns=Row._fields)
    table.to_csv(file, sep="\t", index=False, quoting=csv.QUOTE_NONE)
    counts = Counter(zip(table["source"], table["label"], strict=True))
    cells = [[*entry, count] for entry, count in sorted(counts.items())]
    show(f"{len(table)} rows", ["source", "label", "rows"], cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("rules", help="rows made by rule").add_argument
    add("corpus", type=Path, help="folder of .txt.gz and .valid.txt.gz files")
    add("rows", type=Path, nargs="*", help="NLI rows whose premises are also used, .tsv.gz")
    add("--exclude", type=Path, nargs="*", default=[], help="NLI rows whose texts are not used")
    add("--wordnet", type=Path, help="folder of WordNet 3.0, for synonyms")
    add("--held-out", action="store_true", help="use the held-out files of the corpus")
    add("--sentences", type=int, default=10_000, help="number of sentences from the corpus")
    add("--premises", type=int, default=4_000, help="number of sentences from premises")
    add = commands.add_parser("answers", help="rows from answers with human verdicts").add_argument
    add("answers", type=Path, help="file such as answers_train.jsonl")
    for command in commands.choices.values():
        command.add_argument("--seed", type=int, default=63)
        command.add_argument("-o", "--output", type=Path, required=True, help=".tsv.gz file")
    args = parser.parse_args()
    if args.command == "answers":
        write_rows(answer_rows(args.answers, args.seed), args.output)
        return
    paragraphs = list(read_lines(args.corpus, args.held_out))
    excluded = frozenset() if args.held_out else held_out_keys(args.corpus, args.exclude)
    items = choose_items(paragraphs, args.sentences, args.seed, excluded)
    premises = [text for text in read_texts(args.rows, ("premise",)) if key(text) not in excluded]
    items += choose_items(premises, args.premises, args.seed, excluded)
    wordnet = WordNet.load(args.wordnet) if args.wordnet else WordNet()
    names = collect_names((item.sentence for item in items), wordnet)
    write_rows(make_rows(items, names, args.seed), args.output)


if __name__ == "__main__":
    main()
