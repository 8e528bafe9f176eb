"""Sums, means and extremes, of all elements or by axis."""

from __future__ import annotations

import numpy as np

from . import _lacuna


class by_axis:
    """That part of `sparse_array`."""

    def sum(self, axis=None, dtype=None, out=None):
        """The sum of all elements, or sums by `axis`: 0 adds rows up, 1 columns."""
        return self._reduced("sum", axis, dtype, out)

    def mean(self, axis=None, dtype=None, out=None):
        """The mean of all elements, or means by `axis`."""
        axis = checked_axis(axis, self.ndim)
        count = int(np.prod(self.shape)) if axis is None else self.shape[axis]
        with np.errstate(divide="ignore", invalid="ignore"):
            return _cast(self._reduced("sum", axis, None, None) / self.dtype.type(count), dtype, out)

    def max(self, axis=None, out=None, *, explicit=False):
        """The largest element, or those by `axis`, as a sparse array; what is not stored is 0."""
        return self._extreme("max", axis, out, explicit)

    def min(self, axis=None, out=None, *, explicit=False):
        """The smallest element, or those by `axis`, as a sparse array."""
        return self._extreme("min", axis, out, explicit)

    def _reduced(self, what, axis, dtype, out):
        axis = checked_axis(axis, self.ndim)
        return _cast(self._over(what, axis, self._rows()), dtype, out)

    def _over(self, what, axis, rows):
        """The library's reduction of all elements, or by an axis of ours."""
        if axis is None or self.ndim == 1:
            return _lacuna.reduce(rows, what, -1)[0]
        return _lacuna.reduce(rows, what, 1 - axis if self._by_columns else axis)

    def nanmax(self, axis=None, out=None, *, explicit=False):
        """As `max`, NaN left out."""
        return self._extreme("fmax", axis, out, explicit)

    def nanmin(self, axis=None, out=None, *, explicit=False):
        """As `min`, NaN left out."""
        return self._extreme("fmin", axis, out, explicit)

    def argmax(self, axis=None, out=None, *, explicit=False):
        """Where the first largest element is: its place among all, or those by `axis`.

        Examples
        --------
        >>> import lacuna
        >>> A = lacuna.csr_array([[0.0, 2.0], [-1.0, 0.0]])
        >>> int(A.argmax()), A.argmin(axis=1)
        (1, array([0, 0]))
        """
        return self._place("max", axis, out, explicit)

    def argmin(self, axis=None, out=None, *, explicit=False):
        """Where the first smallest element is."""
        return self._place("min", axis, out, explicit)

    def _extreme(self, what, axis, out, explicit):
        from ._csr import csr_array

        if out is not None:
            raise ValueError("Sparse arrays do not support an 'out' parameter.")
        axis = checked_axis(axis, self.ndim)
        if (0 in self.shape) if axis is None else (self.shape[axis] == 0):
            raise ValueError("zero-size array to reduction operation")
        if explicit or what in ("fmax", "fmin"):
            made = _reduced_lines(_UFUNCS[what], *self._lines(axis), explicit)
            made = made[0] if axis is None or self.ndim == 1 else made
        else:
            made = self._over(what, axis, self._rows())
        return made if np.isscalar(made) else csr_array(made)

    def _lines(self, axis):
        """(data, indices, indptr, length): the lines along `axis`, merged; None: all elements as one."""
        if axis is None or self.ndim == 1:
            rows = self.tocsr()._merged()
            places = rows._coordinates()[-1].astype(np.int64)
            if self.ndim == 2:
                places += rows._coordinates()[0].astype(np.int64) * self.shape[1]
            return rows.data[: rows.nnz], places, np.array([0, rows.nnz]), int(np.prod(self.shape, dtype=object))
        rows = self._rows()
        rows = (rows if (axis == 1) != self._by_columns else rows._transposed())._merged()
        return rows.data[: rows.nnz], rows.indices[: rows.nnz], rows.indptr, self.shape[axis]

    def _place(self, what, axis, out, explicit):
        if out is not None:
            raise ValueError("Sparse arrays do not support an 'out' parameter.")
        axis = checked_axis(axis, self.ndim)
        if (0 in self.shape) if axis is None else (self.shape[axis] == 0):
            raise ValueError("Cannot apply the operation along a zero-sized dimension.")
        lines = self._lines(axis)
        one = axis is None or self.ndim == 1
        if one and explicit and len(lines[0]) == 0:
            raise ValueError("Cannot apply the operation to zero matrix when explicit=True.")
        places = _places_in_lines(what, *lines, explicit)
        return places[0] if one else places


_UFUNCS = {"max": np.maximum, "min": np.minimum, "fmax": np.fmax, "fmin": np.fmin}


def _reduced_lines(f, data, indices, indptr, length, explicit):
    """Of each line; with the zeros that are not stored unless `explicit`. 0 where there is nothing."""
    sizes = np.diff(indptr)
    found = np.zeros(len(sizes), data.dtype)
    if len(data):
        found[sizes > 0] = f.reduceat(data, indptr[:-1][sizes > 0])
    if not explicit:
        gaps = sizes < length
        found[gaps] = f(found[gaps], data.dtype.type(0))
    return found


def _places_in_lines(what, data, indices, indptr, length, explicit):
    """Indices of the first extreme of each line."""
    sizes = np.diff(indptr)
    places = np.zeros(len(sizes), np.int64)
    filled = sizes > 0
    if not filled.any():
        return places
    starts, sizes = indptr[:-1][filled], sizes[filled]
    extremes = _UFUNCS[what].reduceat(data, starts)
    each = np.repeat(extremes, sizes)
    is_extreme = (data == each) | ((data != data) & (each != each))
    place = np.minimum.reduceat(np.where(is_extreme, indices, length), starts)
    if not explicit:
        in_line = np.arange(len(data)) - np.repeat(starts, sizes)
        gap = np.minimum.reduceat(np.where(indices != in_line, in_line, length), starts)
        gap = np.minimum(gap, sizes)  # the first index that is not stored
        with_zero = np.where(extremes == 0, np.minimum(place, gap), gap)
        beyond = extremes > 0 if what == "max" else extremes < 0
        place = np.where((sizes == length) | beyond, place, with_zero)
    places[filled] = place
    return places


def checked_axis(axis, ndim):
    if axis is None:
        return None
    if isinstance(axis, tuple):
        if len(axis) == 0:
            raise ValueError("axis must not be empty")
        if len(axis) == ndim and len({checked_axis(a, ndim) for a in axis}) == ndim:
            return None
        if len(axis) > 1:
            raise ValueError("axis tuple has duplicate or too many dimensions")
        axis = axis[0]
    if not np.issubdtype(np.dtype(type(axis)), np.integer):
        raise TypeError(f"axis must be an integer, not {type(axis)}")
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis out of range: {axis} of {ndim} dimensions")
    return int(axis) % ndim


def _cast(made, dtype, out):
    if dtype is not None:
        made = np.asarray(made).astype(dtype)[()]
    if out is None:
        return made
    if out.shape != np.shape(made):
        raise ValueError(f"output parameter has wrong dimensions: {out.shape} instead of {np.shape(made)}")
    out[...] = made
    return out
