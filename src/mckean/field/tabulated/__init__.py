"""The certified table: m(u) = ∇ log ∫ e^{⟨u, y⟩} dμ(y) once for all heads, in O(N + H).

`bounds` holds the numbers that no data can change, `plan` makes a table's sizes and its error from them, `interpolation` moves between
points and nodes, `table` builds and reads one table, `cloud` evaluates the field and its transposes by it, `guarded` hands clouds outside
the plan to the exact sum, `costs` models the time.
"""
