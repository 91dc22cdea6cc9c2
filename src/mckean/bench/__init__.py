"""What the methods of the field take, as ratios inside one run.

- `catalogue`: the cases by name, each at a small and at its stated size.
- `cases`: one file a kind of case. `peers`: the exact sum by each program that is here. `table`: the certified table, settled.
- `setting` and `laws`: the data. `sampling`: how much of a long sum is timed. `timing`: the rules of measurement.
- `accuracy`, `fit`, `memory`: what is measured beside time. `record`, `text`, `page`, `keeping`: what is written and printed.
- `course`: from case to case.

Times are seconds, errors are relative to the largest velocity. Only what measures imports JAX.
"""
