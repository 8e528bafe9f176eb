"""NumPy's indexing for sparse arrays: what a key means, and its shape."""

from __future__ import annotations

import numpy as np

from ._inputs import is_integer, is_sparse


class parsed_key:
    """One index for each dimension (an int, a slice or an array of integers, all within bounds and
    not negative) and the shape of what it selects."""

    def __init__(self, key, shape):
        parts = expand_masks(_expand(key, len(shape)), shape)
        self.index = []
        dims = []  # of the result: sizes of slices and new axes, None where arrays go
        arrays = []
        for part in parts:
            if part is None:
                dims.append(1)
                continue
            size = shape[len(self.index)]
            if is_integer(part):
                i = int(part)
                if not -size <= i < size:
                    raise IndexError(f"index ({i}) out of range for a dimension of {size}")
                self.index.append(i + size if i < 0 else i)
            elif isinstance(part, slice):
                self.index.append(part)
                dims.append(len(range(*part.indices(size))))
            else:
                a = _checked(part, size)
                self.index.append(a)
                arrays.append(a)
                if len(arrays) == 1:
                    dims.append(None)
        if arrays:
            try:
                shape_of_arrays = np.broadcast_shapes(*(a.shape for a in arrays))
            except ValueError:
                raise IndexError("shape mismatch: indexing arrays could not be broadcast together") from None
            k = dims.index(None)
            dims[k : k + 1] = shape_of_arrays
        self.shape = tuple(dims)


def _expand(key, ndim):
    """One part for each dimension, and None for each new axis."""
    parts = list(key) if isinstance(key, tuple) else [key]
    out = []
    for part in parts:
        if is_sparse(part):
            part = part.toarray() != 0
        if part is None or part is Ellipsis or isinstance(part, slice) or is_integer(part):
            out.append(part)
            continue
        a = np.asarray(part)
        if a.dtype == bool and a.ndim > 0:
            out.append(a)
            continue
        if a.dtype.kind not in "iu" and a.size > 0:
            raise IndexError(f"Index dimension: integers, slices, lists of integers or masks, not {part!r}")
        if a.ndim > 2:
            raise IndexError("Index dimension must be 1 or 2")
        out.append(a.astype(np.int64))
    used = sum(a.ndim if isinstance(a, np.ndarray) and a.dtype == bool else 1
               for a in out if a is not None and a is not Ellipsis)
    if used > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    dots = [k for k, part in enumerate(out) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    fill = [slice(None)] * (ndim - used)
    if dots:
        out[dots[0] : dots[0] + 1] = fill
    else:
        out += fill
    return out


def expand_masks(parts, shape):
    """Masks as lists of integers."""
    out, k = [], 0
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype == bool:
            if part.shape != tuple(shape[k : k + part.ndim]):
                raise IndexError(f"bool index {k} has shape {part.shape} instead of {tuple(shape[k:k + part.ndim])}")
            out += [a.astype(np.int64) for a in part.nonzero()]
            k += part.ndim
        else:
            out.append(part)
            k += part is not None
    return out


def _checked(a, size):
    if a.size and (a.max() >= size or a.min() < -size):
        raise IndexError(f"index ({a.max() if a.max() >= size else a.min()}) out of range for a dimension of {size}")
    return np.where(a < 0, a + size, a)


def as_list(part, size):
    """An int or a slice as an array of the numbers that it stands for."""
    if isinstance(part, slice):
        return np.arange(*part.indices(size), dtype=np.int64)
    return np.atleast_1d(np.asarray(part, dtype=np.int64))


def coordinates(key, shape):
    """Arrays of rows and columns that broadcast to the elements a key selects of a matrix."""
    row, col = key.index
    if isinstance(row, slice) or isinstance(col, slice) or not (
        isinstance(row, np.ndarray) and isinstance(col, np.ndarray)
    ):
        if isinstance(row, np.ndarray) and row.ndim == 2 or isinstance(col, np.ndarray) and col.ndim == 2:
            if isinstance(row, slice) or isinstance(col, slice):
                raise IndexError("index results in more than two dimensions")
            return np.broadcast_arrays(row, col)
        rows, cols = as_list(row, shape[0]), as_list(col, shape[1])
        i, j = np.broadcast_arrays(rows[:, None], cols[None, :])
        shape_of = [n for n, part in ((len(rows), row), (len(cols), col)) if not isinstance(part, int)]
        return i.reshape(shape_of), j.reshape(shape_of)
    return np.broadcast_arrays(row, col)


def points_of(row, col):
    """Arrays of rows and columns of one shape, where a key picks single elements; None where it picks
    whole rows and columns."""
    if isinstance(row, slice) or isinstance(col, slice):
        if any(isinstance(p, np.ndarray) and p.ndim == 2 for p in (row, col)):
            raise IndexError("Only 1D or 2D results: >2D is not supported")
        return None
    lists = [isinstance(p, np.ndarray) for p in (row, col)]
    if all(lists) and row.ndim == 2 and row.shape[1] == 1 and (col.ndim == 1 or col.shape[0] == 1):
        return None
    if any(lists) and not all(lists) and max(np.ndim(row), np.ndim(col)) == 1:
        return None
    return np.broadcast_arrays(row, col)


def range_or_list(part, size):
    """(first, last) where it is one, else the list of numbers."""
    if isinstance(part, int):
        return (part, part + 1)
    if isinstance(part, slice):
        first, last, step = part.indices(size)
        if step == 1:
            return (first, max(first, last))
        return as_list(part, size)
    return part.ravel()
