"""Where a model's files are: a folder, the Hub or the package; what to do if none can be read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from huggingface_hub import get_hf_file_metadata, hf_hub_url, is_offline_mode
from huggingface_hub.errors import HfHubHTTPError

from infolm_metric.kernel.checks import BUNDLED

HASHED = (
    *("*.safetensors", "config.json", "tokenizer*", "vocab*", "merges.txt", "*.model"),
    *("added_tokens.json", "special_tokens_map.json", "*.index.json", "bpe.codes"),
)
# Seconds that the Hub has for its first answer, unless its client's own variable says otherwise.
PATIENCE = float(os.environ.get("HF_HUB_ETAG_TIMEOUT") or 4)

Stamp = tuple[tuple[str, int, int], ...]
"""Name, size and time of each of a folder's files; empty for the Hub."""


def files_of(folder: Path) -> list[Path]:
    """The files of a folder that decide what its model says, in order."""
    files = {file for pattern in HASHED for file in folder.glob(pattern) if file.is_file()}
    return sorted(files)


def stamp_of(source: str) -> Stamp:
    """What tells if a folder's files have changed, without reading them."""
    found = ((file.name, file.stat()) for file in files_of(Path(source)))
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in found)


def source_of(name: str, revision: str | None, bundled: Path) -> str:
    """The folder or Hub name to load from."""
    if name == BUNDLED:
        if revision is not None:
            model = f"model_name_or_path={BUNDLED!r}"
            raise ValueError(f"{model} has no revisions, got {revision!r}")
        return str(bundled)
    path = os.path.expanduser(name)
    # A name on the Hub has one slash at most and does not begin like a path: no need to ask there.
    if not os.path.isdir(path) and (path.startswith((".", os.sep)) or path.count("/") > 1):
        raise OSError(
            f"cannot load the model {name!r}: there is no such folder. Check the path, or use the "
            f"model that ships with infolm: model_name_or_path={BUNDLED!r}"
        )
    return path


def silence_of(source: str, revision: str | None) -> str:
    """Why the Hub gives nothing, or "" if it answers or is not needed.

    Left alone, its client asks for every file again for half a minute, and says so each time. The
    thread bounds the wait for names and addresses, too, to which time limits do not apply.
    """
    if os.path.isdir(source) or is_offline_mode():
        return ""
    reasons = [f"no answer in {PATIENCE:g} s, for a longer wait set HF_HUB_ETAG_TIMEOUT"]

    def ask() -> None:
        try:
            get_hf_file_metadata(hf_hub_url(source, "config.json", revision=revision))
            reasons.clear()
        except HfHubHTTPError:  # an answer all the same, which loading explains
            reasons.clear()
        except Exception as error:
            reasons[:] = [str(error) or type(error).__name__]

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return "".join(reasons)


def fetch(
    name: str,
    source: str,
    revision: str | None,
    silence: str,
    variable: str,
    loader: Callable[..., Any],
    **options: Any,
) -> Any:
    """What `loader` gives, with errors that say what to do.

    `silence` is why the Hub is not asked for files, if it is not.
    """
    if revision is not None:
        options["revision"] = revision
    if silence:
        options["local_files_only"] = True
    try:
        # Said outright, because transformers would otherwise ask at the terminal whether to run it.
        return loader(source, trust_remote_code=False, **options)
    except Exception as error:  # tokenizers raises just that for a file that it cannot read
        at = "" if revision is None else f" at revision {revision!r}"
        reason = str(error).strip().partition("\n")[0].rstrip(" .:")
        if isinstance(error, LookupError):  # which tells the key alone
            reason = f"{type(error).__name__}: {reason}"
        if silence:
            reason += f" (the Hub: {silence})"
        raise OSError(
            f"cannot load the model {name!r}{at}: {reason}. Check the name or path; weights must "
            "be safetensors files, which `save_pretrained` of transformers writes, and others are "
            "not read. Without a connection to the Hub use a "
            "folder or the model that ships with infolm, "
            f"model_name_or_path={BUNDLED!r}, for every call with "
            f"{variable}={BUNDLED}; HF_HUB_OFFLINE=1 saves the wait for the Hub"
        ) from error
