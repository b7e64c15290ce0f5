"""Package setup; the long description is the README with links that work on a package index.

Relative links in the README are converted to links into the repository, at the tag of the version.
The repository is the URL `Source` in setup.cfg. If this URL is missing, relative links are replaced
with their text.
"""

import re
from configparser import ConfigParser
from pathlib import Path

from setuptools import setup

RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:)([^)]+)\)")


def long_description(readme: str, source: str | None, version: str) -> str:
    """Return the README with absolute links, or without relative links if `source` is None.

    >>> long_description("[Use](docs/use.md), ![a cat](cat.svg)", "https://example.org/it", "1.0")
    '[Use](https://example.org/it/blob/v1.0/docs/use.md), ![a cat](https://example.org/it/raw/v1.0/cat.svg)'
    >>> long_description("[Use](docs/use.md), ![a cat](cat.svg)", None, "1.0")
    'Use, '
    """

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if source:
            kind = "raw" if picture else "blob"
            return f"{picture}[{words}]({source}/{kind}/v{version}/{target})"
        return "" if picture else words

    return RELATIVE.sub(link, readme)


if __name__ == "__main__":
    root = Path(__file__).parent
    config = ConfigParser()
    config.read(root / "setup.cfg")
    urls = dict(re.findall(r"(\w+) = (\S+)", config["metadata"]["project_urls"]))
    (version,) = re.findall(
        r'__version__ = "(.+)"', (root / "infolm_metric/core/__init__.py").read_text()
    )
    text = long_description((root / "README.md").read_text("utf-8"), urls.get("Source"), version)
    setup(long_description=text, long_description_content_type="text/markdown")
