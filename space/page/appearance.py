"""The look of the page, with fonts of the visitor's own system, and its words of welcome."""

from __future__ import annotations

import gradio as gr

SANS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica", "Arial", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]
THEME = gr.themes.Soft(
    primary_hue="indigo", neutral_hue="slate", font=SANS, font_mono=MONO, radius_size="md"
)

INTRODUCTION = """\
# InfoLM: see why two texts score as they do
InfoLM judges a text against a reference without needing the same words in both. It hides each
token in turn, lets a language model predict what could stand there, and compares what the model
expects of the two texts. **Lower is better, and 0 is a copy.**
"""

USE_IT = """\
### In Python
```python
from infolm_metric import InfoLM

infolm = InfoLM()  # the paper's model; model_name_or_path="bundled" needs no network
results = infolm.compute(
    predictions=["The cat slept on the sofa."],
    references=["A cat was asleep on the couch."],
)
print(results["infolm"], results["signature"])
```
`infolm register` makes `evaluate.load("infolm")` find the same metric.

### From a program
Every comparison and file can be asked for with `gradio_client`; the link "Use via API" at the foot
of the page lists the endpoints `score`, `score_many`, `explain`, `score_file` and `measures`.

### What to keep in mind
- The number depends on the model, the measure, the temperature and the weights: compare scores
  only where all of these are equal, and report the signature.
- InfoLM compares what a model expects, not facts: a wrong number or a missing "not" may move it
  little.
- The bundled model is small and reads English. For figures in a paper use BERT-base, as the
  authors of the method do.
- Texts that you send are scored and not kept; uploads and downloads are deleted within two hours.

The method: Colombo, Clavel and Piantanida, *InfoLM: A New Metric to Evaluate Summarization and
Data2Text Generation*, AAAI 2022, [arXiv 2112.01589](https://arxiv.org/abs/2112.01589).
"""

CSS = """
.gradio-container {
  width: 100% !important; max-width: 1180px !important; margin: 0 auto !important;
}
.gradio-container .fillable { padding: clamp(.75rem, 2.5vw, 2rem) !important; }
#measures td, #measures th { font-size: .82rem; }
#introduction h1 { font-size: 1.6rem; margin-bottom: .3rem; }
.fine, .fine p { font-size: .85rem; color: var(--body-text-color-subdued); }
.block.lesson { border-left: 3px solid var(--color-accent); padding-left: .8rem; }
.examples { gap: .5rem !important; }
.examples button { flex: 1 1 auto !important; white-space: normal; }
.score-card {
  border: 1px solid var(--border-color-primary); border-radius: var(--radius-lg);
  background: var(--block-background-fill); padding: 1.1rem 1.3rem; color: var(--body-text-color);
}
.score-line { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .8rem; }
.score { font-size: 2.8rem; font-weight: 700; line-height: 1.1; color: var(--color-accent); }
.measure { font-family: var(--font-mono); color: var(--body-text-color-subdued); }
.verdict { margin: .5rem 0 1rem; }
.gauge { position: relative; padding: 1.7rem 0; }
.bar {
  height: .8rem; border-radius: 1rem; background: var(--border-color-primary); overflow: hidden;
}
.fill { height: 100%; background: var(--color-accent); }
.mark { position: absolute; width: 0; border-left: 2px solid var(--body-text-color); }
.mark span {
  position: absolute; white-space: nowrap; font-size: .78rem;
  color: var(--body-text-color-subdued);
}
.mark.above { top: 1.3rem; height: 1.2rem; } .mark.above span { bottom: 1.25rem; }
.mark.below { top: 1.7rem; height: 1.2rem; } .mark.below span { top: 1.2rem; }
.dark .tokens span { color: var(--body-text-color) !important; }
.ends { display: flex; justify-content: space-between; font-size: .8rem; margin-top: .3rem; }
.ends span { color: var(--body-text-color-subdued); }
"""
