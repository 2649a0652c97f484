"""A comparison as one HTML file that needs nothing else: no network, no script.

Names of features, classes and files come from anywhere: all texts are escaped by ``text``.
"""

import shlex
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from dimetric.report._html import bars, document, figure, listed, shortened, text

if TYPE_CHECKING:
    import numpy as np

    from dimetric.advice._compare import Choice
    from dimetric.advice._insight import Changed, Insight

MOST = 15  # classes, features that are listed
EXAMPLES = 4


@dataclass(frozen=True, eq=False)
class Facts:
    """What a report is about.

    Attributes
    ----------
    name, target : str
        Of the data set, and of its classes' column.
    source : str
        Where the data are, as the user wrote it.
    n_rows : int
        Rows that were learned from.
    feature_names : list of str
        Names of the features.
    classes : dict of str to int
        Sizes of the classes, largest first.
    notes : list of str
        What was done to the table.
    rows : ndarray
        The number of each sample's row in the file.
    y : ndarray
        Classes of the samples.
    k, n_folds, seed : int
        Neighbours that vote, folds, and where random draws start.
    model : Path
        File of the model.
    kept : str
        What the model is, in words.
    seconds : float
        How long it all took.
    versions : str
        Of Python and packages.
    """

    name: str
    target: str
    source: str
    n_rows: int
    feature_names: list[str]
    classes: dict[str, int]
    notes: list[str]
    rows: "np.ndarray"
    y: "np.ndarray"
    k: int
    n_folds: int
    seed: int
    model: Path
    kept: str
    seconds: float
    versions: str = field(default="")


def page(facts: Facts, found: "Choice", seen: "Insight") -> str:
    """Return the report.

    Parameters
    ----------
    facts : Facts
        What it is about.
    found : Choice
        The comparison.
    seen : Insight
        What the best learner changes.
    """
    parts = [
        _head(facts, found), _verdict(facts, found), _data(facts), _table(facts, found),
        _maps(facts, found, seen), _features(facts, found, seen), _neighbors(facts, found, seen),
        _use(facts), _end(facts),
    ]  # fmt: skip
    return document(f"{facts.name}: which distance?", parts)


def _head(facts: Facts, found: "Choice") -> str:
    return (
        f"<h1>{text(facts.name)}: which distance?</h1>"
        f'<p class="verdict"><b>{text(found.verdict, 200)}</b></p>'
    )


def _verdict(facts: Facts, found: "Choice") -> str:
    """Say what the figures of the verdict mean, and how far they can be trusted."""
    means = {name: float(each.mean()) for name, each in found.judged.items()}
    posterior = found.posterior
    tuned = "its parameters tuned anew inside each fold" if found.params else "as it is by default"
    shares = [
        ("var(--bad)", posterior.left, "Euclidean is better"),
        ("var(--line)", posterior.rope, "less than one percent apart"),
        ("var(--good)", posterior.right, f"{found.best} is better"),
    ]
    bars = "".join(f'<i style="width:{100 * p:.2f}%;background:{c}"></i>' for c, p, _ in shares)
    told = "; ".join(f"{text(name)}: {p:.2f}" for _, p, name in shares)
    if found.fresh:
        trust = (
            f"The learner was chosen by {found.n_race} other rows: these figures are what to "
            "expect of new data."
        )
    else:
        trust = (
            "The learner was chosen by the same rows, if in other folds: expect a little less of "
            "it on new data."
        )
    return (
        f'<div class="split" role="img" aria-label="{told}">{bars}</div>'
        f'<p class="soft">Probability that {told}.</p>'
        f"<p>{text(found.best)}, {tuned}, gave a share of {means[found.best]:.3f} of test rows "
        f"their class, and the Euclidean distance {means['Euclidean']:.3f}: means over "
        f"{found.runs} × {facts.n_folds} folds of {found.n_judge} rows, other folds than those of "
        f"the race below. {trust} The probabilities are those of a Bayesian correlated t-test over "
        "the folds; differences below 0.01 count as none.</p>"
    )


def _data(facts: Facts) -> str:
    largest = next(iter(facts.classes.values())) / facts.n_rows
    counts = bars(dict(list(facts.classes.items())[:MOST]), "d")
    more = len(facts.classes) - MOST
    rest = f'<p class="soft">and {more} smaller classes</p>' if more > 0 else ""
    notes = listed(facts.notes)
    return (
        f"<h2>The data</h2><p>{facts.n_rows} rows, {len(facts.feature_names)} features, "
        f"{len(facts.classes)} classes in column {text(facts.target)}. Who always says the largest "
        f"class is right in {largest:.3f} of the rows.</p>{counts}{rest}{notes}"
    )


def _table(facts: Facts, found: "Choice") -> str:
    from dimetric.report import _pictures as pictures

    rows = []
    base = found.means["Euclidean"]
    for rank, (name, mean) in enumerate(found.means.items(), start=1):
        own = found.scores[name]
        gain = "" if name == "Euclidean" else f"{mean - base:+.3f}"
        best = ' class="best"' if name == found.best else ""
        rows.append(
            f"<tr{best}><td>{rank}</td><td>{text(name)}</td><td>{mean:.3f}</td>"
            f"<td>± {own.std(ddof=1):.3f}</td><td>{gain}</td>"
            f"<td>{found.seconds[name]:.3f}</td></tr>"
        )
    n_folds = len(next(iter(found.scores.values())))
    caption = "Scores in each fold, their mean and spread; dashed, the Euclidean mean."
    late = listed(f"{name} has no score: {why}" for name, why in found.given_up.items())
    sample = ""
    if found.n_race < facts.n_rows:
        sample = f" {found.n_race} of the {facts.n_rows} rows took part, classes in proportion."
    return (
        "<h2>The race</h2><p>Every learner learned a distance from the same training rows, "
        f"features scaled to [0, 1] by them, and the {facts.k} nearest neighbours under it voted "
        f"on the test rows: stratified folds, {n_folds} of {facts.n_folds}.{sample} The score is "
        'the share of right votes.</p><div class="wide"><table><tr><th>rank</th><th>learner</th>'
        "<th>score</th><th>spread</th><th>to Euclidean</th><th>seconds</th></tr>"
        f"{''.join(rows)}</table></div>{late}" + figure(pictures.scores(found), caption)
    )


def _maps(facts: Facts, found: "Choice", seen: "Insight") -> str:
    from dimetric.report import _pictures as pictures

    names = ("Euclidean", found.best)
    first, second = pictures.scatters(seen, facts.y, names)
    whose = (
        f"{len(seen.rows)} rows that the distance was not learned from"
        if seen.drawn_are_left_out
        else f"all {len(seen.rows)} rows, most of which the distance was learned from"
    )
    before = f"Scaled features: {whose}, in the plane in which they vary most."
    if len(facts.classes) > pictures.CLASSES:
        before += f" Colours and marks tell the {len(facts.classes)} classes apart."
    after = f"The same rows under {found.best}, in the plane in which they vary most there."
    return (
        '<h2>The data under both distances</h2><div class="pair">'
        f"{figure(first, before)}{figure(second, after)}</div>"
    )


def _features(facts: Facts, found: "Choice", seen: "Insight") -> str:
    from dimetric.report import _pictures as pictures

    if not seen.importance:
        return ""
    largest = dict(list(seen.importance.items())[:MOST])
    if not seen.of_metric:
        how = (
            f"{text(found.best)} bends space, and has no matrix. What counts is what the score "
            f"loses when a feature of the {seen.n_test} rows that were left out is shuffled."
        )
        return f"<h2>Which features count</h2><p>{how}</p>{bars(largest, '.3f')}"
    how = (
        f"How far apart {text(found.best)} puts two rows that differ in nothing but a feature, by "
        "its whole range: the root of its entry on the diagonal of M, where the squared distance "
        "is (x − x')ᵀ M (x − x')."
    )
    few = min(pictures.FEATURES, len(facts.feature_names))
    caption = (
        f"M of the {few} features that count most: on the diagonal, how much each counts; beside "
        "it, how much two count together."
    )
    picture = figure(pictures.heat_map(seen, facts.feature_names), caption)
    return (
        f'<h2>Which features count</h2><p>{how}</p><div class="pair">'
        f"<div>{bars(largest, '.3g')}</div>{picture}</div>"
    )


def _neighbors(facts: Facts, found: "Choice", seen: "Insight") -> str:
    best = text(found.best)
    counts = (
        f"Learned from {seen.n_train} rows, {best} was right about {len(seen.gained)} of "
        f"{seen.n_test} others that Euclidean neighbours are wrong about, and wrong about "
        f"{len(seen.lost)} that these are right about."
    )
    shown = [*seen.gained[: EXAMPLES - 1], *seen.lost[:1]]
    rows = "".join(_example(facts, each) for each in shown)
    table = (
        '<div class="wide"><table><tr><th>row</th><th>class</th><th class="left">Euclidean '
        f'neighbours</th><th class="left">neighbours under {best}</th></tr>{rows}</table></div>'
        '<p class="soft">Rows are counted from 0, names not among them.</p>'
    )
    return f"<h2>Neighbours that changed</h2><p>{counts}</p>{table if shown else ''}"


def _example(facts: Facts, each: "Changed") -> str:
    own = facts.y[each.row]

    def chips(rows: "np.ndarray") -> str:
        told = []
        for row in rows:
            right = facts.y[row] == own
            mark = '<span class="yes">✓</span>' if right else '<span class="no">✗</span>'
            told.append(f"{mark} {facts.rows[row]} ({text(shortened(facts.y[row], 24))})")
        return ", ".join(told)

    return (
        f"<tr><td>{facts.rows[each.row]}</td><td>{text(shortened(own, 24))}</td>"
        f'<td class="left names">{chips(each.before)}</td>'
        f'<td class="left names">{chips(each.after)}</td></tr>'
    )


def _use(facts: Facts) -> str:
    file = str(facts.model)
    python = (
        f"import dimetric, pandas\nmodel = dimetric.load({file!r})\n"
        'print(model.predict(pandas.read_csv("new.csv")))'
    )
    shell = "\n".join(
        f"dimetric {verb} {shlex.quote(file)} {rest}"
        for verb, rest in (
            ("predict", "new.csv --out classes.csv"),
            ("transform", "new.csv --out coordinates.csv"),
            ("info", ""),
        )
    )
    return (
        f"<h2>Use the model</h2><p>{text(facts.kept, 300)}</p>"
        f"<pre>{escape(python)}</pre><pre>{escape(shell)}</pre>"
    )


def _end(facts: Facts) -> str:
    return (
        f'<p class="soft"><small>{text(facts.source, 200)}; seed {facts.seed}; '
        f"{facts.seconds:.0f} seconds. {text(facts.versions, 300)}</small></p>"
    )
