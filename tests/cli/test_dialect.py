"""Each verb detects the dialect of a table (separator, header, ...) only once."""

import pytest

from dimetric.data._readers import text


@pytest.fixture
def detected(monkeypatch):
    """Return the list of files whose dialect was detected."""
    found = []
    detect = text.detect_dialect

    def detect_and_count(path, header=None, **options):
        found.append(path.name)
        return detect(path, header, **options)

    monkeypatch.setattr(text, "detect_dialect", detect_and_count)
    return found


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "TABLE", "--target", "kind", "--learners", "LDA", "--out", "out"),
        ("fit", "TABLE", "--target", "kind", "--learner", "LDA", "--out", "b.dimetric"),
        ("embed", "TABLE", "--method", "pca", "--color", "kind", "--out", "z.csv"),
        ("transform", "MODEL", "TABLE", "--out", "z.csv", "--keep", "id"),
        ("predict", "MODEL", "TABLE", "--out", "p.csv", "--keep", "id"),
        ("neighbors", "MODEL", "TABLE", "--row", "5"),
        ("export", "MODEL", "TABLE", "--to", "usearch", "--out", "z.usearch", "--id", "id"),
    ],
    ids=lambda words: words[0],
)
def test_the_dialect_is_detected_once(run, wine, detected, monkeypatch, words):
    monkeypatch.chdir(wine.parent)
    model = wine.with_name("a.dimetric")
    if "MODEL" in words:
        done = run("fit", wine, "--target", "kind", "--learner", "LDA", "--out", model)
        assert done.exit_code == 0, done.output
    detected.clear()
    done = run(*({"MODEL": model, "TABLE": wine}.get(each, each) for each in words))
    assert done.exit_code == 0, done.output
    assert detected == ["wine.csv"]
