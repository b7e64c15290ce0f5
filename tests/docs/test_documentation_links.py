"""Files, anchors, scripts, commands and options that the pages refer to exist."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from infolm_metric.commands.main import COMMANDS, main
from tests.project_files import ROOT, project_files

PAGES = [path for path in project_files() if path.suffix == ".md"]
FENCED = re.compile(r"^```\w*\n.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<title>.*)$", re.MULTILINE)
NAMED_FILE = re.compile(
    r"(?<![\w./-])(?:tests|space|docs|infolm_metric)/[\w/.-]*\.(?:py|md|svg|png)\b"
)
COMMAND = re.compile(r"(?:^|[`|$] )(?P<line>infolm (?:\w+) (?:.*\\\n)*.*)$", re.MULTILINE)


def content(page: Path) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield (file, anchor) for each link from a page into the project, relative to ROOT."""
    for link in LINK.finditer(FENCED.sub("", content(page))):
        target, _, anchor = unquote(link["target"]).partition("#")
        if not re.match(r"\w+:", target):
            place = ROOT / page.parent / target if target else ROOT / page
            yield place.resolve().relative_to(ROOT), anchor


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, in the format of GitHub."""
    repeated: Counter[str] = Counter()
    for heading in HEADING.finditer(FENCED.sub("", content(page))):
        title = LINK.sub(lambda link: link[0][1 : link[0].index("]")], heading["title"])
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        repeated[slug] += 1
    return {
        f"{slug}-{number}" if number else slug
        for slug, count in repeated.items()
        for number in range(count)
    }


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the arguments of each `infolm` command in the fenced blocks of a page."""
    for block in FENCED.finditer(content(page)):
        if block[0].startswith(("```bash", "```console")):
            for command in COMMAND.finditer(block[0]):
                yield shlex.split(command["line"].replace("\\\n", " "), comments=True)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_points_to_an_existing_file_and_heading(page):
    broken = []
    for file, anchor in links(page):
        if not (ROOT / file).exists():
            broken.append(f"{file} does not exist")
        elif anchor and anchor not in anchors(file):
            broken.append(f"{file} has no heading #{anchor}, only {sorted(anchors(file))}")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_file_that_a_page_mentions_exists(page):
    files = set(NAMED_FILE.findall(content(page)))
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_command_and_option_that_a_page_shows_exists(page, capsys):
    for words in commands(page):
        assert words[1] in COMMANDS, f"infolm has no command {words[1]}: {words}"
        metric = words[words.index("--metric") + 1] if "--metric" in words else "infolm"
        main([words[1], "--metric", metric, "--help"])
        usage = capsys.readouterr().out
        for word in words[2:]:
            if flag := re.match(r"--[a-z-]+", word):
                assert re.search(rf"{flag[0]}\b", usage), f"no option {flag[0]}: {words}"


def test_readme_links_to_every_page_of_the_documentation():
    pages = {path for path in PAGES if path.parent == Path("docs")}
    linked = {file for file, _ in links(Path("README.md"))}
    assert pages <= linked, f"not linked: {sorted(map(str, pages - linked))}"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_command_and_example_is_in_a_checked_block(page):
    outside = FENCED.sub("", content(page))
    assert re.findall(r"^(?: {4}|\t)(?:infolm |>>> |\$ ).*", outside, re.MULTILINE) == []
    assert re.findall(r"^```\n+(?:infolm |>>> |\$ ).*", content(page), re.MULTILINE) == []
