"""How much memory a computation may use."""

import os


def require_memory(n_bytes: int, wanted: str, remedy: str) -> None:
    """Raise if a matrix is larger than the machine's memory, before the machine starts to swap."""
    if "SC_PHYS_PAGES" not in os.sysconf_names:  # pragma: no cover - not on Windows
        return
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if n_bytes > available:
        raise MemoryError(
            f"{wanted} would take {n_bytes / 2**30:,.0f} GiB; this machine has "
            f"{available / 2**30:,.0f}. {remedy}"
        )
