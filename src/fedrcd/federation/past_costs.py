"""What a past and the unit of protection cost sites: told from the federation file, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator

from fedrcd.data.federation import Federation
from fedrcd.federation.rules import Rules


def past_costs(federation: Federation) -> list[str]:
    """Lines for people; none where rows have no past and are protected one by one."""
    return list(_lines(federation))


def _lines(federation: Federation) -> Iterator[str]:
    p, now, lags = len(federation.variables), len(federation.present), federation.lags
    rules, each = Rules(), federation.rows_of_unit
    if lags:
        own = rules.for_units_of(each)
        yield (
            f"lags = {lags}: {now} variables become {p} columns; a block needs {own.needed_rows(p):,} rows with their "
            f"past for any question and {own.needed_tensor_rows(p):,} for the full tensor (without a past "
            f"{rules.needed_rows(now):,} and {rules.needed_tensor_rows(now):,})"
        )
    if federation.unit == "subject":
        yield (
            "unit = 'subject': rows are counted by subjects. As many rows count as one as a subject has, of whoever "
            "has most, and two editions must differ by a batch of subjects; `fedrcd site check` says what a site has"
        )
    elif lags:
        yield (
            f"unit = 'row': a row is part of up to {each} rows with a past, so {each} count as one; a subject with "
            "many rows is not hidden by that. Rows have no identifiers: blocks can be erased whole, and groups of rows "
            "for a bootstrap are refused"
        )
