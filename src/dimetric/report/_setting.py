"""The scaling and the number of neighbours of a comparison in words."""

from collections.abc import Collection

__all__ = ["neighbors_text", "scale_text", "setting_note"]

SCALES = {
    "minmax": "to [0, 1]",
    "standard": "to zero mean and unit variance",
    "robust": "to zero median and unit interquartile range",
}


def scale_text(scale: str) -> str:
    """Return how features are scaled, in words.

    Examples
    --------
    >>> scale_text("standard")
    'features scaled to zero mean and unit variance'
    """
    return f"features scaled {SCALES[scale]}"


def neighbors_text(n_neighbors: int) -> str:
    """Return a number of neighbours, in words.

    Examples
    --------
    >>> neighbors_text(1), neighbors_text(3)
    ('the nearest neighbour', '3 nearest neighbours')
    """
    return "the nearest neighbour" if n_neighbors == 1 else f"{n_neighbors} nearest neighbours"


def setting_note(n_neighbors: int | None, scale: str, chosen_in_folds: Collection[str]) -> str:
    """Return a sentence about the scaling and the number of neighbours.

    Parameters
    ----------
    n_neighbors : int or None
        Number of neighbours that the fitted model uses. None if it predicts without neighbours.
    scale : {"minmax", "standard", "robust"}
        How it scales features.
    chosen_in_folds : collection of str
        Which of "n_neighbors" and "scale" were chosen anew in each fold.

    Examples
    --------
    >>> setting_note(7, "standard", ["n_neighbors", "scale"])
    'k and the scaling of features were chosen in each fold from its training rows. The mode...
    >>> setting_note(3, "minmax", [])
    'All scores use k = 3 neighbours, with features scaled to [0, 1].'
    """
    names = {"n_neighbors": "k", "scale": "the scaling of features"}
    if n_neighbors is None:
        del names["n_neighbors"]
    chosen = [text for name, text in names.items() if name in chosen_in_folds]
    setting = scale_text(scale)
    if n_neighbors is not None:
        noun = "neighbour" if n_neighbors == 1 else "neighbours"
        setting = f"k = {n_neighbors} {noun}, with {setting}"
    if not chosen:
        return f"All scores use {setting}."
    subject = " and ".join(chosen)
    verb = "were" if len(chosen) > 1 else "was"
    start = f"{subject[0].upper() if subject[0] != 'k' else 'k'}{subject[1:]}"
    return f"{start} {verb} chosen in each fold from its training rows. The model uses {setting}."
