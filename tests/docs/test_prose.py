"""Tests of the English of code, pages and tests: imperative docstrings, no words to avoid."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.project_files import ROOT, project_files

AVOIDED = re.compile(
    r"\b(likewise|alike|beside|anew|at once|those of|that of|of which|(is|are) told|go(es)? on"
    r"|(in|any) company|no finite|stands?|tells?|says? (nothing|little)|unread|people"
    r"|kinds? of score)\b|, too\b",
    re.IGNORECASE,
)
LIMITS = {AVOIDED: 3, re.compile(r"\bwhat\b", re.I): 10, re.compile(r"\bwhere\b", re.I): 18}
"""Occurrences per 10,000 words."""
FOLDERS = {"code": ("infolm_metric", "space", "tools"), "tests": ("tests",)}
FORMULAS = {"Kullback", "Alpha", "Renyi", "Beta", "AB", "L1", "L2", "L", "Fisher"}
"""First words of the measures, which are described by name and formula."""
VERBS = """
    Accept Add Append Apply Arrange Assert Attack Average Broadcast Build Bypass Call Change Check
    Choose Close Collect Combine Compare Compute Concatenate Connect Convert Copy Correct Correlate
    Count Create Decode Delete Describe Divide Do Download Draw Drop Encode Estimate Evaluate
    Execute Explain Export Extract Fail Fill Find Format Forward Free Fuzz Generate Get Group Handle
    Hide Import Include Initialize Interpret Interrupt Iterate Join Keep Launch Limit Link List Load
    Lock Log Look Make Map Mask Measure Merge Minimise Move Normalise Open Pad Parse Plan Plot Print
    Raise Read Record Reduce Register Remove Repeat Replace Report Resample Rescale Resolve Return
    Run Sample Save Scale Score Select Send Set Show Shuffle Solve Sort Spell Split Start Stop Store
    Suggest Sum Swap Test Tokenize Train Truncate Turn Update Use Wait Warn Weight Write Yield
"""


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


@pytest.mark.parametrize("kind", [*FOLDERS, "pages"])
def test_words_to_avoid_are_rare(kind):
    text = "\n".join(read_prose(kind))
    words = len(re.findall(r"[A-Za-z]+", text))
    counts = {pattern: len(pattern.findall(text)) for pattern in LIMITS}
    assert words > 5_000
    assert [p.pattern for p, n in counts.items() if 10_000 * n > LIMITS[p] * words] == []


def first_words(file: str) -> Iterator[tuple[int, str]]:
    """Yield line and first word of the docstrings of functions.

    Properties, fixtures and tests, whose names are sentences, are skipped.
    """
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if not (node.name.startswith("test_") or re.search("property|fixture", decorators)):
                yield node.lineno, re.split(r"\W", text, maxsplit=1)[0]


@pytest.mark.parametrize("kind", FOLDERS)
def test_docstrings_of_functions_start_with_a_verb(kind):
    found = {(file, *entry) for file in python_files(kind) for entry in first_words(file)}
    assert [entry for entry in sorted(found) if entry[2] not in {*VERBS.split(), *FORMULAS}] == []
