"""Files that survive a crash: bytes forced to the disk, by one process at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evaluate.module import FileLock


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keeps other processes away from a file that is written bit by bit.

    Raises ValueError if one is at work on it, or if there can be no such file.
    """
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"cannot write {path}: name a file in a folder that exists")
    lock = FileLock(path.with_name(f"{path.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except TimeoutError:
        raise ValueError(f"another process is at work on {path}; let it finish") from None
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(lock.lock_file)
        lock.release()


def write_durably(path: Path, start: int, content: bytes, pairs: int = 0) -> None:
    """Make `content` what follows the first `start` bytes of the file, on the disk.

    Raises OSError if that fails; the file then ends after `start` bytes. `pairs` is how many are
    kept there, for the message.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_durably(Path(folder, "a"), 0, b"first, torn")
    ...     write_durably(Path(folder, "a"), 5, b" second")
    ...     Path(folder, "a").read_text()
    'first second'
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    new = not path.exists()
    descriptor = os.open(path, flags, 0o666)
    try:
        os.ftruncate(descriptor, start)
        os.lseek(descriptor, start, os.SEEK_SET)
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(descriptor, start)
            raise OSError(
                f"cannot write {path} after pair {pairs}: {error.strerror}; what was written is "
                "kept: make room, and give the same command to go on"
            ) from error
    finally:
        os.close(descriptor)
    if new and os.name == "posix":  # the name, too, must be on the disk
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
