"""Every exception and warning of the package.

::

    FedrcdError                     exit code 1
    ├── ConfigError (ValueError)            2  a setting, an option or a method name is wrong
    ├── DataError (ValueError)              3  a table cannot be used: columns, types, values, too few rows
    ├── FileError (OSError)                 4  a file cannot be read or written
    ├── StatisticError (ArithmeticError)    5  the sums do not allow an answer: collinear, inconsistent, overflow
    └── ProtocolError (RuntimeError)        6  a question or an answer breaks the protocol, or a site refuses

    FedrcdWarning (UserWarning)
    ├── IdentifiabilityWarning      the data may not determine the order
    ├── CoverageWarning             some rows or combinations of columns could not be used as they are
    ├── OutlierWarning              some rows hold values far apart from all others, or were left out
    ├── SitesWarning                variables cannot be the same quantity at all sites
    └── ScaleWarning                the scale of the variables may have decided the order

Messages say what was required, what came and what to do. They name files, columns, sites and settings, and
never contain a value of the data. Bugs stay `AssertionError` and `TypeError`.
"""

from __future__ import annotations


class FedrcdError(Exception):
    """Root of everything this package raises on purpose."""

    exit_code = 1


class ConfigError(FedrcdError, ValueError):
    """A setting, an option or a method name is wrong."""

    exit_code = 2


class DataError(FedrcdError, ValueError):
    """A table cannot be used as it is."""

    exit_code = 3


class FileError(FedrcdError, OSError):
    """A file cannot be read or written."""

    exit_code = 4


class StatisticError(FedrcdError, ArithmeticError):
    """The sums do not allow an answer."""

    exit_code = 5


class ProtocolError(FedrcdError, RuntimeError):
    """A question or an answer breaks the protocol, or a site refuses to answer."""

    exit_code = 6


class FedrcdWarning(UserWarning):
    """Root of the package's warnings."""


class ModelWarning(FedrcdWarning):
    """The data speak against the model."""


class IdentifiabilityWarning(FedrcdWarning):
    """The data may not determine the causal order."""


class ScaleWarning(FedrcdWarning):
    """The scale of the variables, rather than their causal relations, may have decided the order."""


class OutlierWarning(FedrcdWarning):
    """Some rows hold values far apart from all others, or were left out for it."""


class SitesWarning(FedrcdWarning):
    """Variables cannot be the same quantity at all sites: other units, other levels or other spreads."""


class CoverageWarning(FedrcdWarning):
    """Some rows or combinations of columns could not be used as they are."""
