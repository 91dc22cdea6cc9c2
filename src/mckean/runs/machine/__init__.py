"""The machine that a run computes on: `environment` sets and describes it, `doctor` checks that it computes correctly."""
