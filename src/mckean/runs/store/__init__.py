"""The run folder on the disk: written whole or not at all, found again, and held by one process at a time.

`folder` (the places), `manifest`, `metrics`, `checkpoint` and `leaves` (a state as arrays), `lock`; `storage` is how each of them writes.
"""
