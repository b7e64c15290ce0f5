"""The fixtures of the pytest plugin, in test suites that pytest itself runs."""

import configparser

import pytest

from tests.integration_files import BETTER, REFERENCES, WORSE, write_shown
from tests.project_files import ROOT

pytest_plugins = ["pytester"]


@pytest.fixture
def run(pytester, monkeypatch):
    """Function that runs a test suite with the plugin that setup.cfg names."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    plugin = setup["options.entry_points"]["pytest11"].partition("=")[2].strip()
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run(code, *arguments):
        pytester.makepyfile(code)
        return pytester.runpytest_subprocess("-p", plugin, *arguments)

    return run


def test_documented_suite_passes(run, pytester):
    write_shown(pytester.path)
    result = run("", "test_answers.py")
    result.assert_outcomes(passed=2)


def test_answers_and_texts_fail_if_they_are_wrong_or_significantly_worse(run):
    result = run(f"""
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
    """)
    result.assert_outcomes(passed=4, failed=5)
    lines = ["*AssertionError: *'likely wrong' (score 0.1*", "*reason: 0% of *"]
    lines += ["*answer: 'It was Buzz Aldrin.'", "*signature: metric:answer_check|*"]
    lines += ["*'unclear' (score 0.500)*", "*reason: *offers it with others."]
    lines += ["*verdict is None*", "*reason: There is no verdict (*"]
    lines += ["*significantly worse by bertscore (higher is better)", "*score: * p = 0.002*"]
    lines += ["*verdict: worse (10 texts)", "*reason: 10 new texts score worse*"]
    lines += ["*signature: metric:bertscore|*", "*by baryscore (lower is better)"]
    result.stdout.fnmatch_lines(lines)
    result.stdout.no_fnmatch_line("*check_text(*")  # the frames of the package are hidden


def test_plugin_imports_no_library_unless_a_fixture_is_used(run):
    result = run("""
        import sys

        def test_modules():
            assert "infolm_metric.integrations.pytest_plugin" in sys.modules
            assert not {"torch", "numpy", "transformers"} & {*sys.modules}
    """)
    result.assert_outcomes(passed=1)


def test_models_are_loaded_once_and_a_missing_model_fails_only_its_test(run):
    result = run("""
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
    """)
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["*OSError: *no_model*"])
