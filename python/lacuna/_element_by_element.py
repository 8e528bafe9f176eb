"""Two arrays element by element, and functions of each element."""

from __future__ import annotations

import operator

import numpy as np

from . import _lacuna
from ._inputs import is_scalar, is_sparse


class element_by_element:
    """That part of `sparse_array`."""

    def _aligned(self, other):
        """`other`, a sparse array, as rows like _rows()."""
        from ._csr import csc_array, csr_array

        return csc_array(other)._rows() if self._by_columns else csr_array(other)

    def _plus(self, other, alpha, beta):
        if is_scalar(other):
            if other == 0:
                return self._wrap(self._rows()._scaled(alpha))
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        if is_sparse(other):
            if other.shape != self.shape:
                raise ValueError(f"inconsistent shapes, {self.shape} and {other.shape}")
            return self._wrap(self._rows()._added(self._aligned(other), alpha, beta))
        if not _is_dense(other):
            return NotImplemented
        return alpha * self.toarray() + beta * np.asarray(other)

    def __add__(self, other):
        return self._plus(other, 1.0, 1.0)

    __radd__ = __add__

    def __sub__(self, other):
        return self._plus(other, 1.0, -1.0)

    def __rsub__(self, other):
        return self._plus(other, -1.0, 1.0)

    def multiply(self, other):
        """Element by element, with NumPy's broadcasting; the result is sparse."""
        if is_scalar(other):
            return self._wrap(self._rows()._scaled(other))
        if is_sparse(other):
            a, b = _broadcast(self, other)
            return a._wrap(a._rows()._combined(a._aligned(b), "stored_times"))
        other = np.asarray(other)
        if other.dtype == object:
            return NotImplemented
        return self._times_dense(other)

    def _times_dense(self, other):
        a, b = (self, other) if other.ndim <= 2 else (None, None)
        if a is None:
            raise ValueError("inconsistent shapes")
        try:
            shape = np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            raise ValueError(f"inconsistent shapes, {a.shape} and {b.shape}") from None
        a = a._broadcast_to(shape).tocsr()._merged()
        b = np.broadcast_to(b, shape)
        i, j = a._coordinates() if len(shape) == 2 else (None, a._coordinates()[0])
        return a._with_data(a.data[: a.nnz] * (b[j] if i is None else b[i, j]))

    def __mul__(self, other):
        if not (is_scalar(other) or is_sparse(other) or _is_dense(other)):
            return NotImplemented
        return self.multiply(other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        if is_scalar(other):
            rows = self._rows()
            with np.errstate(divide="ignore", invalid="ignore"):
                return self._wrap(rows._with_data(rows.data / rows.dtype.type(other)
                                                  if np.isrealobj(other) else rows._scaled(1 / other)))
        if is_sparse(other):
            from ._csr import csr_array

            if other.shape != self.shape:
                raise ValueError(f"inconsistent shapes, {self.shape} and {other.shape}")
            with np.errstate(divide="ignore", invalid="ignore"):
                return csr_array(self.toarray() / other.toarray())
        if not _is_dense(other):
            return NotImplemented
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.multiply(1.0 / np.asarray(other))

    def __rtruediv__(self, other):
        return NotImplemented

    def __neg__(self):
        return self._wrap(self._rows()._scaled(-1.0))

    def __pos__(self):
        return self.copy()

    def __abs__(self):
        return self._map(np.abs)

    def __round__(self, ndigits=0):
        return self._map(lambda v: np.around(v, ndigits))

    def power(self, n, dtype=None):
        """Each element to the power of `n`, which is not 0 or negative (those would fill the array)."""
        if not is_scalar(n):
            raise NotImplementedError("input is not scalar")
        if not n:
            raise NotImplementedError("zero power is not supported as it would densify the matrix.\nUse `np.ones(A.shape, dtype=A.dtype)` for this case.")
        made = self._map(np.power, float(n)) if self._on_device else self._map(lambda v: v**n)
        return made if dtype is None else made.astype(dtype)

    def __pow__(self, n):
        return self.power(n) if is_scalar(n) else NotImplemented

    def _map(self, f, exponent=1.0):
        """f of each element, where f(0) is 0; on a device by name."""
        rows = self._rows()._merged()
        if self._on_device:
            from ._csr import csr_array

            return self._wrap(csr_array._made(_lacuna.map_values(rows, f.__name__, exponent), rows.shape))
        return self._wrap(rows._with_data(f(rows.data[: rows.nnz]).astype(rows.dtype, copy=False)))

    def maximum(self, other):
        """Element by element, the larger one."""
        return self._extreme_of(other, np.maximum, "maximum")

    def minimum(self, other):
        """Element by element, the smaller one."""
        return self._extreme_of(other, np.minimum, "minimum")

    def _extreme_of(self, other, f, rule):
        from ._csr import csr_array

        if is_scalar(other):
            if self.dtype == np.float32 and np.result_type(self.dtype, other) == np.float64:
                return self.astype(np.float64)._extreme_of(other, f, rule)
            if f(0, other) == 0:
                return self._map(lambda v: f(v, other))
            return csr_array(f(self.toarray(), other))
        if is_sparse(other):
            if other.shape != self.shape:
                raise ValueError("inconsistent shapes")
            return self._wrap(self._rows()._combined(self._aligned(other), rule))
        return f(self.toarray(), np.asarray(other))

    # Comparisons: arrays with 1 where they hold.
    def _compared(self, other, op, name):
        if is_scalar(other):
            if np.isnan(other):
                return self._wrap(self._rows()._filled(name == "not_equal"))
            rows = self._rows()._merged()
            holds = op(rows.data[: rows.nnz], other)
            if not op(0, other):
                return self._wrap(rows._with_data(holds.astype(np.float64))._nonzero_entries())
            fails = rows._with_data((~holds).astype(np.float64))._nonzero_entries()
            return self._wrap(fails._complement())
        if is_sparse(other):
            if other.shape != self.shape:
                if name in ("equal", "not_equal"):
                    return name == "not_equal"
                raise ValueError("inconsistent shapes")
            return self._wrap(self._rows()._compared_with(self._aligned(other), name))
        if _is_dense(other):
            return op(self.toarray(), np.asarray(other))
        return NotImplemented

    def __eq__(self, other):
        made = self._compared(other, operator.eq, "equal")
        return False if made is NotImplemented and other is None else made

    def __ne__(self, other):
        made = self._compared(other, operator.ne, "not_equal")
        return True if made is NotImplemented and other is None else made

    def __lt__(self, other):
        return self._compared(other, operator.lt, "less")

    def __le__(self, other):
        return self._compared(other, operator.le, "less_equal")

    def __gt__(self, other):
        return self._compared(other, operator.gt, "greater")

    def __ge__(self, other):
        return self._compared(other, operator.ge, "greater_equal")

    def _broadcast_to(self, shape):
        """With a dimension of 1 repeated to `shape`."""
        from ._csr import csr_array

        if self.shape == tuple(shape):
            return self
        a = self.tocsr()
        if len(shape) == 2 and a.ndim == 1:
            a = a._as_shape((1, a.shape[0]))
            if a.shape == tuple(shape):
                return a
        if np.broadcast_shapes(a.shape, shape) != tuple(shape):
            raise ValueError(f"inconsistent shapes, {self.shape} and {shape}")
        if a.ndim == 1:
            return csr_array(np.broadcast_to(a.toarray(), shape))
        m, n = a.shape
        if m == 1 and shape[0] != 1:
            a = a._taken(np.zeros(shape[0], dtype=np.int64), (0, n))
        if n == 1 and shape[1] != 1:
            column = a._transposed()._taken(np.zeros(shape[1], dtype=np.int64), (0, a.shape[0]))
            a = column._transposed()
        return a


# Functions of NumPy that are 0 at 0, as SciPy's arrays have them: np.sqrt(A) calls A.sqrt().
for _name in ("sin tan arcsin arctan sinh tanh arcsinh arctanh rint sign expm1 log1p "
              "deg2rad rad2deg floor ceil trunc sqrt").split():
    def _method(self, _f=getattr(np, _name)):
        return self._map(_f)

    _method.__name__ = _name
    _method.__doc__ = f"numpy.{_name} of each element."
    setattr(element_by_element, _name, _method)


def _is_dense(x):
    if isinstance(x, (np.ndarray, list, tuple)):
        return np.asarray(x).dtype != object
    return False


def _broadcast(a, b):
    """Both as arrays of one shape: ours."""
    from ._csr import csr_array

    if not isinstance(b, element_by_element):
        b = csr_array(b)
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ValueError(f"inconsistent shapes, {a.shape} and {b.shape}") from None
    return a._broadcast_to(shape), b._broadcast_to(shape)
