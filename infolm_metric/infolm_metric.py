"""InfoLM as a metric of `evaluate`: documentation, argument checks and the input buffer.

`evaluate.load("./infolm_metric")` copies this file away and imports the copy: so imports are
absolute, and nothing is kept here. It takes the first metric class it finds among the names of the
module: so `evaluate.Metric` is named through its package.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Iterable
from itertools import chain
from typing import Any

import datasets
import evaluate
from evaluate.utils import is_progress_bar_enabled

from infolm_metric.infolm.scorer import InfoLMScorer
from infolm_metric.infolm.settings import Settings, nearest
from infolm_metric.kernel.evaluate_processes import FEATURES, gather_pairs
from infolm_metric.kernel.pairs import Pairs, check_pairs
from infolm_metric.kernel.ranks import check_held, number_of_ranks, score_held

_DESCRIPTION = """\
InfoLM compares a text with a reference through a masked language model. Each token is masked in
turn; what the model predicts in its place, averaged over the text, is a distribution over the
vocabulary; an information measure compares the distribution of the text with that of its
reference. A score is 0 for equal texts, and lower is better. It rewards the same meaning in other
words, and was made for summaries and for texts written from data.
"""

_CITATION = r"""
@inproceedings{colombo2022infolm,
  title = {{InfoLM}: A New Metric to Evaluate Summarization \& Data2Text Generation},
  author = {Colombo, Pierre and Clavel, Chlo{\'e} and Piantanida, Pablo},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume = {36},
  number = {10},
  pages = {10554--10562},
  year = {2022},
  doi = {10.1609/aaai.v36i10.21299},
}
@software{infolm_metric,
  title = {infolm: {InfoLM} as an evaluate metric},
  author = {{The infolm authors}},
  year = {2026},
  license = {Apache-2.0},
}
"""

_INPUTS_DESCRIPTION = """
Args:
    predictions (list of str): the texts to judge, at least one.
    references (list of str, or list of lists of str): for each prediction its reference, or its
        references, at least one each.

    Every setting below can be given to `compute`, and to `evaluate.load` or `InfoLM`, where it
    becomes the default of every `compute`. Those that shape the score:

    information_measure (str or list of str): fisher_rao_distance (default), kl_divergence,
        alpha_divergence, renyi_divergence, beta_divergence, ab_divergence, l1_distance,
        l2_distance or l_infinity_distance. A list is computed in one pass of the model.
    alpha (float): needed by alpha_divergence, renyi_divergence and ab_divergence.
    beta (float): needed by beta_divergence and ab_divergence.
    temperature (float): > 0; what the logits are divided by; default 1.0.
    idf (bool, str or IDF): where the weights of tokens come from. "references" or True (default):
        inverse document frequencies in the references, for both sides. "separate": each side's
        own. False: uniform. An `infolm_metric.IDF`, or the path of a saved one.
    symmetrize (str): "jeffreys" (default), "jensen", "none" (from reference to prediction) or
        "reverse". The four distances ignore it.
    multi_reference (str): "min" (default) or "mean" over the references of a prediction.
    similarity (bool): give also 1 - score / largest value, where higher is better; only for
        measures with a largest value. Default False.

    Those that choose the model and how it reads:

    model_name_or_path (str): a folder, a name on the Hugging Face Hub, or "bundled", the small
        English model in the package, which needs no network. Default: the environment variable
        INFOLM_MODEL, else google-bert/bert-base-uncased.
    model_revision (str): branch, tag or commit of a model on the Hub.
    max_length (int): longest text in tokens, special ones included; default: the model's limit.
    long_text (str): for longer texts "truncate" (default), "window" or "error".

    Those that trade time for memory, and what is returned or shown:

    masks_per_pass (int): tokens of a text that are masked at once. 1, the default, is InfoLM; more
        is an approximation that is faster, named in the signature.
    batch_size (int or "auto"): masked contexts in a forward pass.
    device (str): such as "cpu" or "cuda:0". Default: the current GPU if it has room beside what
        others hold there, else the CPU.
    dtype (str): "float32" (default), "bfloat16" or "float16".
    tokenize_processes (int): processes that tokenise a large corpus.
    reuse_memory (int): bytes of distributions kept for texts that come again; default 1 GiB.
    return_scores (bool): give the score of each pair. Default True.
    verbose (bool): show a progress bar, unless evaluate or datasets switch bars off. Default
        False.

    Given to `compute` alone, under torchrun or accelerate launch:

    ranks (str): None (default): this process scores what it was given, whatever others do.
        "share": every rank was given a share, and scores it. "same": every rank was given all the
        pairs, as a Trainer does, and the ranks divide the work. All ranks must call `compute`.
    gather (str): which ranks get the result: "all" (default; "main" if num_process > 1) or "main".

Returns:
    A dictionary, or None in the processes other than the first if num_process > 1 or
    gather="main":

    infolm (float): the mean of the scores. Not below 0; 0 is best.
    scores (list of float): the score of each pair, unless return_scores=False.
    similarity (float), similarities (list of float): with similarity=True; at most 1, the best.
    signature (str): every setting that can change a score, the model and the versions. Report it
        with the score.

    For a list of measures, the numbers are in dictionaries from the name of the measure.

Raises:
    TypeError, ValueError: an argument or a setting is wrong; found before a model is loaded. What
        was added with `add` and `add_batch` remains, the arguments of the failing call do not.
    OSError: the model is not there.

Examples:

    >>> from infolm_metric import InfoLM
    >>> infolm = InfoLM(model_name_or_path="bundled")  # or evaluate.load("infolm", ...)
    >>> results = infolm.compute(
    ...     predictions=["The cat sat on the mat.", "It rained all day."],
    ...     references=["The cat sat on the mat.", "The sun shone from morning to evening."],
    ... )
    >>> list(results)
    ['infolm', 'scores', 'signature']
    >>> results["scores"][0], results["scores"][1] > 0
    (0.0, True)

    Several references, two measures in one pass, other settings:

    >>> results = infolm.compute(
    ...     predictions=["It rained all day."],
    ...     references=[["It was dry all day.", "It rained all day."]],
    ...     information_measure=["l1_distance", "kl_divergence"],
    ...     temperature=1.5,
    ... )
    >>> results["scores"]
    {'l1_distance': [0.0], 'kl_divergence': [0.0]}

    Pair by pair, or batch by batch:

    >>> for prediction, reference in [("A dog barks.", "A dog barks."), ("Rain.", "Rain.")]:
    ...     infolm.add(prediction=prediction, reference=reference)
    >>> infolm.compute(return_scores=False)["infolm"]
    0.0
"""

__test__ = {"inputs_description": _INPUTS_DESCRIPTION}  # its examples are doctests

_ONE_REFERENCE = datasets.Features(
    {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
)
_INPUTS = tuple(_ONE_REFERENCE)
_NAMES_ELSEWHERE = {  # what other metrics call the inputs
    **dict.fromkeys(("candidate", "candidates", "cands", "hypotheses", "hyps"), "predictions"),
    **dict.fromkeys(("refs", "target", "targets", "labels"), "references"),
}


class InfoLM(evaluate.Metric):
    """The metric: `compute(predictions=[...], references=[...])` gives scores, lower is better.

    Args:
        given: settings, by name, which become the defaults of every `compute`; and what every
            metric of evaluate takes: config_name, keep_in_memory, cache_dir, num_process,
            process_id, seed, experiment_id, hash, max_concurrent_cache_files, timeout.

    Pairs wait in memory. Nothing is written to disk, except where num_process > 1: then the
    processes meet in `compute`, each within `timeout` seconds of the first, and hand their pairs to
    process 0 through locked files in `cache_dir`.

    Raises TypeError or ValueError if a setting is unknown or wrong. No model is loaded yet.

    >>> InfoLM(temperature=0)
    Traceback (most recent call last):
    ValueError: temperature must be > 0, got 0; the paper finds the best in [1, 2]
    """

    def __init__(self, config_name: str | None = None, **given: Any) -> None:
        if config_name not in (None, "default"):
            raise ValueError(
                f"InfoLM has no configurations, got config_name={config_name!r}; give settings by "
                'name, such as information_measure="kl_divergence" or model_name_or_path="bundled"'
            )
        own = {name: given.pop(name) for name in tuple(given) if name in _arguments_of_evaluate()}
        self._settings = Settings.of(**given)
        self._scorer: InfoLMScorer | None = None
        self._added: list[Pairs] = []
        super().__init__(config_name, **own)
        self.info.module_name = self.name

    @property
    def name(self) -> str:
        """The metric's name: "infolm", where evaluate would make "info_lm" of the class's."""
        return "infolm"

    @property
    def scorer(self) -> InfoLMScorer:
        """The scorer, which keeps the model between calls; `unload` lets it go."""
        if self._scorer is None:
            self._scorer = InfoLMScorer(**vars(self._settings))
        return self._scorer

    def unload(self) -> None:
        """Nothing; frees the model and what is kept; the next `compute` loads the model again."""
        if self._scorer is not None:
            self._scorer.unload()

    def __len__(self) -> int:
        """The number of pairs added since the last `compute`."""
        return sum(map(len, self._added))

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles carry: all but the scorer, whose model they load themselves.

        `datasets` pickles what a mapped function refers to, to fingerprint it. Methods that
        evaluate has bound to this very metric stay here, too.
        """
        state = {**self.__dict__, "_scorer": None, "_added": list(self._added)}
        return {name: value for name, value in state.items() if not inspect.ismethod(value)}

    def _info(self) -> evaluate.MetricInfo:
        """The documentation and the two kinds of input."""
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS_DESCRIPTION,
            features=[_ONE_REFERENCE, FEATURES],
            license="Apache-2.0",
            reference_urls=["https://arxiv.org/abs/2112.01589"],
        )

    def _build_data_dir(self) -> str:
        """The folder for the files of several processes; one process makes none."""
        if self.num_process > 1:
            return super()._build_data_dir()
        return os.path.join(self._data_dir_root, self.name, self.config_name)

    # evaluate extends the docstrings of the next three by the inputs description.

    def add(self, *, prediction: Any = None, reference: Any = None, **other: Any) -> None:
        """Nothing; keeps one prediction and its reference, or references, for `compute`.

        The names `predictions` and `references` do as well: so calls `evaluate.combine`.
        """
        pair = {"predictions": prediction, "references": reference}
        _check_names("add", other, _INPUTS)
        for name, value in other.items():
            if pair[name] is not None:
                raise TypeError(f"add got both {name.removesuffix('s')} and {name}; give one")
            pair[name] = value
        self._keep(check_pairs([pair["predictions"]], [pair["references"]]))

    def add_batch(self, *, predictions: Any = None, references: Any = None, **other: Any) -> None:
        """Nothing; keeps predictions and their references for `compute`."""
        _check_names("add_batch", other, _INPUTS)
        self._keep(check_pairs(predictions, references))

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        ranks: str | None = None,
        gather: str | None = None,
        **settings: Any,
    ) -> dict[str, Any] | None:
        """Scores of the pairs added before and of those given here; forgets them if all went well.

        Settings given here hold for this call; `ranks` and `gather` are those of
        `distributed_score`.
        """
        if ranks is not None:
            return self._compute_on_ranks(predictions, references, ranks, gather, settings)
        if gather is not None:
            raise ValueError(f'gather={gather!r} needs ranks="share" or ranks="same"')
        checked = self._checked(settings)
        pairs = _joined(self._added)
        if predictions is not None or references is not None:
            given = check_pairs(predictions, references)
            self._check_kind(given)
            pairs = _joined([pairs, given])
        if self.num_process > 1:
            gathered = gather_pairs(self, pairs)
            if gathered is None:
                self._added = []
                return None
            # The others keep theirs no longer, so here they wait if something fails from now on.
            self._added += [_from(gathered, len(pairs))] if len(gathered) > len(pairs) else []
            pairs = gathered
        if not pairs:
            raise ValueError(
                "there is nothing to compute; give predictions and references, "
                "or add them before with add or add_batch"
            )
        result = self._compute(
            predictions=pairs.predictions,
            references=pairs.references if pairs.several else _flat(pairs.references),
            **{name: getattr(checked, name) for name in settings},
        )
        self._added = []
        return result

    def _compute(self, *, predictions: Any = None, references: Any = None, **settings: Any) -> Any:
        """The dictionary that `compute` returns, for all pairs."""
        if not is_progress_bar_enabled():
            settings["verbose"] = False
        result = self.scorer.score(predictions, references, **settings)
        wanted = settings.get("return_scores", self._settings.return_scores)
        return result.as_dict(return_scores=wanted)

    def _compute_on_ranks(
        self,
        predictions: Any,
        references: Any,
        ranks: str,
        gather: str | None,
        settings: dict[str, Any],
    ) -> dict[str, Any] | None:
        """The dictionary that `compute` returns, for the pairs of all ranks; None without it."""

        def hold() -> tuple[Pairs, Settings]:
            if self.num_process not in (1, number_of_ranks()):
                raise ValueError(
                    f"num_process={self.num_process}, but torch.distributed has "
                    f"{number_of_ranks()} ranks; leave ranks out, and the processes meet through "
                    "files as evaluate does, or leave num_process out"
                )
            chosen = self._checked(settings)
            given = check_held(predictions, references)
            if given:
                self._check_kind(given)
            shown = chosen.verbose and is_progress_bar_enabled()
            return _joined([*self._added, given]), chosen.replace(verbose=shown)

        gather = gather or ("main" if self.num_process > 1 else "all")
        result = score_held(self.scorer, hold, ranks=ranks, gather=gather)
        self._added = []
        wanted = settings.get("return_scores", self._settings.return_scores)
        return None if result is None else result.as_dict(return_scores=wanted)

    def _checked(self, settings: dict[str, Any]) -> Settings:
        """The settings of a call to `compute`."""
        _check_names("compute", settings, (*_INPUTS, "ranks", "gather", *vars(self._settings)))
        return self._settings.replace(**settings)

    def _keep(self, pairs: Pairs) -> None:
        self._check_kind(pairs)
        self._added.append(pairs)

    def _check_kind(self, pairs: Pairs) -> None:
        """Nothing; raises ValueError if strings and lists would be mixed."""
        if self._added and self._added[0].several != pairs.several:
            kinds = ("strings", "lists of strings")
            raise ValueError(
                f"references were {kinds[not pairs.several]} in what was added before and are "
                f"{kinds[pairs.several]} now; give all of them as {kinds[not pairs.several]}, "
                "or compute what was added first"
            )


def _arguments_of_evaluate() -> Collection[str]:
    """The names of what the constructor of every metric takes."""
    parameters = inspect.signature(evaluate.Metric.__init__).parameters.values()
    return [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]


def _check_names(method: str, given: Iterable[str], known: tuple[str, ...]) -> None:
    """Nothing; raises TypeError if a name is none of the known ones, with the nearest of them."""
    for name in given:
        if name not in known:
            hint = nearest(_NAMES_ELSEWHERE.get(name, name), known)
            raise TypeError(f"{method} got an unknown argument {name!r}; {hint}")


def _joined(parts: Iterable[Pairs]) -> Pairs:
    """All pairs, one part after the other."""
    parts = list(parts)
    return Pairs(
        list(chain.from_iterable(part.predictions for part in parts)),
        list(chain.from_iterable(part.references for part in parts)),
        any(part.several for part in parts),
    )


def _from(pairs: Pairs, start: int) -> Pairs:
    """The pairs from position `start` on."""
    return Pairs(pairs.predictions[start:], pairs.references[start:], pairs.several)


def _flat(references: list[list[str]]) -> list[str]:
    """The only reference of each prediction."""
    return [text for (text,) in references]
