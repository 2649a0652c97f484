"""The command line (the ``cli`` extra)."""

try:
    from dimetric.cli.main import main
except KeyboardInterrupt:  # impatience, while this is loaded, deserves no traceback either
    raise SystemExit(130) from None

__all__ = ["main"]
