"""How much memory a computation may take."""

import os


def require_memory(n_bytes: int, wanted: str, remedy: str) -> None:
    """Raise if a matrix is larger than the machine's memory, before it grinds to a halt."""
    if "SC_PHYS_PAGES" not in os.sysconf_names:  # pragma: no cover - not on Windows
        return
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if n_bytes > there:
        raise MemoryError(
            f"{wanted} would take {n_bytes / 2**30:,.0f} GiB; this machine has "
            f"{there / 2**30:,.0f}. {remedy}"
        )
