"""The page that shows why two texts score as they do, and scores a file.

    python space/app.py

The address, the port and the like are Gradio's own environment variables, such as
GRADIO_SERVER_PORT.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import gradio as gr  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402
from starlette.types import ASGIApp, Message, Receive, Scope, Send  # noqa: E402

from page import compare_tab, file_tab, limits  # noqa: E402
from page.appearance import INTRODUCTION, STYLE, THEME  # noqa: E402
from page.scoring import EXPECTED_ERRORS, VIEWS, compare, refusal  # noqa: E402


class BodyLimit:
    """Middleware that reads no more of a request than BODY_BYTES, whatever it claims to be."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; a body that is too large looks as if its sender had gone."""
        size = 0

        async def receive_part() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            return {"type": "http.disconnect"} if size > limits.BODY_BYTES else message

        await self.app(scope, receive_part, send)


def score(
    candidate: str,
    references: list[str],
    metric: Literal["infolm", "baryscore", "menli"] = "infolm",
    settings: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Score a candidate against its references, and say why it scores so.

    The settings are those of the metric, by name, as its card lists them.
    """
    try:
        return compare(metric, candidate, references, settings).as_dict()
    except EXPECTED_ERRORS as error:
        raise refusal(error) from None


def build(metric: str = "infolm") -> gr.Blocks:
    """The page, which opens with the metric named. It keeps nothing that a visitor sends."""
    with gr.Blocks(
        title="Why two texts score as they do",
        analytics_enabled=False,
        delete_cache=(limits.CACHE_SECONDS, limits.CACHE_SECONDS),
    ) as page:
        gr.Markdown(INTRODUCTION, elem_id="introduction")
        with gr.Tabs():
            with gr.Tab("Compare"):
                compare_tab.build(metric)
            with gr.Tab("Score a file"):
                file_tab.build(metric)
        gr.api(score, api_name="score", **limits.QUEUE)
    return page.queue(max_size=limits.MAX_WAITING, default_concurrency_limit=limits.MAX_RUNNING)


def launch(page: gr.Blocks, **options: Any) -> Any:
    """What `page.launch` returns; serves no file but the visitor's own uploads and downloads."""
    return page.launch(
        theme=THEME,
        css_paths=STYLE,
        max_file_size=limits.FILE_BYTES,
        allowed_paths=[],
        app_kwargs={"middleware": [Middleware(BodyLimit)]},
        footer_links=["api"],
        ssr_mode=False,
        share=False,
        run_history=False,
        **options,
    )


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="infolm: ")  # the page says these itself
    metrics = [name for name in VIEWS if Path(__file__).with_name(f"{name}.py").exists()]
    launch(build(*metrics))
