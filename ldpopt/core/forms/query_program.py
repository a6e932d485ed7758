"""Query programs: the mechanism from whose reports linear queries are answered best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ldpopt.core.form import Form
from ldpopt.core.forms.column_program import Cone
from ldpopt.core.validate import Array


class ClimbedCone(Cone, Protocol):
    """A cone over which linear functions are maximised without listing its rays."""

    @property
    def hides_all(self) -> bool:
        """Whether it is {T ≥ 0 : T_x ≤ e^ε T_z} for all x and z: ε-LDP."""

    def best(self, directions: Array) -> Iterator[Array]:
        """Yield, part by part of the cone, a ray T of largest c·T for every direction c, one per row.

        The part in which good columns mostly lie comes first.
        """


@dataclass(frozen=True, eq=False)
class QueryProgram(Form):
    """Minimise Σ_i c_iᵀΣc_i over mechanisms with columns in a cone; Σ = J⁻¹ − p pᵀ.

    J = Σ_y w_y w_yᵀ/(p·w_y) is the information of a report, so c_iᵀΣc_i is n times the variance of an
    efficient estimate of c_i·P from n reports. An optimal design: J is linear in the weights of the
    columns, and the error is convex. Its dual: vectors y_i that sum to 0 and β with Σ_i (y_i·T)²/(p·T) ≤
    β·T for every ray T prove the bound (Σ_i c_i·y_i)²/Σ_x β_x.

    Attributes:
        cone: where the columns lie; it contains those of randomised response.
        prior: p, an entry per input.
        queries: the c_i, one per row.
        least: the error when the data are released as they are; no mechanism has a smaller one.
    """

    cone: ClimbedCone
    prior: Array
    queries: Array
    least: float
