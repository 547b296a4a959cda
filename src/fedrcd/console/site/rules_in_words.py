"""The rules of disclosure, as the people see them who decide on a question."""

from __future__ import annotations

from collections.abc import Iterable

WORDS = {
    "trust": "it depends on no numbers of the coordinator's choice, or the coordinator is trusted",
    "gaps": "missing values are not filled: rows with one are left out",
    "trim": "rows far out are left out always in the same way, or never",
    "rows": "there are enough complete rows",
    "frame": "the units are those of the federation file, and the first in which sums left",
    "frame or none": "the units are those of the federation file, or none",
    "grid": "numbers are rounded in one of the known ways",
    "tensor rows": "there are enough rows for sums of up to four variables",
    "pair cells": "no level, or pair of levels, of few-level columns is shared by only a few rows",
    "quadruple cells": "the same for up to four few-level columns together",
    "joint cells": "the same for all few-level columns together",
    "own moments": "the means and variances over all sites are near those of the rows here",
    "one chain": "the same rows are asked about along one order only",
    "noise": "where this site answers with noise, sums leave with it, and what it costs is charged before",
    "one path": "the same rows are asked about under a few whitenings only",
    "pair map": "residuals are those of least squares, and follow from the round before",
    "entropy map": "residuals are those of least squares, and follow from the round before",
    "move map": "residuals are those that moving one variable can meet",
    "whitening": "after whitening, no few rows stand out",
    "order": "checks follow the order that the run found",
    "checks": "only a few different checks were answered about these rows",
    "split": "rows are split into groups once, always in the same way",
    "groups": "every group of rows keeps the rules as if it were alone",
}
"""By the names under which questions know them."""

ALWAYS = (
    "these rows differ from all earlier editions in nobody, or in many persons",
    "the log and the store are those that answered before",
    "the budget allows it",
)
"""What is looked at whatever is asked."""


def in_words(rules: Iterable[str]) -> list[str]:
    """What was checked, a sentence each."""
    return [*(WORDS[name] for name in rules), *ALWAYS]
