"""A comparison as the record of a report, as text, and as a summary for notebooks."""

from typing import TYPE_CHECKING

from dimetric._versions import installed_versions
from dimetric.report._outcome import references_note
from dimetric.report._records import ReportRecord

if TYPE_CHECKING:
    from dimetric.advice._comparison import Comparison

__all__ = ["comparison_html", "comparison_text", "model_about", "report_record"]

REPORTED_PACKAGES = ("dimetric", "numpy", "scipy", "scikit-learn")


def report_record(comparison: "Comparison", model_file: str | None) -> ReportRecord:
    """Return the contents of a report.

    Parameters
    ----------
    comparison : Comparison
        The comparison. Its learning curve, insight, advice and model are computed if necessary.
    model_file : str or None
        File of the saved model. None if it was not saved.
    """
    samples = comparison.samples
    comparison.compute()
    return ReportRecord(
        name=samples.table.name,
        source=samples.table.source,
        target=samples.target,
        y=samples.y,
        rows=samples.table.rows,
        feature_names=samples.feature_names,
        classes=samples.classes,
        notes=samples.notes,
        n_neighbors=comparison.n_neighbors,
        n_folds=samples.n_folds,
        rope=comparison.rope,
        random_state=comparison.random_state,
        choice=comparison.choice,
        insight=comparison.insight,
        model_file=model_file,
        model_description=comparison.learner_description,
        seconds=comparison.seconds,
        versions=installed_versions(REPORTED_PACKAGES),
        reading=samples.reading,
        advice=comparison.advice,
        budget=comparison.budget,
        curve=comparison.curve,
        sampling=_sampling(comparison),
    )


def _sampling(comparison: "Comparison") -> str:
    """Return from how many rows the samples were sampled, or "" if they were not."""
    sampling = comparison.samples.table.sampling
    return "" if sampling is None else str(sampling)


def model_about(comparison: "Comparison") -> dict[str, str]:
    """Return what the file of the fitted model says about the data and the verdict."""
    samples = comparison.samples
    about = {"data": samples.table.source, "target": samples.target, "verdict": comparison.verdict}
    if samples.task.is_regression:
        about["target_kind"] = samples.task.kind
    if samples.table.sampling is not None:
        about["sample"] = _sampling(comparison)
    return about


def comparison_text(comparison: "Comparison") -> str:
    """Return the verdict, the scores and the notes as lines of text."""
    samples, task = comparison.samples, comparison.samples.task
    n, d = samples.X.shape
    scores = ", ".join(f"{row.learner} {task.text(row.score)}" for row in comparison.choice.table)
    contents = task.reading if task.is_regression else f"{len(samples.classes)} classes"
    lines = [
        f"Comparison({n} samples, {d} feature{'s' if d != 1 else ''}, {contents})",
        comparison.verdict,
        f"Cross-validated {task.score_name}: {scores}",
        references_note(comparison.choice),
        samples.reading,
        *comparison.notes,
    ]
    return "\n  ".join(filter(None, lines))


def comparison_html(comparison: "Comparison") -> str | None:
    """Return a summary for notebooks, or None without Jinja2."""
    from dimetric.report._page import render_summary

    samples = comparison.samples
    try:
        return render_summary(
            comparison.choice,
            classes=samples.classes,
            n_rows=len(samples.y),
            n_features=samples.X.shape[1],
            n_neighbors=comparison.n_neighbors,
            target=samples.target,
            notes=[*filter(None, [samples.reading]), *samples.notes],
        )
    except ImportError:
        return None
