"""How many threads operations use."""

from . import _lacuna


def set_threads(threads: int | None = None) -> None:
    """Caps the threads of every operation from now on, in all of the process.

    Parameters
    ----------
    threads : int, optional
        At least 1. None: what OpenMP is set to, so all cores, OMP_NUM_THREADS or what threadpoolctl
        says.

    Notes
    -----
    A child of ``os.fork()`` has one thread whatever is set here: OpenMP's threads do not survive a
    fork. Processes that are spawned have all.

    Examples
    --------
    >>> import lacuna
    >>> lacuna.set_threads(1)
    >>> lacuna.get_threads()
    1
    >>> lacuna.set_threads(None)
    """
    if threads is not None and threads < 1:
        raise ValueError(f"lacuna: {threads} threads")
    _lacuna.set_threads(0 if threads is None else threads)


def get_threads() -> int:
    """How many threads the next operation may use."""
    return _lacuna.get_threads()
