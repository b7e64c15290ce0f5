"""The InfoLM Space: see why two texts score as they do, and score a file.

    python space/app.py

The address, the port and the like are Gradio's own environment variables, such as
GRADIO_SERVER_PORT.
"""

import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from page.site import build, launch  # noqa: E402

if __name__ == "__main__":
    launch(build())
