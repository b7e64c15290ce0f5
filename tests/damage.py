"""Damage to files: changed, lost or inserted bytes, and truncation."""

from hypothesis import strategies as st


def _damage(place, put_in, cut_off):
    def apply(content):
        at = int(place * len(content))
        return content[:at] + put_in + (b"" if cut_off else content[at + 1 :])

    return apply


# Functions that return the damaged content of a file, given its content.
DAMAGE = st.builds(_damage, st.floats(0, 1, exclude_max=True), st.binary(max_size=2), st.booleans())
