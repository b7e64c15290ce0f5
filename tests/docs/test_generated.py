"""Pages and name lists that are generated from the code are up to date."""

import infolm_metric
from tests.docs import generated
from tests.project_files import ROOT


def test_settings_page_is_up_to_date():
    page = (ROOT / generated.PAGE).read_text()
    assert page == generated.render_page(), f"run {generated.COMMAND}"


def test_dir_of_the_package_lists_its_public_names():
    scorers = {"InfoLM", "InfoLMScorer", "BaryScore", "BaryScorer", "MENLI", "MENLIScorer"}
    scorers |= {"InfoLMSettings", "BaryScoreSettings", "MENLISettings"}
    scorers |= {"AnswerCheck", "AnswerCheckScorer", "AnswerCheckSettings"}
    scorers |= {"BERTScore", "BERTScorer", "BERTScoreSettings"}
    names = {
        "IDF",
        "combine",
        "measures",
        "meta_evaluation",
        "robustness",
        "score",
        "InputError",
    } | scorers
    assert names | {"__version__"} == set(dir(infolm_metric))
    assert all(getattr(infolm_metric, name) for name in names)
