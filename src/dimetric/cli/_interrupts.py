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

_received: list[int] = []  # the first signal
_printed: list[bool] = []  # not empty when the line has been printed


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
    threading.Thread(target=_end_in_time, args=(wake,), daemon=True).start()
    for number in LINES:
        if signal.getsignal(number) != signal.SIG_IGN:  # ignored by "command &" in a script
            signal.signal(number, _raise)
    try:
        yield
    finally:
        if not _received:  # the command has ended, and the end of Python can take a second
            for number in LINES:
                signal.signal(number, signal.SIG_IGN)
        else:
            # The interrupt may have arrived as another exception, such as SystemExit from Typer or
            # ImportError from a package that it interrupted.
            if not _printed:
                interrupt_exit()
            with suppress(OSError):
                sys.stdout.flush()
            os._exit(128 + _received[0])


def _raise(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    if len(_received) == 1:
        raise KeyboardInterrupt


def _end_in_time(wake: int) -> None:
    """Wait for a signal, and end the process if the main thread does not."""
    number = 0
    while number not in LINES:
        number = os.read(wake, 1)[0]
    time.sleep(GRACE_SECONDS)
    if not _printed:  # the main thread may be about to end
        cursor = SHOW_CURSOR if sys.stderr.isatty() else ""
        os.write(2, f"{cursor}{LINES[signal.Signals(number)]}\n".encode())
    os._exit(128 + number)  # worker processes end when their standard input closes


def interrupt_exit(hint: object = "") -> SystemExit:
    """Print that the command was interrupted or terminated, and return the exception to raise.

    Parameters
    ----------
    hint : object
        Text for the end of the line, or a KeyboardInterrupt with that text.
    """
    number = _received[0] if _received else signal.SIGINT
    _printed.append(True)
    print(f"{LINES[signal.Signals(number)]} {hint}".strip(), file=sys.stderr, flush=True)
    # If the interrupt came while exec() compiled a string, Python remembers it and kills itself
    # with SIGINT at the end, whatever the exit code is. The next string clears that mark.
    exec("")
    return SystemExit(128 + number)
