"""Fonts for characters that matplotlib's default font does not contain."""

FALLBACK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "Microsoft YaHei",
    "PingFang SC",
    "Hiragino Sans",
    "Malgun Gothic",
    "Noto Sans Arabic",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Arial Unicode MS",
)


def font_families() -> list[str]:
    """Return matplotlib's default fonts, followed by the installed fallback fonts.

    Examples
    --------
    >>> font_families()[0]
    'sans-serif'
    """
    import matplotlib
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    default = list(matplotlib.rcParamsDefault["font.family"])
    return default + [name for name in FALLBACK_FONTS if name in installed]
