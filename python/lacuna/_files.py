"""Matrices from files and generators."""

from __future__ import annotations

import os

import numpy as np

from . import _lacuna
from ._csr import csr_array
from ._inputs import VALUE_TYPES, value_type


def read(path, *, dtype=np.float64, member=""):
    """Reads a matrix.

    Parameters
    ----------
    path : str or path
        .mtx, .npz (SciPy's), .npy, .mat, .bsp.h5, .rb, or an archive of such; .gz, .zst, .bz2.
    dtype : dtype, optional
        float64 or float32.
    member : str, optional
        Which matrix of a file that holds several.

    Returns
    -------
    csr_array
        Sorted, each place once, symmetry unfolded.
    """
    return csr_array._made(_lacuna.read(os.fspath(path), member, value_type(dtype) == VALUE_TYPES[0]))


def write(path, A):
    """Writes a matrix, in the format of the extension: .mtx, .mtx.gz, .mtx.zst, .npz, .mat, .bsp.h5,
    .rb. The file is complete or not there.

    Examples
    --------
    >>> import lacuna, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lacuna.write(os.path.join(folder, "I.mtx"), lacuna.eye(3))
    ...     lacuna.read(os.path.join(folder, "I.mtx"))
    <lacuna.csr_array: 3 x 3, 3 entries, float64, 32-bit indices, 52 bytes>
    """
    _lacuna.write(os.fspath(path), csr_array(A))


def generate(spec, *, dtype=np.float64):
    """A generated matrix: ``"poisson3d:n=64"``, parameters by name. `generators` lists them.

    Examples
    --------
    >>> import lacuna
    >>> lacuna.generate("poisson2d:n=3").toarray()[0]
    array([ 4., -1.,  0., -1.,  0.,  0.,  0.,  0.,  0.])
    """
    return csr_array._made(_lacuna.generate(spec, value_type(dtype) == VALUE_TYPES[0]))


def generators():
    """Names, parameters with their defaults, and one line about each."""
    return _lacuna.generators()
