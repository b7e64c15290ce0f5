"""A model that is kept between calls, with the files that it was read from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from infolm_metric.kernel.model_settings import ModelSettings
from infolm_metric.kernel.reuse import Store


class Source(Protocol):
    """A model's tokenizer with its facts, read without its weights."""

    @property
    def changed(self) -> bool:
        """True if the files are no longer those that were read."""


Opened = TypeVar("Opened", bound=Source)
Model = TypeVar("Model")


class KeptModel(ABC, Generic[Opened, Model]):
    """A model, what it was read from, and a store of what it gave; a metric says how to read it.

    Every method is told the settings of the call. While a model is kept, its files are taken for
    what they were when it was loaded; other ones may lie in the folder since.
    """

    def __init__(self) -> None:
        self.unload()

    def unload(self) -> None:
        """Free the model and what is kept of texts; the next call reads its files again."""
        self._store = Store(0)
        self._opened: Opened | None = None  # what was last looked at, loaded or not
        self._opened_key: tuple[Any, ...] = ()
        self._loaded: tuple[Opened, Model] | None = None
        self._loaded_key: tuple[Any, ...] = ()

    @abstractmethod
    def _open(self, settings: Any) -> Opened:
        """The tokenizer of the model that the settings name, with its facts."""

    @abstractmethod
    def _load(self, opened: Opened, settings: Any) -> Model:
        """The model of what was opened, in evaluation mode; its files did not change meanwhile."""

    def _named(self, settings: Any) -> tuple[Any, ...]:
        """What `_open` looks at of the settings."""
        return settings.model_name_or_path, settings.model_revision

    def opened(self, settings: ModelSettings) -> Opened:
        """What the model is loaded from, or was; opened again only if its files have changed."""
        key = self._named(settings)
        if self._loaded and key == self._loaded_key[0]:
            return self._loaded[0]
        if self._opened is None or key != self._opened_key or self._opened.changed:
            self._opened, self._opened_key = self._open(settings), key
        return self._opened

    def model(self, settings: ModelSettings) -> Model:
        """The model, loaded unless the last call used the same one."""
        key = (self._named(settings), settings.device, settings.dtype)
        if self._loaded and key != self._loaded_key:
            self.unload()
        if not self._loaded:
            opened = self.opened(settings)
            self._store = Store(0)
            self._loaded = opened, self._load(opened, settings)
            self._loaded_key = key
        return self._loaded[1]
