"""Pictures of where entries are."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from ._csr import csr_array


def _density(A, most):
    """Entries per cell of a grid of at most `most` cells a side."""
    A = csr_array(A)
    m, n = A._matrix_shape()
    rows, cols = min(m, most), min(n, most)
    if rows == 0 or cols == 0:
        return np.zeros((max(rows, 1), max(cols, 1)))
    i = np.repeat(np.arange(m, dtype=np.int64) * rows // m, np.diff(A.indptr))
    j = A.indices[: A.nnz].astype(np.int64) * cols // n
    return np.bincount(i * cols + j, minlength=rows * cols).reshape(rows, cols)


def _shades(cells):
    """White where there is nothing, darker for more entries."""
    most = cells.max()
    if most == 0:
        return np.full(cells.shape, 255, np.uint8)
    return np.where(cells > 0, 160 - 160 * np.log1p(cells) / np.log1p(most), 255).astype(np.uint8)


def _png(grey):
    """A picture in shades of grey as a PNG file."""
    height, width = grey.shape
    lines = np.hstack([np.zeros((height, 1), np.uint8), grey]).tobytes()

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


def as_html(A):
    """A line about the array and a small spy picture, for notebooks."""
    shades = _shades(_density(A, 128))
    repeat = max(1, 128 // max(shades.shape))
    picture = base64.b64encode(_png(shades.repeat(repeat, 0).repeat(repeat, 1))).decode()
    return (f'<div><code>lacuna.{type(A).__name__}</code>: {A._describe()}<br>'
            f'<img style="border:1px solid #888; image-rendering:pixelated" alt="where the entries are" '
            f'src="data:image/png;base64,{picture}"></div>')


def spy(A, ax=None, *, cells=400):
    """Draws where the entries are; matplotlib is needed.

    Parameters
    ----------
    A : sparse array
    ax : matplotlib.axes.Axes, optional
        Where to draw; None: the current axes.
    cells : int, optional
        At most so many cells a side; the darker, the more entries.

    Returns
    -------
    matplotlib.axes.Axes
    """
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.gca()
    m, n = csr_array(A)._matrix_shape()
    ax.imshow(_shades(_density(A, cells)), cmap="gray", vmin=0, vmax=255, interpolation="nearest",
              extent=(-0.5, n - 0.5, m - 0.5, -0.5))
    ax.set_title(f"{m} x {n}, {A.nnz} entries")
    return ax
