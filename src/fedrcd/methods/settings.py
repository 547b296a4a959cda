"""The settings of a discovery: one value for Python, the command line, runs over machines, ledgers and the record.

Nothing heavy is imported here until settings are checked: the command line reads its options off this class before it
knows what it will do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from fedrcd.errors import ConfigError

AUTO = "auto"
"""Asked for instead of a method: have one chosen."""

WithinSetting = Literal["none", "centre", "standardise", "auto"]
MissingValues = Literal["complete", "expected", "available"]
Arithmetic = Literal["float", "exact", "compact"]

BOOTSTRAP = "bootstrap"
"""Under which a result records how its replicates were drawn; no setting of the run on all rows."""

EPSILON, DELTA = "epsilon", "delta"
"""Options of a discovery under noise."""
ACCOUNT, BUDGET = "account", "epsilon_budget"
"""Where it is charged, and how much may be spent there: no options of the method."""

MOST_LAGS = 5
"""Steps of time that rows go back at most where the number is chosen."""

F = TypeVar("F", bound=Callable[..., Any])


class Flag(NamedTuple):
    """How the command line takes a setting: the name of its option, the kind of its values, and the help for it."""

    name: str
    kind: Any
    help: str


def _setting(default: Any, kind: Any = None, help: str = "", *, flag: str = "") -> Any:  # noqa: A002 - as typer has it
    """A field, with its option if the command line has one."""
    metadata = {"kind": kind, "help": help, "flag": flag}
    return (
        field(default_factory=dict, metadata=metadata) if default is dict else field(default=default, metadata=metadata)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that decides what a discovery finds in its rows.

    `fedrcd.discover` says what each of them means. `options` are those of the method alone, and of edge selection by
    bootstrap.
    """

    method: str = _setting(AUTO, str, "Name of a method, or auto; see `fedrcd methods`.")
    weights: str = _setting(AUTO, str, "Edge selection: auto, guarded, adaptive-lasso, bic, bootstrap or none.")
    penalty: float = _setting(0.01, float, "Penalty of the adaptive lasso, in mean standard deviations.")
    options: Mapping[str, Any] = _setting(
        dict, list[str], "Another option of the method, NAME=VALUE; may be repeated.", flag="option"
    )
    variables: Sequence[str] | None = _setting(None)
    drop: Sequence[str] = _setting((), list[str], "Column to leave out; may be repeated.")
    trim: float | None = _setting(
        None, float, "Leave out rows with a value this many robust scales out; 8 for gross errors."
    )
    within: WithinSetting = _setting("none", str, "Where sites differ: none, centre, standardise or auto.")
    missing: MissingValues = _setting(
        "complete", str, "Missing values: complete (rows left out), expected or available."
    )
    missing_codes: Sequence[float] = _setting(
        (), list[float], "A value that stands for a missing one; may be repeated.", flag="missing_code"
    )
    arithmetic: Arithmetic = _setting("float", str, "How sums are computed: float, exact or compact.")
    frame: Any = _setting(None)
    masked: bool = _setting(False, bool, "Add sums under masks, so that nothing but their total is seen.")
    lags: int | Literal["auto"] = _setting(0, str, "Steps of time that every row goes back, or auto.")
    time: str = _setting("", str, "Column of times: numbers, dates or ISO 8601.")
    subject: str = _setting("", str, "Column of subjects, each with a series of its own.")
    waves: bool = _setting(False, bool, "A row per subject and columns per time: effects from wave to wave.")
    hidden: bool = _setting(False, bool, "Look for causes that were not measured, in one round.")
    stack: bool = _setting(False, bool, "Let a method for one table stack several.")
    knowledge: Any = _setting(None, "path", "TOML file of prior knowledge about the graph, which is enforced.")

    @classmethod
    def of(cls, method: Any = AUTO, **given: Any) -> Settings:
        """Settings from the arguments of a call: what is no setting is an option of the method."""
        own = {name: value for name, value in given.items() if name in ARGUMENTS}
        return cls(method=method, **own, options={name: value for name, value in given.items() if name not in own})

    @classmethod
    def recalled(cls, record: Mapping[str, Any], **more: Any) -> Settings:
        """Settings from what a result recorded of them, and others beside."""
        content: dict[str, Any] = {name: value for name, value in record.items() if name != BOOTSTRAP}
        return cls.of(**{**content, "knowledge": _known(content.get("knowledge")), **more})

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Settings:
        """The settings that `as_dict` gave, possibly by way of JSON."""
        several: dict[str, Any] = {name: tuple(content[name]) for name in ("drop", "missing_codes")}
        several["variables"] = None if content["variables"] is None else tuple(content["variables"])
        several["frame"] = content["frame"] and {name: tuple(one) for name, one in content["frame"].items()}
        return cls(**{**content, **several, "knowledge": _known(content["knowledge"])})

    def as_dict(self) -> dict[str, Any]:
        """All settings, as JSON has them."""
        content = {name: getattr(self, name) for name in NAMES}
        known = self.knowledge
        return {**content, "options": dict(self.options), "knowledge": None if known is None else asdict(known)}

    def arguments(self) -> dict[str, Any]:
        """The settings as arguments of `discover`."""
        return {**{name: getattr(self, name) for name in ("method", *ARGUMENTS)}, **self.options}

    @property
    def method_options(self) -> dict[str, Any]:
        """All options that the method is built with."""
        own = {name: value for name, value in self.options.items() if name not in (ACCOUNT, BUDGET)}
        looked_for = {"hidden": True} if self.hidden else {}
        own = own if self.wants_noise else dict(self.options)
        return {"weights": self.weights, "penalty": self.penalty, **looked_for, **own}

    def recorded(self) -> dict[str, Any]:
        """How rows are taken and what is known, as far as it is not by default, as JSON has it."""
        import numpy as np

        values = {name: getattr(self, name) for name in RECORDED}
        values |= {"drop": list(self.drop), "missing_codes": np.atleast_1d(self.missing_codes).tolist()}
        values["frame"] = None if self.frame is None else {name: list(one) for name, one in self.frame.items()}
        changed = {name: value for name, value in values.items() if value not in (DEFAULTS[name], [], None)}
        if "knowledge" in changed:
            changed["knowledge"] = {name: value for name, value in asdict(changed["knowledge"]).items() if value}
        return changed

    def changed(self, names: Iterable[str]) -> list[str]:
        """Which of some settings are not those by default."""
        return [name for name in names if not _same(getattr(self, name), DEFAULTS[name])]

    def check(self) -> None:
        """Raise for a wrong name, setting or option, before anything is read."""
        if not isinstance(self.method, str):
            raise ConfigError("method must be a name; several tables go in one list: discover([a, b])")
        if self.method.endswith((".csv", ".gz", ".tsv", ".parquet")):
            raise ConfigError(
                f"method must be a name, got {self.method!r}; several tables go in one list: discover([a, b])"
            )
        self.check_within()
        _require_one_of("missing", self.missing, get_args(MissingValues))
        self.check_arithmetic()
        if self.missing == "expected" and self.arithmetic != "float":
            raise ConfigError("missing='expected' fills gaps by float64 moments; it needs arithmetic='float'")
        trim = self.trim
        if trim is not None and not (isinstance(trim, Real) and not isinstance(trim, bool) and float(trim) > 0):
            raise ConfigError(f"trim must be a number above 0, got {trim!r}")
        self._check_lags()
        for name in ("stack", "masked", "hidden", "waves"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if self.masked:
            self._check_masked()
        if self.hidden:
            self._check_hidden()
        if self.wants_noise:
            self._check_noise()
        else:
            self.check_options()

    @property
    def wants_noise(self) -> bool:
        """Whether sums are to leave with noise on them."""
        return EPSILON in self.options

    def under_noise(self) -> Settings:
        """The settings with the method of noise, if they want it and leave it open."""
        from fedrcd.methods.registry import PRIVATE

        return replace(self, method=next(iter(PRIVATE))) if self.wants_noise and self.method == AUTO else self

    def check_over_machines(self) -> Settings:
        """Raise for a method or an option that there is not, or not for sites on machines; the settings with noise."""
        if not self.wants_noise:
            self.check_options()
            return self
        for name in (ACCOUNT, BUDGET):
            if name in self.options:
                raise ConfigError(
                    f"{name} is for tables: each site keeps its own, see `fedrcd site serve --epsilon-budget`"
                )
        self._check_noise(declared=True)
        return self.under_noise()

    def _check_noise(self, *, declared: bool = False) -> None:
        """Raise for what noise does not go with, before anything is spent; `declared`: a file has the frame."""
        from fedrcd.methods.registry import PRIVATE, build
        from fedrcd.statistics.privacy_loss import require_delta, require_epsilon

        if self.method not in (AUTO, *PRIVATE):
            raise ConfigError(f"epsilon goes with method {next(iter(PRIVATE))} or auto; {self.method} adds no noise")
        require_epsilon(self.options[EPSILON])
        if DELTA in self.options:
            require_delta(self.options[DELTA])
        if BUDGET in self.options:
            require_epsilon(self.options[BUDGET], BUDGET)
            if ACCOUNT not in self.options:
                raise ConfigError("epsilon_budget needs an account, account=FILE, where what was spent is written down")
        if self.frame is None and not declared:
            raise ConfigError(
                "epsilon needs a declared frame, frame={name: (centre, scale)}, of what is known without these rows: "
                "one that is made from them tells of them"
            )
        for name in self.changed(("within", "missing", "trim", "lags", "waves", *(() if declared else ("masked",)))):
            raise ConfigError(f"epsilon does not go with {name}: noise is calibrated for rows as they are, added once")
        build(next(iter(PRIVATE)), **self.method_options)

    def __post_init__(self) -> None:
        if isinstance(self.lags, str) and self.lags.isdigit():  # as the command line gives it
            object.__setattr__(self, "lags", int(self.lags))
        if self.hidden is True and self.method == AUTO:
            from fedrcd.methods.registry import first

            object.__setattr__(self, "method", first(lambda card: "hidden" in card.options).name)

    def _check_lags(self) -> None:
        """Raise for a past that cannot be had."""
        lags = self.lags
        if lags != AUTO and not (isinstance(lags, int) and not isinstance(lags, bool) and lags >= 0):
            raise ConfigError(f"lags must be a whole number of steps of time, or auto, got {lags!r}")
        for name in ("time", "subject"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"{name} must be the name of a column, got {getattr(self, name)!r}")
        if self.time and not (lags or self.waves):
            raise ConfigError(f"time={self.time!r} needs lags: how many steps of time a row goes back; or waves=True")
        if self.waves and (lags or not (self.time and self.subject)):
            raise ConfigError(
                "waves=True needs time and subject, the columns of waves and of who was seen, and no lags"
            )
        if lags == AUTO and self.masked:
            raise ConfigError("lags='auto' asks twice, and masked runs ask once; say how many steps back rows go")

    def _check_hidden(self) -> None:
        """Raise for what a search for hidden causes does not go with."""
        if self.lags:
            raise ConfigError("hidden=True is for rows without time; lags=0")
        if self.missing != "complete":
            raise ConfigError("hidden=True tests errors on the same rows; it needs missing='complete'")
        if self.weights != DEFAULTS["weights"]:
            raise ConfigError(f"hidden=True selects effects by itself; it does not go with weights={self.weights!r}")

    def _check_masked(self) -> None:
        """Raise for what masks hide, or cannot hide."""
        if self.within == "auto":
            raise ConfigError(
                "within='auto' asks every site for means and variances of its own, which masks hide; say none, centre "
                "or standardise"
            )
        if self.missing != "complete":
            raise ConfigError(
                f"missing={self.missing!r} cannot be masked: which values a site lacks decides whether it is alone "
                "with a sum, and nobody may know that beforehand; take missing='complete'"
            )

    @property
    def summation(self) -> str:
        """How sums are computed: exactly where they are masked, for masks are whole numbers."""
        return "exact" if self.masked and self.arithmetic == "float" else self.arithmetic

    def check_within(self) -> None:
        """Raise for a way to express rows that there is not."""
        _require_one_of("within", self.within, get_args(WithinSetting))

    def check_arithmetic(self) -> None:
        """Raise for a way to sum that there is not."""
        _require_one_of("arithmetic", self.arithmetic, get_args(Arithmetic))

    def require_selection_here(self) -> None:
        """Raise for edge selection by bootstrap where a run cannot be repeated on its own rows."""
        if self.weights == BOOTSTRAP:
            raise ConfigError(
                "only fedrcd.discover on tables and FedLiNGAM select edges by bootstrap; take `bootstrap` and its "
                "`select`"
            )

    def require_single_sources(self) -> None:
        """Raise for sources taken several at once where sites cannot see why."""
        if self.options.get("layers"):
            raise ConfigError(
                "layers=True is for tables in one process: a site on a machine could not tell why several sources "
                "are taken at once"
            )

    def check_options(self) -> None:
        """Raise for a method that there is not, or an option that it does not have."""
        if self.wants_noise:
            raise ConfigError(
                "noise is for discoveries over tables and machines; a ledger keeps sums as they are, under the "
                "rules of disclosure"
            )
        from fedrcd.methods.registry import find, require_options

        if self.method != AUTO:
            find(self.method)
        require_options(self.method, self.method_options)


NAMES = tuple(one.name for one in fields(Settings))
ARGUMENTS = tuple(name for name in NAMES if name not in ("method", "options"))
"""Arguments of `discover` besides the method and the options of it."""
OF_TABLES = (
    *("drop", "within", "missing", "missing_codes", "trim", "arithmetic", "frame", "masked", "stack"),
    *("lags", "time", "subject", "waves"),
)
"""Settings that say how tables are read."""
RECORDED = (*OF_TABLES, "knowledge")
"""Settings that a result records, beside its method and options."""
DEFAULTS: Mapping[str, Any] = {one.name: one.default for one in fields(Settings)}
COMMON_OPTIONS: dict[str, Any] = {name: DEFAULTS[name] for name in ("weights", "penalty")}
"""Options that every method takes."""


def flags() -> dict[str, Flag]:
    """The settings that the command line has options for, by name."""
    return {
        one.name: Flag(one.metadata["flag"] or one.name, one.metadata["kind"], one.metadata["help"])
        for one in fields(Settings)
        if one.metadata["kind"] is not None
    }


def parameters(names: Iterable[str] = ARGUMENTS) -> list[inspect.Parameter]:
    """Settings as keyword-only parameters of a function."""
    kinds = {one.name: one.type for one in fields(Settings)}
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS[name], annotation=kinds[name])
        for name in names
    ]


def with_settings(function: F) -> F:
    """The function, whose signature spells out every setting in place of its `**settings`."""
    own = list(inspect.signature(function).parameters.values())
    keyword = [one for one in own if one.kind is inspect.Parameter.KEYWORD_ONLY]
    others = [one for one in own if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    rest = inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD, annotation="Any")
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*others, *parameters(), *keyword, rest], return_annotation=inspect.signature(function).return_annotation
    )
    return function


def _require_one_of(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def _known(content: Any) -> Any:
    """Prior knowledge from its record."""
    if not isinstance(content, Mapping):
        return content
    from fedrcd.graphs.knowledge.statements import Knowledge

    return Knowledge(**content)


def _same(value: Any, default: Any) -> bool:
    """Whether a value is the default, where a list may stand for a tuple."""
    if isinstance(default, tuple):
        return isinstance(value, Sequence) and len(value) == 0
    return value is default or (isinstance(value, str | bool | float | int) and value == default)
