"""The figures of a report, one file each: `draw` makes the figure, `caption` says what it shows."""
