"""Files as lines of UTF-8: plain, compressed or standard input; and what their names must be.

Only a line feed ends a line. The other characters that Unicode counts as line ends (U+2028, U+0085,
a lone carriage return) are part of it: splitting at them would shift every later pair. A byte order
mark at the start is dropped, "-" is standard input, and a name that ends in .gz is decompressed.
"""

from __future__ import annotations

import codecs
import gzip
import os
import secrets
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

STANDARD_INPUT = "-"


def check_there(paths: Sequence[str]) -> None:
    """Raise ValueError if a file is not there, or standard input is named twice.

    >>> check_there(["missing.txt"])
    Traceback (most recent call last):
    ValueError: cannot read missing.txt: there is no such file; check its name
    """
    if list(paths).count(STANDARD_INPUT) > 1:
        raise ValueError("only one file can be '-': standard input can be read once")
    for number, path in enumerate(paths):
        if path != STANDARD_INPUT and not os.path.exists(path):
            raise ValueError(f"cannot read {path}: there is no such file; check its name")
        if path in paths[:number] and read_once(path):
            raise ValueError(f"{path} is given twice, and it is no file that can be read again")


def read_once(path: str) -> bool:
    """True for standard input, a pipe, or whatever else is no file that can be read again.

    >>> read_once("-"), read_once(os.devnull), read_once(__file__)
    (True, True, False)
    """
    return path == STANDARD_INPUT or not (os.path.isfile(path) or os.path.isdir(path))


def check_apart(output: str | os.PathLike[str], inputs: Iterable[str]) -> None:
    """Raise ValueError if a file that is to be written is one of those that are read.

    >>> check_apart(__file__, [os.devnull, __file__])
    Traceback (most recent call last):
    ValueError: cannot write ...: it is read, too...
    """
    for path in map(os.path.expanduser, inputs) if os.path.isfile(output) else ():
        if os.path.isfile(path) and os.path.samefile(path, output):
            raise ValueError(
                f"cannot write {os.fspath(output)}: it is read, too, and would be lost; name "
                "another file with -o"
            )


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise ValueError if what is there is no regular file, and so cannot be a job's output.

    >>> check_regular(os.devnull)
    Traceback (most recent call last):
    ValueError: cannot write ...: what is there is a device or a pipe; name a file
    """
    other = os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
    if other or open_descriptor(path) is not None:
        raise ValueError(
            f"cannot write {os.fspath(path)}: what is there is a device or a pipe; name a file"
        )


def open_descriptor(path: str | os.PathLike[str]) -> int | None:
    """The number of the open file that a path stands for, such as 1 for /dev/stdout, or None.

    >>> open_descriptor("/dev/stderr"), open_descriptor("scores.txt")
    (2, None)
    """
    name = os.path.abspath(path)
    while os.path.exists(name):  # link by link: the last one leads to the file behind it
        folder, last = os.path.split(name)
        folder = os.path.realpath(folder)
        if folder == os.path.realpath("/dev/fd") and last.isdigit():
            return int(last)
        if not os.path.islink(name):
            break
        name = os.path.join(folder, os.readlink(name))
    return None


def read_lines(path: str) -> Iterator[tuple[int, str]]:
    """The number of each line, from 1, and the line with its end."""
    number = 0
    try:
        with _opened(path) as stream:
            # Bytes split at line feeds only, which no other UTF-8 character contains.
            for number, raw in enumerate(stream, 1):
                line = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                if line:
                    yield number, line.decode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{shown(path)}, line {number}: not valid UTF-8 "
            f"(byte 0x{error.object[error.start]:02x}); convert the file to UTF-8, for example "
            "with iconv -f LATIN1 -t UTF-8"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"cannot read {shown(path)}: {reason}; check its name") from error


def _opened(path: str) -> AbstractContextManager[Iterable[bytes]]:
    if path == STANDARD_INPUT:
        return nullcontext(sys.stdin.buffer)
    return gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb")


def shown(path: str) -> str:
    """A file's name as messages say it."""
    return "standard input" if path == STANDARD_INPUT else path


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file as `write_whole` does."""
    write_whole(path, [text.encode()])


def write_whole(
    path: str | os.PathLike[str], parts: Iterable[bytes], draft: Path | None = None
) -> None:
    """Write a file; one that is there keeps its mode and its links.

    It is written as a draft, by default beside it, and put in its place once all of it is on the
    disk. What is no regular file, has several names or lies in a folder that takes no draft is
    written into as it is. Raises OSError if that fails; but for these an older file is then as it
    was.
    """
    number, target = open_descriptor(path), Path(os.path.realpath(path))
    try:
        if number is not None:  # opened anew it would be written from its start
            with os.fdopen(os.dup(number), "wb") as file:
                file.writelines(parts)
        elif target.exists() and not _replaceable(target):
            with target.open("wb") as file:
                file.writelines(parts)
        else:
            _replace(target, parts, draft)
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"cannot write {os.fspath(path)}: {error.strerror}; see that it has room"
        raise OSError(message) from error


def _replaceable(path: Path) -> bool:
    """True for a regular file of one name in a folder that takes a draft."""
    return path.is_file() and path.stat().st_nlink == 1 and os.access(path.parent, os.W_OK)


def _replace(path: Path, parts: Iterable[bytes], draft: Path | None) -> None:
    """Put a draft in the place of what is there, with its mode."""
    draft = draft or path.with_name(f".infolm-{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("wb") as file:
            if path.exists():  # before there is anything to read
                shutil.copymode(path, draft)
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        if os.name == "posix":  # the name, too, must be on the disk
            names = os.open(path.parent, os.O_RDONLY)
            os.fsync(names)
            os.close(names)
    except BaseException:
        with suppress(OSError):  # on a disk that is read-only even what is not there
            draft.unlink()
        raise
