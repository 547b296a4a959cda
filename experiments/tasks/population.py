"""Methods on the population itself: what more rows could bring at most."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.harness.cells import Row
from fedrcd.errors import ProtocolError, StatisticError
from fedrcd.evaluation.evaluate import DataSetting
from fedrcd.evaluation.variants import Variant
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.registry import build
from fedrcd.protocol.changed_units import scaled_by_sd
from fedrcd.protocol.driver import run
from fedrcd.protocol.population_oracle import Oracle
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.frame import Frame


def population(*, method: str, scaling: float, **data: Any) -> list[Row]:
    """Accuracy of a method on the exact cumulants of a data set's model; missing where it asks for more."""
    model = DataSetting(**data).model
    k = model.noise_cumulants
    sd = np.sqrt((model.mixing**2 * k.variance).sum(axis=1))
    setting = Setting(model.names, Frame(np.zeros(len(sd)), np.exp2(np.round(np.log2(sd)))))
    transport = scaled_by_sd(Oracle(setting, model.mixing, k.variance, k.k3, k.k4), scaling)
    variant = Variant.parse(method)
    try:
        estimate = run(build(variant.method, **variant.options).rounds(transport.setting), transport)
    except (ProtocolError, StatisticError):
        return [{"failed": True}]
    return [{"accuracy": ancestral_accuracy(estimate.order, model.B), "failed": False}]
