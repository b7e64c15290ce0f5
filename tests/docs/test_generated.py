"""Pages and name lists that are generated from the code are up to date."""

import infolm_metric
from infolm_metric.metrics import METRICS
from tests.docs import generated
from tests.project_files import ROOT


def test_settings_page_is_up_to_date():
    page = (ROOT / generated.PAGE).read_text()
    assert page == generated.render_page(), f"run {generated.COMMAND}"


def test_dir_of_the_package_lists_its_public_names():
    names = {"IDF", "InputError", "combine", "measures", "meta_evaluation", "robustness", "score"}
    for metric in METRICS.values():
        homes = (metric.settings, metric.scorer, metric.evaluate)
        names |= {home.partition(":")[2] for home in homes}
    assert names | {"__version__"} == set(dir(infolm_metric))
    assert all(getattr(infolm_metric, name) for name in names)
