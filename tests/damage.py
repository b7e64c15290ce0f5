"""What can happen to a file: a byte is changed or lost, more is put in, the rest is cut off."""

from hypothesis import strategies as st


def _damage(place, put_in, cut_off):
    def damaged(content):
        at = int(place * len(content))
        return content[:at] + put_in + (b"" if cut_off else content[at + 1 :])

    return damaged


DAMAGE = st.builds(_damage, st.floats(0, 1, exclude_max=True), st.binary(max_size=2), st.booleans())
"""Functions from the content of a file to what is left of it."""
