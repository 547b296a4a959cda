"""Tables: simulated, read, checked, aligned, dealt out to sites.

Everything a table must satisfy is checked here, once, with messages that name the table and the column; the rest of
the package trusts what it gets. Importing this package loads neither pandas nor Arrow.
"""

from __future__ import annotations

from fedrcd.data.align import align_tables
from fedrcd.data.names import default_names
from fedrcd.data.read import read_table, write_table
from fedrcd.data.simulate.models import LinearModel, random_dag, random_model, random_weights
from fedrcd.data.simulate.noise import NOISE_FAMILIES, REGIMES, Noise, noise, noise_per_variable
from fedrcd.data.simulate.partition import split_rows
from fedrcd.data.simulate.topologies import TOPOLOGIES, Topology, topology
from fedrcd.data.table import Table, as_table, check_table

__all__ = [
    "NOISE_FAMILIES",
    "REGIMES",
    "TOPOLOGIES",
    "LinearModel",
    "Noise",
    "Table",
    "Topology",
    "align_tables",
    "as_table",
    "check_table",
    "default_names",
    "noise",
    "noise_per_variable",
    "random_dag",
    "random_model",
    "random_weights",
    "read_table",
    "split_rows",
    "topology",
    "write_table",
]
