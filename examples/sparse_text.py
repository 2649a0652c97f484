"""Learn distances between texts: sparse tf-idf vectors with 100,000 columns.

The texts are generated: each class mixes common words with words of its own topics. No step makes
the samples dense. Run it with ``python examples/sparse_text.py``. It takes about two minutes.
"""

import resource
from time import perf_counter

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split

from dimetric import LDA, NCA, KNNClassifier, NCMClassifier

N_TEXTS = 6000
N_WORDS = 100_000
N_CLASSES = 20
MEAN_LENGTH = 300  # words in a text
TOPIC_WORDS = 2000  # words that are more frequent in a class
TOPIC_FRACTION = 0.06  # fraction of the words of a text that are drawn from its topic


def generated_texts(n_texts=N_TEXTS, n_words=N_WORDS, seed=0):
    """Return word counts as a CSR array of shape (n_texts, n_words), and the class of each text."""
    rng = np.random.default_rng(seed)
    y = rng.integers(N_CLASSES, size=n_texts)
    common = np.cumsum(1 / np.arange(1, n_words + 1))  # Zipf's law
    topics = rng.integers(n_words, size=(N_CLASSES, min(TOPIC_WORDS, n_words)))
    lengths = rng.poisson(MEAN_LENGTH * rng.gamma(2.0, 0.5, size=n_texts)) + 10
    text = np.repeat(np.arange(n_texts), lengths)
    words = np.searchsorted(common, common[-1] * rng.random(len(text)))
    of_topic = rng.random(len(text)) < TOPIC_FRACTION
    # Few words of a topic are frequent.
    rank = (topics.shape[1] * rng.random(len(text)) ** 3).astype(np.int64)
    words = np.where(of_topic, topics[y[text], rank], np.minimum(words, n_words - 1))
    counts = sparse.coo_array((np.ones(len(text)), (text, words)), shape=(n_texts, n_words))
    return counts.tocsr(), y


def main():
    counts, y = generated_texts()
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    print(f"{X.shape[0]:,} texts, {X.shape[1]:,} words, {X.nnz / np.prod(X.shape):.2%} nonzero")
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    models = {
        "Euclidean k-NN": KNNClassifier(5),
        "cosine k-NN": KNNClassifier(5, metric="cosine"),
        "class means": NCMClassifier(),
        "LDA, k-NN": KNNClassifier(5, learner=LDA()),
        "NCA(n_components=19), k-NN": KNNClassifier(5, learner=NCA(19, tol=1e-3)),
    }
    print(f"{'model':28}{'accuracy':>10}{'seconds':>10}")
    for name, model in models.items():
        started = perf_counter()
        accuracy = model.fit(X_train, y_train).score(X_test, y_test)
        print(f"{name:28}{accuracy:10.3f}{perf_counter() - started:10.1f}")
    facts = models["LDA, k-NN"].learner_.metadata()
    print(
        f"The learners use {facts['basis_rank']} coordinates ({facts['basis']}), which keep "
        f"{facts['basis_energy']:.0%} of the sum of squares."
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # Linux reports KiB
    print(f"Peak memory: {peak:.2f} GiB")


if __name__ == "__main__":
    main()
