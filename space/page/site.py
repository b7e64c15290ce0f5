"""The page as a whole: its tabs, the endpoint behind it, and how it is served."""

from __future__ import annotations

from typing import Any

import gradio as gr
from starlette.middleware import Middleware

from . import compare_tab, endpoints, file_tab, limits
from .appearance import CSS, INTRODUCTION, THEME
from .body_limit import BodyLimit

CACHE_SECONDS = 3600  # that uploads and downloads are kept


def build() -> gr.Blocks:
    """The page. Nothing in it keeps what a visitor sends, but the visitor's own session."""
    with gr.Blocks(
        title="InfoLM: why two texts score as they do",
        analytics_enabled=False,
        delete_cache=(CACHE_SECONDS, CACHE_SECONDS),
    ) as page:
        gr.Markdown(INTRODUCTION, elem_id="introduction")
        with gr.Tabs():
            with gr.Tab("Compare"):
                compare_tab.build(page, _limit("comparisons"))
            with gr.Tab("Score a file"):
                file_tab.build(_limit("files"))
        gr.api(endpoints.score, api_name="score", **_limit("comparisons"))
    return page.queue(max_size=limits.WAITING, default_concurrency_limit=limits.AT_ONCE)


def launch(page: gr.Blocks, **options: Any) -> Any:
    """What `page.launch` returns; serves no file but the visitor's own uploads and downloads."""
    return page.launch(
        theme=THEME,
        css=CSS,
        max_file_size=limits.FILE_BYTES,
        allowed_paths=[],
        app_kwargs={"middleware": [Middleware(BodyLimit, largest=limits.BODY_BYTES)]},
        footer_links=["api"],
        ssr_mode=False,
        share=False,
        run_history=False,
        **options,
    )


def _limit(which: str) -> dict[str, Any]:
    return {"concurrency_limit": limits.AT_ONCE, "concurrency_id": which}
