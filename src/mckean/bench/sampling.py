"""How much of the exact sum is timed: all of it, or blocks of queries and some heads, in both of which its time is linear."""

from __future__ import annotations

from mckean.bench.record import Part, Size

BLOCK = 1024  # queries: a tile of the exact method, so that nothing is padded


def part_of(size: Size, pairs: float) -> Part:
    """The part with about `pairs` (query, key, head) triples, at least 1,024 queries of one head."""
    n, h = size.tokens, size.heads
    if n * n * h <= pairs or n <= BLOCK:
        return Part(n, h, 1.0)
    heads = max(1, min(h, round(pairs / (BLOCK * n))))
    queries = BLOCK * max(1, min(n // BLOCK, int(pairs / (BLOCK * n * heads))))
    return Part(queries, heads, (n / queries) * (h / heads))
