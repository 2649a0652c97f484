"""Ctrl-C and SIGTERM end the command with one line and the exit code 130 or 143.

The library installs no signal handlers. The command installs them, because it owns the process.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

GRACE_SECONDS = 1.5  # time that the main thread has to end
SHOW_CURSOR = "\x1b[?25h"  # a progress bar hides the cursor
LINES = {signal.SIGINT: "Interrupted.", signal.SIGTERM: "Terminated."}


class _State:
    """State shared by the signal handler, the main thread and the thread that ends the process."""

    first_signal: int | None = None
    line_printed = False


_state = _State()


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """Turn the first signal into a KeyboardInterrupt, and ignore all further ones.

    Python handles a signal only when the main thread returns from a library function, and a large
    factorisation can take minutes. If the main thread has not ended in time, another thread ends
    the process.
    """
    wake, signalled = os.pipe()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
    thread = threading.Thread(target=_end_in_time, args=(wake,), daemon=True)
    thread.start()
    for number in LINES:
        if signal.getsignal(number) != signal.SIG_IGN:  # ignored by "command &" in a script
            signal.signal(number, _interrupt_once)
    try:
        yield
    finally:
        if _state.first_signal is None:
            # The command has ended. Python can take another second to exit.
            for number in LINES:
                signal.signal(number, signal.SIG_IGN)
            # End the thread. Otherwise, DuckDB reports objects that it keeps alive as leaks.
            signal.set_wakeup_fd(-1)
            os.close(signalled)
            thread.join(GRACE_SECONDS)
        else:
            # The interrupt may have arrived as another exception, such as SystemExit from Typer or
            # ImportError from a package that it interrupted.
            if not _state.line_printed:
                print_interrupt()
            with suppress(OSError):
                sys.stdout.flush()
            os._exit(128 + _state.first_signal)


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    """Handle a signal: raise KeyboardInterrupt for the first one only."""
    if _state.first_signal is None:
        _state.first_signal = number
        raise KeyboardInterrupt


def _end_in_time(wake: int) -> None:
    """Wait for a signal, then end the process unless the main thread does so in time."""
    number = 0
    while number not in LINES:
        received = os.read(wake, 1)
        if not received:  # the command has ended, and the other side is closed
            return
        number = received[0]
    time.sleep(GRACE_SECONDS)
    if not _state.line_printed:
        cursor = SHOW_CURSOR if sys.stderr.isatty() else ""
        os.write(2, f"{cursor}{LINES[signal.Signals(number)]}\n".encode())
    os._exit(128 + number)  # worker processes end when their standard input closes


def print_interrupt(hint: object = "") -> int:
    """Print that the command was interrupted or terminated, and return the exit code.

    Parameters
    ----------
    hint : object
        Text for the end of the line, or a KeyboardInterrupt with that text.
    """
    number = _state.first_signal or signal.SIGINT
    _state.line_printed = True
    print(f"{LINES[signal.Signals(number)]} {hint}".strip(), file=sys.stderr, flush=True)
    # If the interrupt came while exec() compiled a string, Python sets a flag, and later kills
    # itself with SIGINT instead of using the exit code. Another call of exec() clears the flag.
    exec("")
    return 128 + number
