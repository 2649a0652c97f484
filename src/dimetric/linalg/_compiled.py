"""Products of a tile of a symmetric matrix with vectors, compiled by numba (the extra ``fast``)."""

from numba import njit

ROWS = 6  # rows that share a pass over a vector; AVX2 has too few registers for more


# The compiler vectorises the sums of rows only if it may reorder their terms.
@njit(nogil=True, cache=True, error_model="numpy", fastmath={"nnan", "nsz", "reassoc", "contract"})
def add_both_products(tile, row, column, V, total):  # type: ignore # pragma: no cover - compiled
    """Add the product of a tile with some vectors, and that of its transpose, to the totals.

    BLAS would read the tile twice, and copy it both times.

    Parameters
    ----------
    tile : ndarray of shape (b, c)
        A tile of the matrix, C-contiguous. The diagonal of the matrix is not part of it.
    row, column : int
        The first row and the first column of the tile in the matrix.
    V, total : ndarray of shape (p, n)
        The vectors and their products as rows, C-contiguous.
    """
    n_rows, n_columns = tile.shape
    columns = slice(column, column + n_columns)
    n_shared = n_rows - n_rows % ROWS
    for i in range(0, n_shared, ROWS):
        t0, t1, t2, t3, t4, t5 = (
            tile[i],
            tile[i + 1],
            tile[i + 2],
            tile[i + 3],
            tile[i + 4],
            tile[i + 5],
        )
        for k in range(len(V)):
            here, v, on_columns = V[k, row + i : row + i + ROWS], V[k, columns], total[k, columns]
            v0, v1, v2, v3, v4, v5 = here[0], here[1], here[2], here[3], here[4], here[5]
            s0, s1, s2, s3, s4, s5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(n_columns):
                s0 += t0[j] * v[j]
                s1 += t1[j] * v[j]
                s2 += t2[j] * v[j]
                s3 += t3[j] * v[j]
                s4 += t4[j] * v[j]
                s5 += t5[j] * v[j]
                on_columns[j] += (
                    t0[j] * v0 + t1[j] * v1 + t2[j] * v2 + t3[j] * v3 + t4[j] * v4 + t5[j] * v5
                )
            on_rows = total[k, row + i : row + i + ROWS]
            on_rows[0] += s0
            on_rows[1] += s1
            on_rows[2] += s2
            on_rows[3] += s3
            on_rows[4] += s4
            on_rows[5] += s5
    for i in range(n_shared, n_rows):
        t = tile[i]
        for k in range(len(V)):
            here, v, on_columns, s = V[k, row + i], V[k, columns], total[k, columns], 0.0
            for j in range(n_columns):
                s += t[j] * v[j]
                on_columns[j] += t[j] * here
            total[k, row + i] += s
