"""When a changed contribution may leave: never so that before and after differ by a few rows.

Whoever sees a site's sums before and after knows the sums of the rows between, and sums of few rows are those rows:
one row always, pair sums of order 4 up to 3 p + 1 of them, full tensors many more. So a site holds changes back until
enough rows changed, or until the latest date; then rows drawn at random are left out for good beside those to be
erased, so that nobody can tell which is which.
"""

from __future__ import annotations

from dataclasses import dataclass

from fedrcd.errors import ConfigError
from fedrcd.federation.ledger.configuration import TENSOR
from fedrcd.federation.rules import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The numbers in the rules.

    Parameters
    ----------
    batch : int
        Rows by which a replaced contribution must differ from every earlier one.
    days : int
        After so many days an erasure is carried out whatever the batch.
    rows : int
        Complete rows a contribution needs at all.
    """

    batch: int
    days: int = 30
    rows: int = 0

    def __post_init__(self) -> None:
        for name in ("batch", "days", "rows"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} must be at least 0, got {getattr(self, name)}")


def default_policy(columns: int, families: tuple[str, ...], rules: Rules = Rules()) -> Policy:  # noqa: B008 - frozen
    """The policy for a site with p columns: batches of 10 p rows within 30 days, sums of at least 100 and 10 p rows.

    A full tensor determines (C(p + 4, 4) - 1) / p rows, more than pair sums do; where it is sent, batches and sums are
    of twice as many. The numbers are those of the rules of disclosure.
    """
    batch = rules.rows_per_variable * columns
    if TENSOR in families:
        batch = max(batch, rules.needed_tensor_rows(columns))
    return Policy(batch=batch, rows=max(rules.rows, batch))
