"""A privacy mechanism: a labelled row-stochastic matrix, ``matrix[x, y] = P(Y = y | X = x)``."""

from __future__ import annotations

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from itertools import product as pairs
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.core import notebook, validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.files import write_whole
from ldpopt.core.validate import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Label = Hashable
MOST_ENTRIES = 100_000_000
"""The most entries of a matrix that is built: 800 MB of floats."""


class Reported(NamedTuple):
    """Reports, as the likelihood of each distinct one under every input, relative to a reference."""

    columns: Array
    counts: NDArray[np.int64]
    log_reference: float = 0.0
    """The log of the reference probabilities, summed over the reports."""


class Channel(ABC):
    """What can be composed: labelled inputs and outputs, and the matrix between them."""

    __slots__ = ()

    @property
    @abstractmethod
    def inputs(self) -> tuple[Label, ...]:
        """A label per row."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[Label, ...]:
        """A label per column."""

    @property
    @abstractmethod
    def matrix(self) -> Array:
        """P(output | input)."""

    @abstractmethod
    def epsilon(self) -> float:
        """Compute the LDP level max_y max_{x,x'} log W[x,y] / W[x',y]."""

    @abstractmethod
    def cover(self) -> float:
        """Compute Σ_y max_x W[x, y], the factor by which a report raises the chance to guess x."""

    @abstractmethod
    def dense(self) -> Mechanism:
        """Return it as a matrix."""

    @abstractmethod
    def reported(self, reports: ArrayLike) -> Reported:
        """Count the distinct reports among what :meth:`sample` drew, with their likelihoods."""

    def then(self, other: Channel) -> Mechanism:
        """Post-process: release ``other(self(x))`` (Lopuhaä-Zwakenberg et al. 2019, Definition 7.1)."""
        if self.outputs != other.inputs:
            raise InvalidInputError(
                "then: the outputs of the first mechanism are not the inputs of the second: "
                f"{_differing(self.outputs, other.inputs)}"
            )
        return Mechanism(_normalised(self.matrix @ other.matrix), self.inputs, other.outputs)

    def __matmul__(self, other: Channel) -> Mechanism:
        """Post-process, as the product of the matrices: ``M @ N`` is ``M.then(N)``."""
        return self.then(other) if isinstance(other, Channel) else NotImplemented

    def product(self, other: Channel) -> Mechanism:
        """Release both answers about the same x, drawn independently.

        Lopuhaä-Zwakenberg et al. 2019, (7.7).

        >>> flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
        >>> flip.product(flip).matrix[0]
        array([0.5625, 0.1875, 0.1875, 0.0625])
        """
        if self.inputs != other.inputs:
            raise InvalidInputError(
                f"product: the inputs disagree: {_differing(self.inputs, other.inputs)}"
            )
        _refuse_large("product", len(self.inputs), len(self.outputs) * len(other.outputs))
        both = self.matrix[:, :, None] * other.matrix[:, None, :]
        outputs = pairs(self.outputs, other.outputs)
        return Mechanism(_normalised(both.reshape(len(self.inputs), -1)), self.inputs, outputs)

    @staticmethod
    def mixture(mechanisms: Sequence[Channel], weights: ArrayLike) -> Mechanism:
        """Draw j from the weights and release (j, mechanism_j(x)).

        Lopuhaä-Zwakenberg et al. 2019, (7.10).

        >>> flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
        >>> Mechanism.mixture([flip, flip], [0.5, 0.5]).outputs
        ((0, 0), (0, 1), (1, 0), (1, 1))
        """
        if not mechanisms:
            raise InvalidInputError("mixture: there must be at least one mechanism, not 0")
        w = validate.distribution("mixture weights", weights)
        if len(w) != len(mechanisms):
            raise InvalidInputError(
                f"mixture: there must be {len(mechanisms)} weights, one per mechanism, not {len(w)}"
            )
        for other in mechanisms[1:]:
            if other.inputs != mechanisms[0].inputs:
                where = _differing(mechanisms[0].inputs, other.inputs)
                raise InvalidInputError(f"mixture: the inputs disagree: {where}")
        _refuse_large("mixture", len(mechanisms[0].inputs), sum(len(m.outputs) for m in mechanisms))
        parts = [weight * m.matrix for weight, m in zip(w, mechanisms, strict=True)]
        outputs = [(j, y) for j, m in enumerate(mechanisms) for y in m.outputs]
        return Mechanism(_normalised(np.hstack(parts)), mechanisms[0].inputs, outputs)

    def push(self, p: ArrayLike) -> Array:
        """Return the distribution of the output when the input has distribution p."""
        return distribution_over(len(self.inputs), "distribution", p) @ self.matrix

    def mutual_information(self, prior: ArrayLike) -> float:
        """Compute I(X; Y) in nats for X ~ prior.

        >>> Mechanism([[1, 0], [0, 1]]).mutual_information([0.5, 0.5]).__round__(6)
        0.693147
        """
        from scipy.special import xlogy

        p, W = distribution_over(len(self.inputs), "prior", prior), self.matrix
        r = p @ W
        return max(float(p @ xlogy(W, W).sum(axis=1) - xlogy(r, r).sum()), 0.0)


class Mechanism(Channel):
    """An immutable dense mechanism.

    Args:
        matrix: one row per input, one column per output; every row a distribution.
        inputs: a label per row, by default 0, 1, …; joint inputs (s, u) are flattened in C order.
        outputs: a label per column, by default 0, 1, …

    >>> response = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> round(response.epsilon(), 6)
    1.098612
    >>> response.push([0.9, 0.1])
    array([0.7, 0.3])
    """

    __slots__ = ("__dict__", "inputs", "matrix", "outputs")

    matrix: Array
    inputs: tuple[Label, ...]
    outputs: tuple[Label, ...]

    def __init__(
        self,
        matrix: ArrayLike,
        inputs: Iterable[Label] | None = None,
        outputs: Iterable[Label] | None = None,
    ) -> None:
        rows = validate.array("mechanism matrix", matrix, 2)
        if rows.min() < 0:
            x, y = np.argwhere(rows < 0)[0]
            raise InvalidInputError(f"mechanism matrix[{x}][{y}] must be at least 0, not {rows[x, y]}")
        validate.row_sums("mechanism matrix", rows)
        set_once = super().__setattr__
        set_once("matrix", rows)
        set_once("inputs", _labels("inputs", inputs, rows.shape[0]))
        set_once("outputs", _labels("outputs", outputs, rows.shape[1]))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a mechanism is immutable: cannot set {name!r}")

    def __repr__(self) -> str:
        n, m = self.shape
        return f"<Mechanism {n} inputs -> {m} outputs, epsilon {self.epsilon():.6g}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Let numpy take the mechanism as its matrix: ``np.asarray(mechanism)``."""
        return np.array(self.matrix, dtype) if copy or dtype is not None else self.matrix

    def to_frame(self) -> Any:
        """Return the matrix as a pandas.DataFrame, a row per input and a column per output."""
        return notebook.frame(self.matrix, list(self.inputs), list(self.outputs))

    def _repr_html_(self) -> str:
        n, m = self.shape
        caption = f"P(output | input), rounded: {n} inputs, {m} outputs, ε ≈ {self.epsilon():.6g}"
        return notebook.matrix(caption, self.matrix, self.inputs, self.outputs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mechanism):
            return NotImplemented
        same_labels = self.inputs == other.inputs and self.outputs == other.outputs
        return same_labels and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs, self.matrix.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Mechanism, (self.matrix, self.inputs, self.outputs))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of inputs, number of outputs."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def epsilon(self) -> float:
        """Compute the LDP level max_y max_{x,x'} log W[x,y] / W[x',y].

        It is infinite if an output excludes an input.

        >>> Mechanism([[1, 0], [0, 1]]).epsilon()
        inf
        """
        columns = self.matrix[:, self.matrix.any(axis=0)]
        low, high = columns.min(axis=0), columns.max(axis=0)
        if (low == 0).any():
            return math.inf
        return float(np.log(high / low).max())

    def cover(self) -> float:
        """Add up the largest entries of the columns."""
        return float(self.matrix.max(axis=0).sum())

    def dense(self) -> Mechanism:
        """Return the mechanism itself."""
        return self

    def sample(self, x: ArrayLike, rng: np.random.Generator | int) -> NDArray[np.int64]:
        """Draw an output index for every input index in x, by alias tables in O(1) a draw.

        Args:
            x: the input indices.
            rng: a generator, or a seed of one.

        >>> identity = Mechanism([[1, 0], [0, 1]])
        >>> identity.sample([0, 1, 1], 0)
        array([0, 1, 1])
        """
        rng = np.random.default_rng(rng)
        n, m = self.shape
        rows = indices(x, n)
        keep, alias = self._alias_tables
        cell = rng.integers(m, size=rows.shape)
        kept = rng.random(rows.shape) < keep[rows, cell]
        return np.where(kept, cell, alias[rows, cell])

    def reported(self, reports: ArrayLike) -> Reported:
        """Count the reports of every output."""
        y, outputs = np.asarray(reports), self.shape[1]
        if y.ndim != 1 or (y.size and not np.issubdtype(y.dtype, np.integer)):
            raise InvalidInputError(f"reports must be output indices, not {y.dtype} of shape {y.shape}")
        if y.size and not (0 <= y.min() and y.max() < outputs):
            wrong = y[(y < 0) | (y >= outputs)][0]
            raise InvalidInputError(f"an output index must be from 0 to {outputs - 1}, not {wrong}")
        return Reported(self.matrix, np.bincount(y, minlength=outputs))

    @cached_property
    def _alias_tables(self) -> tuple[Array, NDArray[np.int64]]:
        tables = [_alias_table(row) for row in self.matrix]
        return np.array([keep for keep, _ in tables]), np.array([alias for _, alias in tables])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix, a row per input; the lighter, the more probable.

        Args:
            ax: where to draw; a new figure if not given.
        """
        return notebook.heat_map(ax, self.matrix, self.inputs, self.outputs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism as JSON, exactly; :meth:`load` reads it."""
        write_whole(path, json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False) + "\n")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Mechanism:
        """Read a mechanism that :meth:`save` wrote."""
        return Mechanism.from_json(json.loads(Path(path).read_text(encoding="utf-8")))

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism as plain data; the floats are exact, so nothing of the matrix is lost."""
        return {
            "inputs": [_plain(label) for label in self.inputs],
            "outputs": [_plain(label) for label in self.outputs],
            "matrix": self.matrix.tolist(),
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Mechanism:
        """Read a mechanism from the plain data that :meth:`to_json` writes."""
        try:
            inputs = [_hashable(label) for label in data["inputs"]]
            outputs = [_hashable(label) for label in data["outputs"]]
            return Mechanism(data["matrix"], inputs, outputs)
        except (KeyError, TypeError) as error:
            raise InvalidInputError(
                f"a mechanism must be an object with matrix, inputs and outputs: {error!r}"
            ) from None


def distribution_over(k: int, name: str, p: ArrayLike) -> Array:
    """Check a distribution of k inputs.

    Args:
        k: the number of inputs.
        name: the name of the parameter, for messages.
        p: the distribution.
    """
    found = validate.distribution(name, p)
    if len(found) != k:
        raise InvalidInputError(f"{name} must have {k} entries, one per input, not {len(found)}")
    return found


def indices(x: ArrayLike, k: int) -> NDArray[np.int64]:
    """Check indices of k inputs."""
    values = np.asarray(x)
    if values.size and not np.issubdtype(values.dtype, np.integer):
        raise InvalidInputError(f"sample: inputs must be indices, not {values.dtype}")
    values = values.astype(np.int64)
    if values.size and not (0 <= values.min() and values.max() < k):
        bad = values[(values < 0) | (values >= k)].flat[0]
        raise InvalidInputError(f"sample: an input index must be from 0 to {k - 1}, not {bad}")
    return values


def _refuse_large(what: str, inputs: int, outputs: int) -> None:
    if inputs * outputs > MOST_ENTRIES:
        raise InvalidInputError(
            f"{what}: a matrix of {inputs} × {outputs:,} must have at most {MOST_ENTRIES:,} entries"
        )


def _normalised(rows: Array) -> Array:
    """Remove the rounding error of a matrix product, so that long compositions stay stochastic."""
    return rows / rows.sum(axis=1, keepdims=True)


def _labels(what: str, labels: Iterable[Label] | None, count: int) -> tuple[Label, ...]:
    result = tuple(range(count)) if labels is None else tuple(labels)
    if len(result) != count:
        raise InvalidInputError(f"there must be {count} labels of {what}, not {len(result)}")
    if len(set(result)) != count:
        twice = next(label for i, label in enumerate(result) if label in result[:i])
        raise InvalidInputError(f"the {what} label {twice!r} appears twice")
    return result


def _differing(first: tuple[Label, ...], second: tuple[Label, ...]) -> str:
    if len(first) != len(second):
        return f"{len(first)} against {len(second)} labels"
    i = next(i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)
    return f"label {i} is {first[i]!r} against {second[i]!r}"


def _plain(label: Any) -> Any:
    if isinstance(label, tuple):
        return [_plain(part) for part in label]
    return label.item() if isinstance(label, np.generic) else label


def _hashable(label: Any) -> Label:
    if isinstance(label, list):
        return tuple(_hashable(part) for part in label)
    hash(label)
    return label


def _alias_table(p: Array) -> tuple[Array, NDArray[np.int64]]:
    """Build Vose's alias table of one distribution: keep the cell with probability keep, else alias."""
    m = len(p)
    scaled = p * m / p.sum()
    keep, alias = np.ones(m), np.arange(m)
    small = [i for i in range(m) if scaled[i] < 1]
    large = [i for i in range(m) if scaled[i] >= 1]
    while small and large:
        i, j = small.pop(), large[-1]
        keep[i], alias[i] = scaled[i], j
        scaled[j] -= 1 - scaled[i]
        if scaled[j] < 1:
            small.append(large.pop())
    return keep, alias
