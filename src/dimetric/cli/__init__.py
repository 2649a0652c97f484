"""The command line (the ``cli`` extra)."""

try:
    from dimetric.cli.main import main
except KeyboardInterrupt:  # Ctrl-C during the imports should not print a traceback either
    import sys

    print("Interrupted.", file=sys.stderr)
    raise SystemExit(130) from None

__all__ = ["main"]
