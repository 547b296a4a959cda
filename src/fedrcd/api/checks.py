"""Checks of the assumptions behind a discovery: `fedrcd.check`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.api.describe import Background, discovery_of
from fedrcd.api.discover import BY_BOOTSTRAP, by_bootstrap
from fedrcd.api.discovery import Discovery, require_level
from fedrcd.api.masks import require_no_checks
from fedrcd.api.progress import Progress, reporters
from fedrcd.api.tables import prepare
from fedrcd.confidence.checks import Check, Findings, assess, no_residuals
from fedrcd.errors import ConfigError
from fedrcd.methods.deflations.pairs import ask_pairs
from fedrcd.methods.settings import AUTO, Settings, with_settings
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run as drive
from fedrcd.runs.finding import Checked, Finding
from fedrcd.runs.replay import Remembering
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


@with_settings
def check(
    tables: Any,
    method: str | Discovery = AUTO,
    *,
    level: float = 0.05,
    progress: Progress | bool | None = None,
    **settings: Any,
) -> Checks:
    """Test the assumptions behind a discovery, in one round after it; rows with missing values are left out.

    Parameters
    ----------
    tables, progress, **settings
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
    with reporters(progress) as report:
        if isinstance(method, Discovery):
            return _check_given(tables, method, settings, level, report.of_traffic)
        prepared = prepare(tables, Settings.of(method, **settings), progress=report.of_traffic)
        require_no_checks(prepared.transport)
        found = prepared.run.find(check=True)
    return checks_of(found, prepared.background(), level, warn=2)


def checks_of(finding: Finding, background: Background, level: float = 0.05, *, warn: int = 0) -> Checks:
    """The checks in what a run found that was asked for them; `warn` as of `discovery_of`."""
    if finding.checked is None:
        raise ConfigError("the run asked for nothing that assumptions could be checked by")
    return judge(discovery_of(finding, background, warn=warn and warn + 1), finding.checked, level)


def judge(found: Discovery, checked: Checked, level: float) -> Checks:
    """The verdicts from residual sums, or from the reason why there are none."""
    costs = checked.rounds, checked.bytes_sent
    if checked.residuals is None:
        return Checks(found, (*no_residuals(checked.problem, found.names), checked.scale), None, *costs)
    residuals = checked.residuals.of_first(len(found.names))  # given their past, those of now are as a sample
    findings = assess(residuals, found.names, _places(found), found.B != 0, checked.scale, level)
    return Checks(found, findings.checks, findings, *costs)


def _check_given(
    tables: Any, found: Discovery, given: dict[str, Any], level: float, progress: Progress | None
) -> Checks:
    """Check a discovery that was made before, as it was made: moments in one round, residuals in another."""
    made = Settings.recalled(found.settings, **{**found.options, "variables": found.names, "method": found.method})
    if made.weights == BY_BOOTSTRAP:
        made = by_bootstrap(made)[1]
    run = prepare(tables, Settings.of(**{**made.arguments(), **given}), progress=progress).run
    require_no_checks(run.transport)
    heard, order = Remembering(run.transport), _places(found)
    _, marginals = drive(ask_pairs(run.setting, 2, "plug-in", complete=True), heard)
    before = replace(heard.traffic)
    whole = np.array([*run.setting.past_variables, *order], dtype=np.int64)
    checked = run.check(Estimate(whole, found.B, (), marginals, whole), None)
    rounds, bytes_sent = before.rounds + checked.rounds, before.bytes_sent + checked.bytes_sent
    return judge(found, replace(checked, rounds=rounds, bytes_sent=bytes_sent), level)


def _places(found: Discovery) -> IntVector:
    """The order of a discovery, as numbers of its variables."""
    return np.array([found.names.index(name) for name in found.order])
