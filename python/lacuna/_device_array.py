"""Arrays in device memory, Lacuna's and other libraries'."""

from __future__ import annotations

import numpy as np

from . import _lacuna

_TYPES = {np.dtype(t): np.dtype(t).str for t in (np.float32, np.float64, np.int32, np.int64)}


def device_name(device) -> str:
    """ "cpu", "cuda" and "cuda:1", also as PyTorch's objects, with the number of the device."""
    kind, _, number = str(device).partition(":")
    if kind == "cpu":
        return "cpu"
    if kind != "cuda" or not (number.isdigit() or not number):
        raise ValueError(f'lacuna: a device is "cpu", "cuda" or one like "cuda:1", not {device!r}')
    return f"cuda:{number or _lacuna.current_device()}"


def is_device(x) -> bool:
    """Whether x is an array in device memory, of any library."""
    return type(x) is not np.ndarray and _lacuna.is_on_device(x)


def moved(x, device):
    """A NumPy array or a device_array on another device, by name."""
    return x.get() if device == "cpu" else device_array(x, device)


def operand(x, dtype):
    """A dense operand of this type, where it is; the same memory where it already has it."""
    return device_array(x).astype(dtype, copy=False) if is_device(x) else np.ascontiguousarray(x, dtype=dtype)


class device_array(_lacuna.device_memory):
    """A vector or a matrix in the memory of a CUDA device: what operations on a device return, and
    what other libraries share with them. It holds memory; CuPy, PyTorch and JAX compute with it.

    Parameters
    ----------
    x : array
        One on a device, with ``__dlpack__`` or ``__cuda_array_interface__``: its memory is shared.
        One in host memory is copied to the device.
    device : str, optional
        "cuda" or one like "cuda:1"; where x is already, if it is on a device.

    Examples
    --------
    >>> import numpy as np, lacuna
    >>> x = lacuna.device_array(np.arange(4.0))  # doctest: +SKIP
    >>> x, x.get()  # doctest: +SKIP
    (<lacuna.device_array: 4, float64, cuda:0>, array([0., 1., 2., 3.]))
    >>> cupy.asarray(x), torch.from_dlpack(x), jax.dlpack.from_dlpack(x)  # doctest: +SKIP
    """

    __hash__ = None

    def __new__(cls, x, device=None):
        if is_device(x):
            shared = _lacuna.shared_on_device(x)
            if device is None or device_name(device) == shared.device:
                return shared
            x = shared.get()
        place = device_name("cuda" if device is None else device)
        if place == "cpu":
            raise ValueError("lacuna: a device_array is on a CUDA device")
        x = np.asarray(x)
        if x.dtype not in _TYPES or x.ndim not in (1, 2):
            raise TypeError(f"lacuna: a device_array has one or two dimensions of float32, float64, int32 or int64, not {x.ndim} of {x.dtype}")
        if not (x.flags.c_contiguous or x.flags.f_contiguous):
            x = np.ascontiguousarray(x)
        return _lacuna.to_device(x, int(place[5:]))

    def __init__(self, x, device=None):
        pass  # it is what __new__ made

    @property
    def device(self):
        """ "cuda:0" and the like."""
        return f"cuda:{self.device_index}"

    def to(self, device, *, copy=False):
        """On another device, by way of the host, or as a NumPy array on the "cpu"; itself (or a copy)
        where it is there already."""
        device = device_name(device)
        if device == self.device:
            return self.copy() if copy else self
        return moved(self, device)

    def astype(self, dtype, copy=True):
        """With elements of another type: between float32 and float64, or int32 and int64."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self.copy() if copy else self
        if dtype not in _TYPES:
            raise TypeError(f"lacuna: a device takes float32, float64, int32 and int64, not {dtype}")
        return self._as_type(_TYPES[dtype])

    def reshape(self, *shape):
        """The same memory as a vector or a matrix."""
        shape = shape[0] if len(shape) == 1 and not np.isscalar(shape[0]) else shape
        return self if tuple(shape) == self.shape else self._reshaped(tuple(shape))

    def ravel(self):
        """The same memory as a vector."""
        return self.reshape(self.size)

    def _number(self, other):
        return isinstance(other, (int, float, np.number)) and np.isrealobj(other)

    def __mul__(self, other):
        if not self._number(other):
            return NotImplemented
        wider = np.result_type(self.dtype, other)  # as NumPy: float32 stays what it is beside Python's numbers
        return self.astype(wider, copy=False)._scaled(float(other))

    __rmul__ = __mul__

    def __truediv__(self, other):
        """Times 1 / other: the last bit may differ from a division's."""
        if not self._number(other):
            return NotImplemented
        return self.astype(np.result_type(self.dtype, other), copy=False)._scaled(_inverse(other))

    def __imul__(self, other):
        if not self._number(other):
            return NotImplemented
        self._scale(float(other))
        return self

    def __itruediv__(self, other):
        return self.__imul__(_inverse(other)) if self._number(other) else NotImplemented

    def __neg__(self):
        return self._scaled(-1.0)

    # What would need NumPy: no copy to the host behind the caller's back.
    def __array__(self, dtype=None, copy=None):
        raise TypeError(f'lacuna: the array is on {self.device} and is not copied to the host unasked: get() or to("cpu") does')

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if any(isinstance(x, np.ndarray) and x.ndim for x in inputs):
            raise TypeError(f"lacuna: one operand is on {self.device}, the other in host memory: move one of them")
        self._refuse(ufunc.__name__)

    def __array_function__(self, function, types, args, kwargs):
        self._refuse(function.__name__)

    def _refuse(self, what):
        raise NotImplementedError(f'lacuna: {what} is not there on {self.device} as yet: to("cpu") copies to the host')

    def __repr__(self):
        return f"<lacuna.device_array: {' x '.join(str(n) for n in self.shape)}, {self.dtype}, {self.device}>"

    def __reduce__(self):
        return device_array, (self.get(), self.device)


def _inverse(x):
    with np.errstate(divide="ignore"):
        return float(np.divide(1.0, float(x)))


for _name in "eq ne lt le gt ge pow abs".split():
    def _method(self, *_, _what=_name):
        self._refuse({"pow": "power", "abs": "abs"}.get(_what, "comparison"))

    _method.__name__ = f"__{_name}__"
    setattr(device_array, _method.__name__, _method)

_lacuna.set_device_array(device_array)
