"""CUDA devices and the streams that work on them runs on.

Work on a device runs on the calling thread's stream: CUDA's legacy default stream, on which CuPy and
PyTorch run too unless told otherwise, or the one that `stream` names.
"""

from __future__ import annotations

from . import _lacuna
from ._device_array import device_name

__all__ = ["device_count", "empty_cache", "is_available", "stream", "synchronize"]

_kept = {}  # streams that arrays were made on: their memory is freed in the order of the stream


def device_count():
    """Devices that can be used; 0 without a driver, or where Lacuna was built without CUDA."""
    return _lacuna.device_count()


def is_available():
    """Whether there is a device that can be used.

    Examples
    --------
    >>> import lacuna
    >>> device = "cuda" if lacuna.cuda.is_available() else "cpu"
    >>> A = lacuna.generate("poisson2d:n=10").to(device)
    """
    return device_count() > 0


class stream:
    """``with lacuna.cuda.stream(s):`` runs the thread's operations on that stream.

    Parameters
    ----------
    stream : object or int
        CuPy's (which has ``ptr``), PyTorch's (``cuda_stream``), or a ``cudaStream_t`` as a number; 0:
        the legacy default stream. It is kept as long as the process, so do not destroy it.
    device : int or str, optional
        The device that the stream is of, where the object does not say; otherwise 0.

    Notes
    -----
    What one stream made may be used on another: the later one waits for the earlier one, the host
    does not. CUDA's per-thread default stream (2) is another one in each thread, and is not ordered
    between threads.

    Examples
    --------
    >>> with lacuna.cuda.stream(torch.cuda.current_stream()):  # doctest: +SKIP
    ...     y = A @ x
    """

    def __init__(self, stream, device=None):
        self.ptr = int(getattr(stream, "ptr", getattr(stream, "cuda_stream", stream)))
        if device is None:
            device = getattr(stream, "device_id", getattr(stream, "device_index", 0))
        self.device = device_name(f"cuda:{max(device, 0)}" if isinstance(device, int) else device)
        self._stream = stream
        self._before = []

    def __enter__(self):
        number = int(self.device[5:])
        self._before.append(_lacuna.choose_stream(number, self.ptr or 1))
        _kept[number, self.ptr] = self._stream
        return self

    def __exit__(self, *_):
        _lacuna.choose_stream(*self._before.pop())


def synchronize(device="cuda"):
    """Waits for what the thread's stream has queued on a device."""
    _lacuna.synchronize(int(device_name(device)[5:]))


def empty_cache():
    """Gives memory back to the devices that Lacuna freed but keeps for its next arrays; waits."""
    _lacuna.empty_cache()
