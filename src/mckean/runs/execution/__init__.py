"""The course of a run, from its start or its last checkpoint to its results.

`execute` (the verbs `start` and `resume`), `loop` over `chunks`, `stopping`, `journal` and `progress` (what is said on the way), `results` and
`outcome` (how it ended), `sameness` (what a resumed run must find again), `contracts` (what is asked of the numerical side).
"""
