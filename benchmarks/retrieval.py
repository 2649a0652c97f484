"""Time and memory of RetrievalAdapter on 1,000 queries and 100,000 documents of 384 features.

Run it without arguments for the host, or with ``--device cuda`` for a GPU, which requires torch.
"""

import argparse
import resource
import time
import warnings

import numpy as np

from dimetric import Relevance, RetrievalAdapter
from dimetric.quality.retrieval import ndcg

N_TOPICS = 2000
N_RELEVANT = 3  # relevant documents of each query, of about 50 on its topic


def make_sets(n_queries, n_documents, d, seed=0):
    """Return queries, held-out queries, documents, and the relevance of each set of queries.

    A vector is a topic, plus noise that is stronger in some directions than in others.
    """
    rng = np.random.default_rng(seed)
    topics = rng.standard_normal((N_TOPICS, d), dtype=np.float32)
    spread = np.where(np.arange(d) < d // 3, 2.5, 0.7).astype(np.float32)
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0].astype(np.float32)

    def vectors(labels):
        noise = rng.standard_normal((len(labels), d), dtype=np.float32)
        noise *= spread
        noise += topics[labels]
        return noise @ rotation

    labels = [rng.integers(0, N_TOPICS, n) for n in (n_queries, 1000, n_documents)]
    order = np.argsort(labels[2], kind="stable")
    first = np.searchsorted(labels[2][order], np.arange(N_TOPICS))
    sets = [vectors(each) for each in labels]
    relevance = []
    for each in labels[:2]:
        positions = order[np.minimum(first[each][:, None] + np.arange(N_RELEVANT), n_documents - 1)]
        queries = np.repeat(np.arange(len(each)), N_RELEVANT)
        pairs = np.stack([queries, positions.ravel()], axis=1)
        relevance.append(Relevance(pairs, len(each), n_documents))
    return *sets, *relevance


def main():
    """Print the time of one fit, the memory of the process, and the nDCG@10 of new queries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=384)
    parser.add_argument("--sides", default="query")
    parser.add_argument("--reg", default="auto")
    options = parser.parse_args()
    Q, T, D, known, unseen = make_sets(options.queries, options.documents, options.features)
    if options.device != "cpu":
        import torch

        Q, T, D = (torch.asarray(each, device=options.device) for each in (Q, T, D))
        (D[:1000] @ D.T).sum().item()  # load the libraries of the device
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    reg = options.reg if options.reg == "auto" else float(options.reg)
    adapter = RetrievalAdapter(sides=options.sides, reg=reg, random_state=0)
    started, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapter.fit(Q, D, known)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{options.queries:,} queries x {options.documents:,} documents x {options.features}, "
        f"reg={options.reg}, sides={options.sides}, {options.device}: {seconds:.1f} s "
        f"({cpu:.1f} s of CPU time), peak {peak:,.0f} MB (data alone {before:,.0f} MB)"
    )
    print({key: value for key, value in adapter.metadata().items() if key != "time"})
    identity = RetrievalAdapter(reg=1e9).fit(Q[:2], D[:2], [[0, 0], [1, 1]])
    for name, model in (("identity", identity), ("adapter", adapter)):
        score = np.nanmean(ndcg(model.search(T, D)[1], unseen))
        print(f"nDCG@10 of 1,000 new queries, {name}: {score:.4f}")


if __name__ == "__main__":
    main()
