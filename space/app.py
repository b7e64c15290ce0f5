"""Demo that scores and explains a pair of texts, and scores files.

    python space/app.py

Gradio's environment variables, such as GRADIO_SERVER_PORT, set the address and the port.
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

from infolm_metric.metrics import METRICS  # noqa: E402
from page import compare_tab, file_tab, limits  # noqa: E402
from page.appearance import INTRODUCTION, STYLE, THEME  # noqa: E402
from page.scoring import EXPECTED_ERRORS, compare, refusal, score_by_all  # noqa: E402

Choice = Literal["infolm", "baryscore", "bertscore", "menli", "answer_check", "all"]


class BodyLimit:
    """Middleware that reads at most BODY_BYTES per request, regardless of the declared length."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request. Report a disconnect if its body is too large."""
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
    metric: Choice = "infolm",
    settings: dict[str, Any] | None = None,
) -> Any:
    """Score a candidate against its references and explain the score.

    `settings` are the keyword arguments of the metric in page/settings.toml. With metric="all",
    returns a list, and each metric takes the settings that it has. An entry has an "error" instead
    of a score if its metric cannot score the texts. Errors that concern all metrics are raised.
    """
    try:
        if metric == "all":
            return score_by_all(candidate, references, settings)
        return compare(metric, candidate, references, settings).as_dict()
    except EXPECTED_ERRORS as error:
        raise refusal(error) from None


def build(metric: str = "infolm") -> gr.Blocks:
    """Build the demo with a preselected metric. Old uploads and downloads are deleted."""
    with gr.Blocks(
        title="InfoLM: compare and score texts",
        analytics_enabled=False,
        delete_cache=(limits.CACHE_SECONDS, limits.CACHE_SECONDS),
    ) as demo:
        gr.Markdown(INTRODUCTION, elem_id="introduction")
        with gr.Tabs():
            with gr.Tab("Compare"):
                compare_tab.build(demo, metric)
            with gr.Tab("Score a file"):
                file_tab.build(metric)
        gr.api(score, api_name="score")
    return demo.queue(max_size=limits.MAX_WAITING, default_concurrency_limit=limits.MAX_RUNNING)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="infolm: ")  # shown in the demo
    folder = Path(__file__).parent
    exported = [x.name for x in METRICS.values() if (folder / f"{x.registered_name}.py").exists()]
    build(*exported[:1]).launch(
        theme=THEME,
        css_paths=STYLE,
        max_file_size=limits.FILE_BYTES,
        allowed_paths=[],  # only the sample file, and a visitor's uploads and downloads
        app_kwargs={"middleware": [Middleware(BodyLimit)]},
        footer_links=["api"],
        ssr_mode=False,
        share=False,
        run_history=False,
    )
