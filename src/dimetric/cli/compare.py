"""The verb compare."""


def compare() -> None:
    """To come."""
