"""The analysis of `--compat python` in NumPy, SciPy and pandas, as a first version would be written: vectorised over
components, but not tuned. It takes one head at a time; docs/method.md has the formulas."""

import numpy as np
import pandas as pd
from scipy import stats

MAX_TOKENS = 50_000
NORMALITY_MAX_DIMS = 64
P_ALPHA = 0.01
PAIRS_PER_CELL = 256
SEED = 0


def read_head(file):
    table = pd.read_parquet(file, columns=["bucket", "example_id", "position", "vector", "sliding_window"])
    return table, np.stack(table["vector"].to_numpy()).astype(np.float64)


def subsample(table, vectors):
    if len(table) <= MAX_TOKENS:
        return table, vectors
    kept = np.random.default_rng(SEED).choice(len(table), MAX_TOKENS, replace=False)
    return table.iloc[kept].reset_index(drop=True), vectors[kept]


def orientation(keys, vectors):
    means = pd.DataFrame(vectors).groupby(keys["bucket"].to_numpy()).mean().to_numpy()
    return np.where(means.mean(axis=0) < 0, -1.0, 1.0)


def fit_lines(t, x):
    """Intercepts, slopes, R² and residuals of every column of x on t."""
    t_centred = t - t.mean()
    spread = t_centred @ t_centred
    slope = t_centred @ x / spread if spread > 0 else np.zeros(x.shape[1])
    intercept = x.mean(axis=0) - slope * t.mean()
    residual = x - intercept - np.outer(t, slope)
    total = ((x - x.mean(axis=0)) ** 2).sum(axis=0)
    r2 = 1 - (residual**2).sum(axis=0) / np.maximum(total, 1e-12) if spread > 0 else np.zeros(x.shape[1])
    return intercept, slope, r2, residual


def scalar_predictability(t, x, beta):
    y = np.log2(t + 1)
    baseline = np.abs(y - y.mean()).mean()
    r2, error = 0.0, baseline
    norm = np.linalg.norm(beta)
    s = x @ (beta / norm) if norm > 0 else np.zeros_like(y)
    if np.ptp(s) > 0:
        line = stats.linregress(s, y)
        r2 = line.rvalue**2
        error = np.abs(y - line.intercept - line.slope * s).mean()
    return r2, baseline, error, error / baseline if baseline > 0 else 1.0


def rotate(x, beta):
    """x H with the Householder reflection that sends the direction of beta to the first axis."""
    norm = np.linalg.norm(beta)
    if norm < 1e-12:
        return x
    u = beta / norm
    u[0] -= 1
    if np.linalg.norm(u) < 1e-12:
        return x
    u /= np.linalg.norm(u)
    return x - 2 * np.outer(x @ u, u)


def standardise(x):
    deviation = x.std(axis=0, ddof=1)
    return (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def normality(x):
    """Skewness, excess kurtosis and Kolmogorov-Smirnov p of a sample."""
    z = standardise(x)
    return stats.skew(z, bias=False), stats.kurtosis(z, bias=False), stats.kstest(z, "norm").pvalue


def noise_normality(x):
    z = standardise(x[:, 1:])
    chosen = np.random.default_rng(SEED).choice(z.shape[1], min(NORMALITY_MAX_DIMS, z.shape[1]), replace=False)
    p = np.array([stats.kstest(z[:, c], "norm").pvalue for c in chosen])
    return (np.median(np.abs(stats.skew(z, axis=0, bias=False))),
            np.median(np.abs(stats.kurtosis(z, axis=0, bias=False))), np.median(p), (p < P_ALPHA).mean())


def groups_by_bucket(keys):
    """For each bucket, the rows of each example with two keys or more there, and their cumulated numbers of pairs."""
    groups = {}
    for bucket, of_bucket in keys.groupby("bucket"):
        rows = [np.asarray(r) for r in of_bucket.groupby("example_id", sort=False).indices.values()]
        rows = [of_bucket.index.to_numpy()[r] for r in rows if len(r) >= 2]
        groups[bucket] = rows, np.cumsum([len(r) * (len(r) - 1) // 2 for r in rows])
    return groups


def draw_pairs(rows, pairs_up_to, rng):
    if not rows:
        return np.empty((0, 2), dtype=int)
    pairs = []
    for _ in range(min(PAIRS_PER_CELL, pairs_up_to[-1])):
        group = np.searchsorted(pairs_up_to, rng.integers(pairs_up_to[-1]), side="right")
        pairs.append(rng.choice(rows[group], 2, replace=False))
    return np.array(pairs)


def cells(queries, keys, rotated_keys, intercept, slope, variance, window, rng):
    """Plasticity of every pair of a query bucket and an earlier key bucket."""
    groups = groups_by_bucket(keys)
    variance = np.where(variance <= 0, 1e-12, variance)
    result = []
    for bucket, position in queries.groupby("bucket")["position"].mean().items():
        mean = intercept + slope * position
        first = bucket - max(1, int(window)) if window else 0
        for key_bucket in sorted(groups):
            if not first <= key_bucket < bucket:
                continue
            pairs = draw_pairs(*groups[key_bucket], rng)
            value = np.nan
            if len(pairs) > 0:
                w = rotated_keys[pairs[:, 0]] - rotated_keys[pairs[:, 1]]
                v = (w**2) @ variance
                z = (w @ mean)[v > 0] / np.sqrt(v[v > 0])
                value = (4 * stats.norm.cdf(z) * stats.norm.cdf(-z)).mean() if len(z) else np.nan
            result.append((bucket, key_bucket, value))
    return result


def window_of(queries):
    window = queries["sliding_window"].iloc[0]
    return None if window is None or pd.isna(window) or window < 1 else int(window)


def analyse_head(layer, q_head, k_head, query_file, key_file):
    """The rows of head_metrics.csv, head_bucket_plasticity.csv and head_component_weights.csv of one head."""
    keys, k = read_head(key_file)
    queries, q = read_head(query_file)
    sign = orientation(keys, k)
    keys, k = subsample(keys, k)
    queries, q = subsample(queries, q)
    q, k = q * sign, k * sign
    t = queries["position"].to_numpy(dtype=np.float64)

    _, beta, r2, _ = fit_lines(t, q)
    scalar = scalar_predictability(t, q, beta)
    q, k = rotate(q, beta), rotate(k, beta)
    intercept, slope, _, residual = fit_lines(t, q)
    variance = (residual**2).sum(axis=0) / max(len(q) - 1, 1)
    of_cells = cells(queries, keys, k, intercept, slope, variance, window_of(queries),
                     np.random.default_rng(SEED + 10007 * layer + 379 * q_head))
    head = (layer, q_head, k_head)
    metrics = (*head, len(q), len(k), q.shape[1], r2.mean(), np.linalg.norm(beta), *scalar, *normality(residual[:, 0]),
               *noise_normality(q), np.nanmean([value for _, _, value in of_cells]))
    clipped = np.maximum(r2, 0)
    weight = clipped / clipped.sum() if clipped.sum() > 0 else np.full(len(r2), 1 / len(r2))
    return [metrics], [(*head, *cell) for cell in of_cells], [(*head, c, r2[c], weight[c]) for c in range(len(r2))]
