"""The memory of the machine, and a check that an array fits into it."""

import os
from pathlib import Path

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container on Linux
SMALLEST_MEMORY = 2**24  # bytes; every machine has them, so its memory need not be read


def physical_memory() -> float:
    """Return the memory of the machine or container in bytes, or infinity if it is unknown."""
    if "SC_PHYS_PAGES" not in os.sysconf_names:  # pragma: no cover - Windows
        return float("inf")
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(available, int(CGROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # no such file, or "max"
        return available


def require_memory(n_bytes: int, what: str, remedy: str) -> None:
    """Raise MemoryError if `n_bytes` exceeds the memory, instead of starting to swap."""
    if n_bytes <= SMALLEST_MEMORY:
        return
    available = physical_memory()
    if n_bytes > available:
        raise MemoryError(
            f"{what} would need {n_bytes / 2**30:,.0f} GiB of memory, but this machine has only "
            f"{available / 2**30:,.0f} GiB. {remedy}"
        )
