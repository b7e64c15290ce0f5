"""Reading of text files line by line, and atomic writing of files.

Only a line feed ends a line. Other Unicode line separators (U+2028, U+0085, a lone carriage
return) are part of the line, because splitting at them would shift every later pair. A byte order
mark at the start is removed, "-" is standard input, and files whose names end in .gz are
decompressed. An InputError says which file cannot be read and why. Failed writes raise OSError.
"""

from __future__ import annotations

import codecs
import gzip
import json
import math
import os
import secrets
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any

from infolm_metric.core.checks import InputError

# Errors while parsing damaged JSON files.
DAMAGE = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)

STANDARD_INPUT = "-"
LONGEST = 1 << 24  # maximum characters per cell of a table


# Reading.


def check_exists(paths: Sequence[str], again: bool = False) -> None:
    """Check that the files exist and, with `again`, that they can be read repeatedly.

    >>> check_exists(["missing.txt"])
    Traceback (most recent call last):
    infolm_metric.InputError: cannot read missing.txt: there is no such file. Check its name.
    """
    for number, path in enumerate(paths):
        if path != STANDARD_INPUT and not os.path.exists(path):
            raise InputError(f"cannot read {path}: there is no such file. Check its name.")
        stream = path == STANDARD_INPUT or not (os.path.isfile(path) or os.path.isdir(path))
        if stream and (again or path in paths[:number]):
            raise InputError(
                f"{label(path)} can be read only once, but is needed more than once. Save it first."
            )


def label(path: str) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == STANDARD_INPUT else path


def read_lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each line, starting at 1, and the line including its line end."""
    number = 0
    try:
        with _open(path) as stream:
            # Lines of bytes end only at line feeds, and no other UTF-8 character contains one.
            for number, raw in enumerate(stream, 1):
                line = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                if line:
                    yield number, line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{label(path)}, line {number}: not valid UTF-8 (byte 0x{error.object[error.start]:02x}"
            "). Convert it with iconv -f ENCODING -t UTF-8, or export a spreadsheet as UTF-8 text."
        ) from None
    except IsADirectoryError:
        raise InputError(f"{path} must be a file, but it is a folder. Pass a file in it.") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {label(path)}: {reason}. Check the file.") from error


def _open(path: str) -> AbstractContextManager[IO[bytes] | gzip.GzipFile]:
    if path == STANDARD_INPUT:
        return nullcontext(sys.stdin.buffer)
    return gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb")


def read_texts(path: str) -> Iterator[str]:
    r"""Yield the lines of a plain text file. An empty line is an empty text.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/candidates.txt"
    ...     _ = open(path, "wb").write("a\u2028b\r\n\nc".encode())
    ...     list(read_texts(path))
    ['a\u2028b', '', 'c']
    """
    for _, line in read_lines(path):
        yield line.removesuffix("\n").removesuffix("\r")


# Writing.


def json_line(value: object) -> str:
    r"""Format a value as one line of JSON.

    NaN and infinity become null, and other unsupported objects become strings.

    >>> json_line({"text": "café \ud800", "human": {"fluency": math.nan}})
    '{"text": "café \\ud800", "human": {"fluency": null}}'
    """
    line = json.dumps(finite(value), ensure_ascii=False, allow_nan=False, default=str)
    return line.encode(errors="backslashreplace").decode()  # escapes lone surrogates


def finite(value: object) -> Any:
    """Replace NaN and infinity, which JSON lacks, with None at every depth."""
    if isinstance(value, Mapping):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_writable(path: str | os.PathLike[str], inputs: Iterable[str] = ()) -> None:
    """Check that the file can be created and is not one of the inputs.

    >>> check_writable("new/scores.txt")
    Traceback (most recent call last):
    infolm_metric.InputError: cannot write new/scores.txt: no folder 'new'. Choose a file in an ...
    """
    target = Path(os.path.realpath(path))  # follows links, possibly to a missing folder
    if not target.parent.is_dir() or (target.exists() and not target.is_file()):
        parent = target.parent if os.path.islink(path) else Path(path).parent
        problem = "not a regular file" if target.exists() else f"no folder {str(parent)!r}"
        raise InputError(f"cannot write {path}: {problem}. Choose a file in an existing folder.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"cannot write {path}: permission denied. Choose another folder.")
    for source in map(Path, inputs):
        folder = source.is_dir() and source.resolve() in target.parents
        if folder or (source.is_file() and target.exists() and source.samefile(target)):
            raise InputError(f"cannot write {path}: it is part of the input. Choose another path.")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file atomically. An existing file keeps its mode and symbolic links.

    The content is written to a draft in the same folder, which replaces the file when it is
    complete. Lone surrogates, possible in file names, are escaped.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".infolm-{secrets.token_hex(8)}.tmp")
    try:
        draft.write_bytes(text.encode(errors="backslashreplace"))
        if target.exists():
            shutil.copymode(target, draft)
        put_in_place(draft, target)
    except OSError as error:
        reason = f"{error.strerror}. Check the folder and the disk space."
        raise OSError(f"cannot write {os.fspath(path)}: {reason}") from error
    finally:
        draft.unlink(missing_ok=True)


def put_in_place(draft: Path, target: Path) -> None:
    """Replace the target with a complete draft."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(draft, target)
