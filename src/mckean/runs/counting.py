"""Counts in sentences."""


def counted(count: int, noun: str) -> str:
    """`1 prompt`, `1,347 prompts`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
