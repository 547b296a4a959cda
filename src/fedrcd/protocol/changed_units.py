r"""Variables in units of the coordinator's choice: sites keep answering as before.

Sums are taken in the frame :math:`z = (x - c)/s`. For :math:`x' = x/u` the same z is :math:`(x' - c/u)/(s/u)`: the sums
of x are those of x' in another frame, and nothing has to be asked again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.transport import Setting, Traffic, Transport
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_cumulants import pair_cumulants
from fedrcd.typing import Vector


@dataclass(frozen=True, slots=True)
class Rescaled:
    """The federation behind another transport, in other units."""

    inner: Transport
    setting: Setting

    @property
    def traffic(self) -> Traffic:
        """Rounds and bytes so far."""
        return self.inner.traffic

    def pool(self, question: Question[S]) -> S:
        """The sum of all sites' answers, which are asked in their own frame."""
        original = replace(cast("Any", question), frame=self.inner.setting.frame)
        return cast("S", self.inner.pool(original))


def in_units(transport: Transport, unit: Vector) -> Rescaled:
    """The same federation with x_j / unit_j in place of x_j; `unit` has shape (p,)."""
    frame = transport.setting.frame
    return Rescaled(transport, replace(transport.setting, frame=Frame(frame.centre / unit, frame.scale / unit)))


def scaled_by_sd(transport: Transport, power: float) -> Transport:
    """The same federation with x_j / sd_j^power in place of x_j: raw data at 0, standardised data at 1.

    The standard deviations come from pooled second moments. Every method's first answer contains them; asking for them
    here costs one more round in the traffic.
    """
    if power == 0:
        return transport
    setting = transport.setting
    sums = transport.pool(PairQuestion(setting.variables, setting.frame, 2))
    sd: Vector = np.sqrt(np.diagonal(pair_cumulants(sums, setting.frame).cov))
    return in_units(transport, sd**power)
