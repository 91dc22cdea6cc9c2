"""Numbers and results as people read them."""

import math

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(exponent: int) -> str:
    """10 to the exponent, in Unicode."""
    return "10" + str(exponent).translate(_SUPERSCRIPT)


def number(value: float | None, digits: int = 3) -> str:
    """`digits` significant digits, with a power of ten where a plain decimal would be long."""
    if value is None:
        return "—"
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if -4 < exponent < 6:
        text = f"{value:,.{max(digits - 1 - exponent, 0)}f}"
        return _trim(text).replace("-", "−")
    mantissa, raised = f"{value:.{digits - 1}e}".split("e")
    return f"{_trim(mantissa)} × {power(int(raised))}".replace("-", "−")


def exact(value: float | None) -> str:
    """A number that somebody chose (a setting, a limit, a depth), without zeros behind it."""
    if value is None or not math.isfinite(value):
        return number(value)
    mantissa, _, raised = f"{value:.6g}".partition("e")
    if raised:
        raised = power(int(raised))
        mantissa = "" if mantissa == "1" else f"{mantissa} × "
    return (mantissa + raised).replace("-", "−")


def _trim(text: str) -> str:
    """Without the zeros that say nothing: 1.0 is 1, but 0.50 keeps its digits."""
    whole, _, decimals = text.partition(".")
    return whole if decimals and not decimals.strip("0") else text


def integer(value: int | None) -> str:
    return "—" if value is None else f"{value:,}"


def percent(value: float | None, digits: int = 1) -> str:
    if value is None or not math.isfinite(value):
        return "—"
    return f"{100 * value:.{digits}f} %".replace("-", "−")


def points(value: float) -> str:
    """A difference of two shares, in percentage points, with its sign."""
    return f"{100 * value:+.1f}".replace("-", "−")


def probability(value: float) -> str:
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}" if value < 0.1 else f"p = {value:.2f}"


def duration(seconds: float | None) -> str:
    if seconds is None or not math.isfinite(seconds):
        return "—"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def size(octets: int) -> str:
    for unit, scale in (("MB", 1_000_000), ("kB", 1_000)):
        if octets >= scale:
            return f"{octets / scale:.1f} {unit}"
    return f"{octets} B"


def plain(text: object, limit: int = 28) -> str:
    """A name from outside, made fit for a figure: one line, printable, at most `limit` characters."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def listed(parts: list[str]) -> str:
    """a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""
