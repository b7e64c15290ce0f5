"""Signatures: all that can change a score, in one line."""

from __future__ import annotations

from collections.abc import Container, Mapping

from infolm_metric.kernel.version import __version__


def make_signature(metric: str, values: Mapping[str, object]) -> str:
    """All that can change a score, and the versions, as `name:value|...`.

    Equal signatures mean equal scores for the same inputs, within float32's tolerance.
    """
    import torch
    import transformers

    versions = {"transformers": transformers.__version__, "torch": torch.__version__}
    named = {"metric": metric, **values, "infolm": __version__, **versions}
    return "|".join(f"{name}:{_shown(value)}" for name, value in named.items())


def without(signature: str, names: Container[str]) -> str:
    """The signature without the fields of these names.

    >>> without("measure:l1_distance|idf:no", ["idf"])
    'measure:l1_distance'
    """
    parts = signature.split("|")
    return "|".join(part for part in parts if part.partition(":")[0] not in names)


def differences(then: str, now: str) -> str:
    """What is different between two signatures, or nothing.

    >>> differences("temperature:1.0|model:m", "temperature:2.0|model:m")
    'temperature was 1.0 and is 2.0 now'
    """
    old, new = (
        dict(part.split(":", 1) for part in text.split("|") if ":" in part) for text in (then, now)
    )
    return "; ".join(
        f"{name} was {old.get(name, 'not given')} and is {new.get(name, 'not given')} now"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    )


def _shown(value: object) -> str:
    """A value as the signature shows it: a float with all digits, False and None as words."""
    return "no" if value is False else "none" if value is None else str(value)
