"""Generator of docs/settings.md from the settings of the metrics.

python -m tests.docs.generated        writes the page
"""

from collections.abc import Mapping
from pathlib import Path

from infolm_metric.core.settings import ModelSettings, Settings, descriptions, flags, ordered_fields
from infolm_metric.metrics import METRICS
from tests.project_files import ROOT

PAGE = Path("docs/settings.md")
COMMAND = "python -m tests.docs.generated"
HEAD = f"""# Settings

Pass a setting to `compute`, to a scorer or one of its methods, or to `evaluate.load(...)`, which
sets the default of every `compute`. Type checks, command-line options, signature fields and this
page (`{COMMAND}`) are derived from the same fields.

See also [measures](measures.md), [IDF](reading_a_score.md#token-weights-idf),
[models](getting_started.md#the-bundled-model-and-others),
[baselines](reading_a_score.md#rescaling-with-a-baseline) and
[several masks per pass](long_jobs.md#several-masks-per-pass).

"""


def render_table(title: str, settings: type[Settings], shared: Mapping[str, str]) -> str:
    """Return the table of one metric, without the settings that equal their `shared` entry."""
    lines = [
        f"## {title}",
        "",
        "| setting | type | default | flag | in the signature | description |",
        "|---|---|---|---|---|---|",
    ]
    texts = descriptions(settings)
    for field in ordered_fields(settings):
        if shared.get(field.name) == texts[field.name]:
            continue
        kind = str(getattr(field.type, "__name__", field.type)).replace("|", "\\|")
        flag = f"`{flags(field)[-1]}`" if flags(field) else ""
        signed = "" if field.name in settings.not_in_signature else "yes"
        cells = (f"`{field.name}`", kind, repr(field.default), flag, signed, texts[field.name])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def render_page() -> str:
    """Return the content of the page."""
    shared = descriptions(ModelSettings)
    kinds = [metric.settings_type() for metric in METRICS.values()]
    tables = [render_table(kind.metric, kind, shared) for kind in kinds]
    return HEAD + "\n".join([*tables, render_table("All metrics", ModelSettings, {})])


if __name__ == "__main__":
    (ROOT / PAGE).write_text(render_page())
