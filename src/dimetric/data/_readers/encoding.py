"""Detect the encoding of a text file, decode it, and split it into lines."""

import codecs
import re

LINE_END = re.compile(r"\r\n|\n|\r")


def detect_encoding(head: bytes, is_whole: bool) -> str:
    """Return the encoding in which the first part of a file can be decoded."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    pairs = head[: len(head) // 2 * 2]
    for encoding, zeros in (("utf-16-le", pairs[1::2]), ("utf-16-be", pairs[::2])):
        if len(zeros) > 1 and zeros.count(0) > len(zeros) / 2:  # ASCII characters in two bytes
            return encoding
    for encoding in ("utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8", "cp1252"):
        try:
            decode_head(head, encoding, is_whole)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"  # decodes any byte


def decode_head(head: bytes, encoding: str, is_whole: bool) -> str:
    """Decode the first part of a file, which may end in the middle of a character."""
    return codecs.getincrementaldecoder(encoding)().decode(head, final=is_whole)


def _decode_late_bytes(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are invalid in the detected encoding: see `Dialect.encoding_errors`."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    try:
        return wrong.decode("cp1252"), error.end
    except UnicodeDecodeError:
        return wrong.decode("latin-1"), error.end


DECODING_ERROR_HANDLER = "dimetric.decode_late_bytes"
codecs.register_error(DECODING_ERROR_HANDLER, _decode_late_bytes)


def text_lines(text: str) -> list[str]:
    r"""Split a text at line ends, as pandas does.

    ``str.splitlines`` also splits at other characters, which may be part of a value.

    Examples
    --------
    >>> text_lines("a\u2028b\r\nc\n")
    ['a\u2028b', 'c']
    """
    lines = LINE_END.split(text)
    return lines if lines[-1] else lines[:-1]
