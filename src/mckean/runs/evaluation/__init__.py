"""What a state is worth: `predictions`, `selfcheck`, `baselines` and `pairing` with them, and `conclude`, which writes `results/`.

`beside` trains one of the baselines at the same time as the run.
"""
