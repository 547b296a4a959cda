"""Directed acyclic graphs: their orders, their quality as estimates, their forms for other programs.

A graph is a square array `B` with ``B[i, j] != 0`` iff j -> i, as in x = B x + e; weights and booleans both
do. Only `exports` speaks other conventions. Everything here is a pure function of arrays.
"""

from __future__ import annotations

from fedrcd.graphs.dag import ancestry, is_acyclic, is_valid_order, topological_order, total_effects
from fedrcd.graphs.exports import Edge, edge_list, to_dot, to_gml, to_networkx
from fedrcd.graphs.metrics import ancestral_accuracy, order_agreement, r2_sortability, shd, varsortability

__all__ = [
    "Edge",
    "ancestral_accuracy",
    "ancestry",
    "edge_list",
    "is_acyclic",
    "is_valid_order",
    "order_agreement",
    "r2_sortability",
    "shd",
    "to_dot",
    "to_gml",
    "to_networkx",
    "topological_order",
    "total_effects",
    "varsortability",
]
