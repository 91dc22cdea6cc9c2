"""Colours by role, in a light and a dark variant, distinguishable with every common colour blindness.

Figures are drawn with the light hex values; in the page each of them becomes a CSS variable of the same role,
so that one drawing follows the reader's light or dark theme.
"""

LIGHT = {
    "ink": "#1c2127",
    "muted": "#5b6570",
    "rule": "#dde1e4",
    "faint": "#b4bcc3",
    "card": "#fffffe",
    "blue": "#0b62ad",
    "orange": "#c4500c",
    "green": "#0a7a5a",
    "grey": "#78828c",
}

DARK = {
    "ink": "#e7eaec",
    "muted": "#a0aab3",
    "rule": "#31373d",
    "faint": "#59626b",
    "card": "#1b1f23",
    "blue": "#5eacf2",
    "orange": "#f0904f",
    "green": "#45c29b",
    "grey": "#8c96a0",
}

# Eight steps of viridis: its dark end is left out on dark ground, its bright end on light ground.
RAMP_LIGHT = ("#46085c", "#472c7a", "#3e4989", "#31668e", "#277f8e", "#1f988b", "#2db27d", "#56c667")
RAMP_DARK = ("#2e6f8e", "#25838e", "#1f998a", "#28ae80", "#4ac16d", "#7cd250", "#b8de29", "#f1e51d")

INK, MUTED, RULE, FAINT, CARD = (LIGHT[role] for role in ("ink", "muted", "rule", "faint", "card"))
BLUE, ORANGE, GREEN, GREY = (LIGHT[role] for role in ("blue", "orange", "green", "grey"))


def roles(*, dark: bool) -> dict[str, str]:
    """Every role with its colour, the ramp's steps as ramp0 … ramp7."""
    ramp = RAMP_DARK if dark else RAMP_LIGHT
    return (DARK if dark else LIGHT) | {f"ramp{step}": colour for step, colour in enumerate(ramp)}
