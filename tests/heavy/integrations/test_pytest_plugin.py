"""The fixtures of the pytest plugin, in test suites that pytest itself runs."""

import configparser

import pytest

from tests.integration_files import BETTER, REFERENCES, WORSE, write_shown
from tests.project_files import ROOT

pytest_plugins = ["pytester"]


TEXTS = f"""
ALIASES = ["Neil Armstrong", "Armstrong"]
REFERENCES, BETTER, WORSE = {REFERENCES}, {BETTER}, {WORSE}
def test_right(assert_answer):
    assert_answer("It was **Neil Armstrong**, in 1969.", ALIASES)
def test_wrong(assert_answer):
    assert_answer("It was Buzz Aldrin.", ALIASES)
def test_unclear(assert_answer):
    assert_answer("It is either Sydney or Canberra.", "Canberra")
def test_allowed(assert_answer):
    assert_answer("It is either Sydney or Canberra.", "Canberra", allow=["unclear"])
def test_withheld(assert_answer):
    answer = "La capitale de la France est une ville que nous appelons Paris."
    assert_answer(answer, "Canberra")
def test_better(assert_not_worse):
    assert_not_worse(BETTER, WORSE, REFERENCES)
def test_worse(assert_not_worse):
    assert_not_worse(WORSE, BETTER, REFERENCES)
def test_worse_by_a_metric_for_which_lower_is_better(assert_not_worse):
    assert_not_worse(WORSE, BETTER, REFERENCES, metric="baryscore", idf=False)
def test_equal(assert_not_worse):
    assert_not_worse(BETTER, BETTER, REFERENCES)
"""

# Models are loaded once, for the first answer.
LOADS = """
import pytest
from infolm_metric.models import encoders
loads = []
@pytest.fixture(scope="session", autouse=True)
def count_loads():
    from infolm_metric.models import checkpoints
    load = checkpoints.load_weights
    def counted(*arguments, **options):
        loads.append(arguments)
        return load(*arguments, **options)
    with pytest.MonkeyPatch.context() as patch:
        for module in (checkpoints, encoders):
            patch.setattr(module, "load_weights", counted)
        yield
@pytest.mark.parametrize("number", range(3))
def test_answer(assert_answer, number):
    assert_answer(f"It was Armstrong in 196{number + 7}.", "Armstrong")
    assert len(loads) == 1
def test_missing(assert_answer):
    assert_answer("Yes.", "No.", model_name_or_path="./no_model")
def test_later_answer(assert_answer):
    assert_answer("It was Armstrong.", "Armstrong")
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Function that runs a test suite with the plugin that setup.cfg names."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    plugin = setup["options.entry_points"]["pytest11"].partition("=")[2].strip()
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run(**modules):
        pytester.makepyfile(**modules)
        return pytester.runpytest_subprocess("-p", plugin)

    return run


def test_plugin_imports_no_library_unless_a_fixture_is_used(run):
    result = run(
        test_imports="""
        import sys

        def test_modules():
            assert "infolm_metric.integrations.pytest_plugin" in sys.modules
            assert not {"torch", "numpy", "transformers"} & {*sys.modules}
    """
    )
    result.assert_outcomes(passed=1)


def test_only_missing_models_wrong_answers_and_worse_texts_fail(run, pytester):
    write_shown(pytester.path)  # two tests that pass
    result = run(test_a_loads=LOADS, test_texts=TEXTS)
    result.assert_outcomes(passed=2 + 4 + 4, failed=1 + 5)
    lines = ["*OSError: *no_model*"]
    lines += ["*AssertionError: *'likely wrong' (score 0.1*", "*reason: 0% of *"]
    lines += ["*answer: 'It was Buzz Aldrin.'", "*signature: metric:answer_check|*"]
    lines += ["*'unclear' (score 0.500)*", "*reason: *offers it with others."]
    lines += ["*verdict is None*", "*reason: There is no verdict (*"]
    lines += ["*significantly worse by bertscore (higher is better)", "*score: * p = 0.002*"]
    lines += ["*verdict: worse (10 texts)", "*reason: 10 new texts score worse*"]
    lines += ["*signature: metric:bertscore|*", "*by baryscore (lower is better)"]
    result.stdout.fnmatch_lines(lines)
    result.stdout.no_fnmatch_line("*check_text(*")  # the frames of the package are hidden
