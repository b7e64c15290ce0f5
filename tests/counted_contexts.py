"""What the model is given to read, counted: that nothing is read twice is not left to a clock."""

from contextlib import contextmanager

from infolm_metric.infolm.encoders import MaskedLM


@contextmanager
def counted_contexts(monkeypatch, sizes=None):
    """A list of the contexts that any model reads meanwhile; `sizes` gets those of the batches."""
    contexts, sizes = [], [] if sizes is None else sizes
    plain = MaskedLM.logits

    def counting(self, ids, *rest):
        contexts.extend(map(tuple, ids.tolist()))
        sizes.append(len(ids))
        return plain(self, ids, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(MaskedLM, "logits", counting)
        yield contexts
