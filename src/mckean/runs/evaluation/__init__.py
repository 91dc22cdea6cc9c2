"""What a state is worth: `predictions`, `selfcheck`, `baselines` and `pairing` with them, and `conclude`, which writes `results/`."""
