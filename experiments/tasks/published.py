"""Networks with published linear coefficients: true effects and variances, with noise of families of our own.

Source: the Gaussian networks of the bnlearn repository (M. Scutari, www.bnlearn.com/bnrepository). ECOLI70 is from
J. Schäfer and K. Strimmer, A shrinkage approach to large-scale covariance matrix estimation and implications for
functional genomics (2005); MAGIC-NIAB from M. Scutari, P. Howell, D. Balding and I. Mackay, Multiple quantitative trait
analysis using Bayesian networks (2014).
"""

from __future__ import annotations

import json
import zlib
from functools import cache
from pathlib import Path

import numpy as np

from fedrcd.data.simulate.models import LinearModel
from fedrcd.data.simulate.noise import noise_per_variable
from fedrcd.typing import Matrix

FILE = Path(__file__).with_name("published_networks.json")
NETWORKS = ("ECOLI70", "MAGIC-NIAB")


@cache
def published(name: str) -> tuple[tuple[str, ...], Matrix, Matrix]:
    """Names, effects B and standard deviations of the errors of a network."""
    content = json.loads(FILE.read_text(encoding="utf-8"))[name]
    names = tuple(content["variances"])
    B = np.zeros((len(names), len(names)))
    for cause, effect, weight in content["effects"]:
        B[names.index(effect), names.index(cause)] = weight
    return names, B, np.sqrt(np.array(list(content["variances"].values())))


def draw_published(name: str, noise: str, rows: int, seed: int) -> tuple[Matrix, Matrix]:
    """Effects and standardised rows of a network, with noise of a family in the place of Gaussian noise."""
    names, B, sd = published(name)
    rng = np.random.default_rng([seed, rows, zlib.crc32(f"{name} {noise}".encode())])
    X = LinearModel(B, noise_per_variable(noise, len(B), rng=rng), sd, names).sample(rows, rng)
    return B, (X - X.mean(axis=0)) / X.std(axis=0)
