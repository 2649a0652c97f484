"""Check that an array fits into memory."""

import os


def require_memory(n_bytes: int, what: str, remedy: str) -> None:
    """Raise MemoryError if `n_bytes` exceeds the physical memory, instead of starting to swap."""
    if "SC_PHYS_PAGES" not in os.sysconf_names:  # pragma: no cover - Windows
        return
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if n_bytes > available:
        raise MemoryError(
            f"{what} would need {n_bytes / 2**30:,.0f} GiB of memory, but this machine has only "
            f"{available / 2**30:,.0f} GiB. {remedy}"
        )
