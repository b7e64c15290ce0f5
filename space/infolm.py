"""InfoLM for `evaluate.load("infolm")`: the metric of the installed package infolm-metric."""

from infolm_metric.infolm_metric import InfoLM

__all__ = ["InfoLM"]
