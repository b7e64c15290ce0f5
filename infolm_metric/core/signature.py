"""Signatures: everything that can change a score, as fields in a fixed order."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from typing import Any

# Versions that a short signature leaves out.
VERSIONS = ("transformers", "torch", "math_verify")
_ESCAPES = str.maketrans({"%": "%25", "|": "%7C"})


class Signature(str):
    """Signature string `name:value|name:value`. `fields` maps names to values, in order.

    `defaults` are the names of the fields whose values are defaults, for `short`. In the string,
    `|` and `%` in values are escaped as %7C and %25. False is written as "no" and None as "none".

    >>> signature = Signature({"metric": "infolm", "idf": False, "model": "a|b"})
    >>> signature, signature.fields["model"]
    ('metric:infolm|idf:no|model:a%7Cb', 'a|b')
    """

    fields: Mapping[str, str]
    defaults: frozenset[str]

    def __new__(cls, fields: Mapping[str, object], defaults: Collection[str] = ()) -> Signature:
        words = {
            name: "no" if value is False else "none" if value is None else str(value)
            for name, value in fields.items()
        }
        text = "|".join(f"{name}:{word.translate(_ESCAPES)}" for name, word in words.items())
        signature = super().__new__(cls, text)
        signature.fields, signature.defaults = words, frozenset(defaults)
        return signature

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return the arguments with which copy and pickle create the signature."""
        return dict(self.fields), self.defaults

    def short(self) -> Signature:
        """Return the signature without default values and versions of other packages.

        >>> fields = {"metric": "toy", "size": 1, "model": "m@1f", "infolm": "1.0", "torch": "2.0"}
        >>> Signature(fields, defaults=["size"]).short()
        'metric:toy|model:m@1f|infolm:1.0'
        """
        return self.without({*self.defaults, *VERSIONS})

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Parse a signature string. Raise ValueError if a field has no colon.

        >>> Signature.parse("metric:infolm|model:a%7Cb").fields
        {'metric': 'infolm', 'model': 'a|b'}
        """
        fields = {}
        for field in text.split("|") if text else ():
            name, word = field.split(":", 1)
            fields[name] = word.replace("%7C", "|").replace("%25", "%")
        return cls(fields)

    def without(self, names: Container[str]) -> Signature:
        """Return the signature without some fields.

        >>> Signature({"measure": "l1_distance", "idf": False}).without(["idf"])
        'measure:l1_distance'
        """
        fields = {name: word for name, word in self.fields.items() if name not in names}
        return Signature(fields, self.defaults)

    def with_fields(self, fields: Mapping[str, object]) -> Signature:
        """Return the signature with additional or changed fields.

        >>> Signature({"metric": "infolm", "model": "m"}).with_fields({"model": "n"})
        'metric:infolm|model:n'
        """
        return Signature({**self.fields, **fields}, self.defaults)

    def differences(self, other: Signature) -> str:
        """Describe how another signature differs from this one, or return "".

        >>> Signature({"temperature": 1.0}).differences(Signature({"temperature": 2.0}))
        'temperature is 2.0 instead of 1.0'
        """
        old, new = self.fields, other.fields
        return "; ".join(
            f"{name} is {new.get(name, 'unset')} instead of {old.get(name, 'unset')}"
            for name in dict.fromkeys([*old, *new])
            if old.get(name) != new.get(name)
        )
