"""Files are written whole: what fails leaves the older one, and no draft."""

import errno
import os

import pytest

from infolm_metric.kernel import lines
from infolm_metric.kernel.lines import write_text


@pytest.mark.parametrize(
    ("problem", "expected"),
    [(OSError(errno.ENOSPC, "No space left on device"), OSError), (KeyboardInterrupt(), None)],
)
def test_what_fails_leaves_the_older_file_and_nothing_else(
    tmp_path, monkeypatch, problem, expected
):
    def fail(_):
        raise problem

    path = tmp_path / "scores.json"
    path.write_text("older")
    monkeypatch.setattr(lines.os, "fsync", fail)
    with pytest.raises(expected or type(problem)) as error:
        write_text(path, "newer")
    if expected:
        assert f"cannot write {path}: No space left" in str(error.value)
    assert path.read_text() == "older" and os.listdir(tmp_path) == ["scores.json"]


def test_a_text_that_is_not_unicode_leaves_the_older_file(tmp_path):
    path = tmp_path / "scores.json"
    path.write_text("older")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text() == "older"


def test_a_link_stays_and_a_device_is_written_into(tmp_path):
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    write_text(link, "text")
    assert link.is_symlink() and target.read_text() == "text"
    write_text(os.devnull, "text")
    assert not os.path.isfile(os.devnull)


def test_a_file_in_a_folder_that_takes_no_draft_is_written_into(tmp_path, monkeypatch):
    path = tmp_path / "scores.json"
    path.write_text("older")
    # Whoever may write anywhere, as root does, cannot be kept out of a folder.
    monkeypatch.setattr(lines.os, "access", lambda *_: False)
    monkeypatch.setattr(lines.os, "replace", lambda *_: pytest.fail("a draft took its place"))
    write_text(path, "newer")
    assert path.read_text() == "newer"
