"""Tests of the English of code, pages and tests: imperative docstrings, no words to avoid."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.project_files import ROOT, project_files

WORDS = (ROOT / "tests/docs/words_to_avoid.txt").read_text(encoding="utf-8").splitlines()
AVOIDED = re.compile(rf"\b({'|'.join(WORDS)})\b|, too\b", re.IGNORECASE)
# Occurrences per 10,000 words.
LIMITS = {AVOIDED: 3, re.compile(r"\bwhat\b", re.I): 10, re.compile(r"\bwhere\b", re.I): 18}
SEMICOLONS = 15
FOLDERS = {"code": ("infolm_metric", "space", "tools"), "tests": ("tests",)}


def python_files(kind: str) -> list[str]:
    """Return the paths of the Python files of code or tests, without this file."""
    files = [str(file) for file in project_files() if file.suffix == ".py"]
    return [file for file in files if file.split("/")[0] in FOLDERS[kind] and "prose" not in file]


def read_prose(kind: str) -> Iterator[str]:
    """Yield comments, docstrings, messages and names of tests, or the prose of pages."""
    if kind == "pages":
        for file in project_files():
            if file.suffix == ".md":
                text = (ROOT / file).read_text(encoding="utf-8")
                yield re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        return
    for file in python_files(kind):
        source = (ROOT / file).read_text(encoding="utf-8")
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.string
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if len(node.value.split()) > 2:
                    yield re.sub(r"^\s*(>>>|\.\.\.).*$", "", node.value, flags=re.MULTILINE)
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node.name.replace("_", " ")


@pytest.mark.parametrize("kind", ["code", "pages"])
def test_semicolons_are_rare(kind):
    # Semicolons in comments and in Python code are not counted.
    prose = [text for text in read_prose(kind) if not text.startswith("#") or kind == "pages"]
    words = sum(len(re.findall(r"[A-Za-z]+", text)) for text in prose)
    found = [text for text in prose for _ in re.finditer(r";\s", text)]
    assert words > 5_000
    assert 10_000 * len(found) <= SEMICOLONS * words, found


@pytest.mark.parametrize("kind", [*FOLDERS, "pages"])
def test_words_to_avoid_are_rare(kind):
    text = "\n".join(read_prose(kind))
    words = len(re.findall(r"[A-Za-z]+", text))
    counts = {pattern: len(pattern.findall(text)) for pattern in LIMITS}
    assert words > 5_000
    assert [p.pattern for p, n in counts.items() if 10_000 * n > LIMITS[p] * words] == []
