"""The look of the page, with fonts of the visitor's own system, and its words of welcome."""

from __future__ import annotations

import gradio as gr

SANS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica", "Arial", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]
QUIET_TEXT = ("body_text_color_subdued", "block_info_text_color", "input_placeholder_color")
PRIMARY_BUTTONS = [
    f"button_primary_background_fill{state}" for state in ("", "_hover", "_dark", "_hover_dark")
]
CHOSEN = [f"checkbox_label_background_fill_selected{state}" for state in ("", "_dark")]
THEME = gr.themes.Soft(
    primary_hue="indigo", neutral_hue="slate", font=SANS, font_mono=MONO, radius_size="md"
).set(
    **dict.fromkeys(QUIET_TEXT, "*neutral_600"),
    **dict.fromkeys([f"{name}_dark" for name in QUIET_TEXT], "*neutral_300"),
    **dict.fromkeys(["block_label_text_color", "block_title_text_color"], "*primary_700"),
    **dict.fromkeys([*PRIMARY_BUTTONS, *CHOSEN], "*primary_600"),
    link_text_color_dark="*primary_300",
    background_fill_primary="*neutral_50",  # as it was: `set` loses it
)

INTRODUCTION = """\
# How close is a text to what it should say?
A language model reads both texts; they need not share a word. Three metrics say how close they are,
each on a scale of its own.
"""

CSS = """
.gradio-container {
  width: 100% !important; max-width: 1180px !important; margin: 0 auto !important;
}
.gradio-container .fillable { padding: clamp(.75rem, 2.5vw, 2rem) !important; }
#measures td, #measures th, #moves td, #moves th { font-size: .82rem; }
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
.score { font-size: 1.8rem; font-weight: 700; line-height: 1.2; color: var(--primary-700); }
.measure { color: var(--body-text-color-subdued); }
.verdict { font-size: 1.5rem; font-weight: 700; margin: 0 0 .3rem; color: var(--primary-700); }
.waiting, .refused { min-height: 8rem; }
.refused { border-left: 4px solid #dc2626; }
.dark .score { color: var(--primary-200); }
.dark .verdict { color: var(--primary-200); }
.score-card ul.fine { margin: .6rem 0 0; padding-left: 1.1rem; list-style: disc; }
.gauge { padding: .8rem 0 1.3rem; }
.bar { position: relative; height: .8rem; background: var(--border-color-primary); }
.fill { height: 100%; background: var(--color-accent); }
.band { position: absolute; top: -.3rem; height: 1.4rem; border: 2px solid var(--body-text-color); }
.band-name { position: absolute; top: 1.15rem; font-size: .78rem; white-space: nowrap; }
body:not(.dark) .tokens span.text { color: #0f172a !important; }
.dark .tokens span.text { color: #fff !important; }
.ends { display: flex; justify-content: space-between; font-size: .8rem; margin-top: .3rem; }
.ends span { color: var(--body-text-color-subdued); }
button[role="tab"][aria-selected="true"] { color: var(--body-text-color) !important; }
body:not(.dark) .cm-content span { color: var(--body-text-color) !important; }
.dark .download-link { color: var(--primary-300) !important; }
.toast-close { opacity: 1 !important; color: #0f172a !important; }
footer .show-api { display: flex !important; }
#score { padding: 0 !important; }
.plan { margin: 0; max-width: 40rem; }
.plan svg { width: 100%; height: auto; display: block; }
.plan text { fill: var(--body-text-color); font-size: 14px; }
.plan text.head { fill: var(--body-text-color-subdued); font-size: 12px; }
.plan path { fill: none; stroke: var(--cost); stroke-linecap: round; }
.plan figcaption { font-size: .85rem; color: var(--body-text-color); }
.plan .legend {
  display: flex; flex-wrap: wrap; gap: .2rem .9rem; margin: .3rem 0 0; padding: 0; list-style: none;
}
.plan .swatch {
  display: inline-block; width: 1.2rem; height: .6rem; margin-right: .35rem;
  background: var(--cost);
}
.cost-0 { --cost: #0f766e; } .dark .cost-0 { --cost: #5eead4; }
.cost-1 { --cost: #3f6212; } .dark .cost-1 { --cost: #bef264; }
.cost-2 { --cost: #854d0e; } .dark .cost-2 { --cost: #fde047; }
.cost-3 { --cost: #c2410c; } .dark .cost-3 { --cost: #fdba74; }
.cost-4 { --cost: #991b1b; } .dark .cost-4 { --cost: #fca5a5; }
progress { width: 100%; accent-color: var(--primary-600); }
.scrolls { display: none; }
@media (max-width: 640px) {
  .scrolls { display: block; }
  .examples button { flex-basis: 45% !important; }
}
"""
