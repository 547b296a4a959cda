"""Checks of the assumptions behind a discovery: `fedrcd.check`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.api.discover import BY_BOOTSTRAP, SELECT_BY_BOOTSTRAP
from fedrcd.api.discovery import Discovery, require_level
from fedrcd.api.prepare import RUN_SETTINGS, Prepared, prepare
from fedrcd.api.progress import told
from fedrcd.api.settings import recalled
from fedrcd.errors import ConfigError
from fedrcd.methods.auto import AUTO
from fedrcd.methods.checks import (
    Check,
    Findings,
    Remembering,
    ask_residuals,
    assess,
    no_residuals,
    scale_check,
    single_round,
)
from fedrcd.methods.deflations.pairs import ask_pairs
from fedrcd.methods.skeleton import Estimate, Marginals
from fedrcd.protocol.combine import NobodyAnswers
from fedrcd.protocol.driver import run
from fedrcd.protocol.transport import Traffic
from fedrcd.statistics.residual_sums import ResidualSums
from fedrcd.typing import IntVector

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Checks:
    """What the data say about the assumptions behind a discovery.

    Attributes
    ----------
    discovery : Discovery
        What was checked.
    checks : tuple of Check
        One per assumption, each with `verdict`, `finding`, `meaning` and `advice`.
    rounds, bytes_sent
        What the checks cost beyond the discovery.
    """

    discovery: Discovery
    checks: tuple[Check, ...]
    findings: Findings | None
    rounds: int
    bytes_sent: int

    def __getitem__(self, name: str) -> Check:
        """The check of that name."""
        for check in self.checks:
            if check.name == name:
                return check
        raise ConfigError(f"there is no check {name!r}; the checks are {', '.join(c.name for c in self.checks)}")

    @property
    def doubtful(self) -> list[str]:
        """Names of the checks that failed."""
        return [check.name for check in self.checks if check.verdict == "doubtful"]

    def residuals(self) -> pd.DataFrame:
        """Skewness and excess kurtosis of every residual with standard errors, and the p-value of a Gaussian one."""
        import pandas as pd

        found = self._found().residuals
        return pd.DataFrame(found._asdict(), index=list(self.discovery.names))

    def independence_p_values(self) -> pd.DataFrame:
        """P-values of independence of each pair of residuals; NaN where the data cannot tell."""
        return self._frame(self._found().independence)

    def linearity_p_values(self) -> pd.DataFrame:
        """P-values against a quadratic part, row i and column j for j -> i; NaN where the data cannot tell."""
        return self._frame(self._found().linearity)

    def to_dict(self) -> dict[str, Any]:
        """The verdicts, for programs."""
        return {
            "format": "fedrcd-checks/1",
            "method": self.discovery.method,
            "rounds": self.rounds,
            "bytes_sent": self.bytes_sent,
            "checks": [asdict(check) for check in self.checks],
        }

    def __str__(self) -> str:
        lines = []
        for check in self.checks:
            p = "" if check.p_value is None else f" (p = {check.p_value:.2g})"
            lines.append(f"{check.name}: {check.verdict}{p}: {check.finding}")
            if check.verdict == "doubtful":
                lines += [f"  means: {check.meaning}", f"  do:    {check.advice}"]
        return "\n".join(lines)

    def _found(self) -> Findings:
        if self.findings is None:
            raise ConfigError("no site holds complete rows, so residuals could not be tested")
        return self.findings

    def _frame(self, tests: Any) -> pd.DataFrame:
        import pandas as pd

        names = list(self.discovery.names)
        return pd.DataFrame(np.where(tests.tells, tests.p_values, np.nan), index=names, columns=names)


def check(tables: Any, method: str | Discovery = AUTO, *, level: float = 0.05, **settings: Any) -> Checks:
    """Test the assumptions behind a discovery, in one round after it; rows with missing values are left out.

    Parameters
    ----------
    tables, **settings
        As for `discover`.
    method : str or Discovery
        What to run and check; or a discovery of these tables, whose order and edges are checked, with its settings.
    level : float
        Share of false alarms allowed, per check.

    Examples
    --------
    >>> import fedrcd
    >>> from fedrcd.data.examples import example_paths
    >>> [check.name for check in fedrcd.check(example_paths()).checks]
    ['non-gaussian', 'independence', 'linearity', 'sites alike', 'scale']
    """
    require_level(level)
    with told(settings.pop("progress", None)) as tell:
        given = {name: settings.pop(name) for name in RUN_SETTINGS if name in settings}
        given["progress"] = tell.of_traffic
        if isinstance(method, Discovery):
            return _check_given(tables, method, given, settings, level)
        return _check_anew(tables, method, given, settings, level)


def _check_anew(tables: Any, method: str, given: dict[str, Any], options: dict[str, Any], level: float) -> Checks:
    """Discover, and check what was found: residuals in one round more."""
    prepared = prepare(tables, method, options, **given)
    transport = Remembering(prepared.transport, [])
    estimate = run(prepared.parts.rounds(prepared.setting), transport)
    found = prepared.discovery(estimate)
    first = transport.answers[-1] if single_round(prepared.card) else None
    scale = scale_check(prepared.card, prepared.parts, prepared.setting, estimate, first)
    return _checked(prepared, found, estimate.marginals, scale, level, replace(prepared.transport.traffic))


def _check_given(tables: Any, found: Discovery, given: dict[str, Any], changed: dict[str, Any], level: float) -> Checks:
    """Check a discovery that was made before, as it was made: moments in one round, residuals in another."""
    options = dict(found.options)
    if options.get("weights") == BY_BOOTSTRAP:
        options = {k: value for k, value in options.items() if k != "weights" and k not in SELECT_BY_BOOTSTRAP}
    options |= changed
    prepared = prepare(tables, found.method, options, **{**recalled(found), **given})
    _, marginals = run(ask_pairs(prepared.setting, 2, "plug-in", complete=True), prepared.transport)
    scale = scale_check(prepared.card, prepared.parts, prepared.setting, _order_only(found, marginals), None)
    return _checked(prepared, found, marginals, scale, level, Traffic())


def _order_only(found: Discovery, marginals: Marginals) -> Estimate:
    """A discovery as the estimate it came from, as far as its order."""
    order = _places(found)
    return Estimate(order, found.B, (), marginals, order)


def _checked(
    prepared: Prepared, found: Discovery, marginals: Marginals, scale: Check, level: float, before: Traffic
) -> Checks:
    """Ask for the residuals and judge; the checks cost what the traffic has grown since `before`."""
    traffic = prepared.transport.traffic
    sums: ResidualSums | str
    try:
        sums = run(ask_residuals(prepared.setting, marginals, _places(found)), prepared.transport)
    except NobodyAnswers as problem:
        sums = str(problem)
    rounds, bytes_sent = traffic.rounds - before.rounds, traffic.bytes_sent - before.bytes_sent
    return judge(found, sums, scale, level, rounds=rounds, bytes_sent=bytes_sent)


def judge(
    found: Discovery, sums: ResidualSums | str, scale: Check, level: float, *, rounds: int, bytes_sent: int
) -> Checks:
    """The verdicts from residual sums, or from the reason why there are none."""
    if isinstance(sums, str):
        return Checks(found, (*no_residuals(sums, found.names), scale), None, rounds, bytes_sent)
    findings = assess(sums, found.names, _places(found), found.B != 0, scale, level)
    return Checks(found, findings.checks, findings, rounds, bytes_sent)


def _places(found: Discovery) -> IntVector:
    """The order of a discovery, as numbers of its variables."""
    return np.array([found.names.index(name) for name in found.order])
