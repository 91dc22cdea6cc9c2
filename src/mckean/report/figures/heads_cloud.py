"""The head measure before and after training, in the plane of its two main directions."""

from dataclasses import dataclass

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from mckean.report.arrays import Heads
from mckean.report.palette import BLUE, CARD, FAINT, GREY, RAMP_LIGHT
from mckean.report.style import HALF, few_ticks, figure, legend, styled
from mckean.report.words import integer, percent

ATOMS = 1500
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Plane:
    """Two principal directions: coordinates before and after (atoms, 2), and the share of variance of each."""

    before: Floats
    after: Floats
    share: tuple[float, float]
    layer_before: Floats
    layer_after: Floats


def plane(heads: Heads) -> Plane:
    """Weighted principal components of the flattened parameters, of both clouds together."""
    first, layer_first = flatten(heads.before, heads.layered)
    last, layer_last = flatten(heads.after, heads.layered)
    weights = np.concatenate([_spread(heads.weights_before, len(first)), _spread(heads.weights_after, len(last))])
    cloud = np.concatenate([first, last])
    cloud = cloud - np.average(cloud, axis=0, weights=weights)
    scaled = cloud * np.sqrt(weights / weights.sum())[:, None]
    values, directions = _spectrum(scaled)
    total = float(np.sum(scaled**2))
    share = values[:2] ** 2 / total if total > 0 else np.zeros(min(2, values.size))
    where = np.zeros((len(cloud), 2))
    where[:, : share.size] = cloud @ directions[:2].T
    shares = (float(share[0]), float(share[1]) if share.size > 1 else 0.0)
    return Plane(where[: len(first)], where[len(first) :], shares, layer_first, layer_last)


def flatten(leaves: dict[str, Floats], layered: bool) -> tuple[Floats, Floats]:
    """(atoms, parameters) and the layer of each atom, layers one after another."""
    parts = list(leaves.values())
    lead = parts[0].shape[: 2 if layered else 1]
    rows = int(np.prod(lead))
    layer = np.repeat(np.arange(lead[0]), lead[1]) if layered else np.zeros(rows)
    return np.concatenate([part.reshape(rows, -1) for part in parts], axis=1), layer.astype(float)


@styled
def draw(heads: Heads, found: Plane | None = None) -> Figure:
    found = plane(heads) if found is None else found
    picture = figure(HALF, 3.9)
    axes = picture.subplots()
    before, after = (_thin(points) for points in (found.before, found.after))
    if found.before.shape == found.after.shape:
        axes.add_collection(LineCollection(list(np.stack([before, after], axis=1)), colors=FAINT, linewidths=0.5))
    size = float(np.clip(3000 / len(after), 5, 26))
    axes.scatter(*before.T, s=size, facecolors=CARD, edgecolors=GREY, linewidths=0.8, label="before")
    layer = _thin(found.layer_after)
    for step, name, mask in _groups(layer, heads.layered):
        axes.scatter(*after[mask].T, s=size, c=step, edgecolors=CARD, linewidths=0.4, label=name)
    for which, axis, share in (("1", axes.xaxis, found.share[0]), ("2", axes.yaxis, found.share[1])):
        axis.set_label_text(f"component {which} ({percent(share)} of variance)")
    few_ticks(axes, 5)
    legend(axes, 3)
    return picture


def caption(heads: Heads, found: Plane) -> str:
    """What is seen, with the share of variance that the plane shows."""
    parameters = sum(int(np.prod(leaf.shape[2 if heads.layered else 1 :])) for leaf in heads.after.values())
    text = (
        f"{integer(len(found.after))} heads of {integer(parameters)} parameters, projected on the two directions of "
        f"largest variance of both clouds together ({percent(sum(found.share))} of it). "
    )
    if found.before.shape == found.after.shape:
        text += "A line joins each head's start to its end. "
    if heads.layered:
        text += "Colour is the layer. "
    if len(found.after) > ATOMS:
        text += f"{integer(ATOMS)} of them are drawn. "
    return text + "Parameters as they are: equal maps with different (Q, K) are different points."


def _groups(layer: Floats, layered: bool) -> list[tuple[str, str, NDArray[np.bool_]]]:
    """(colour, name, mask) of the trained heads: one group, or up to eight along depth."""
    if not layered:
        return [(BLUE, "after", np.ones(layer.size, dtype=bool))]
    steps = len(RAMP_LIGHT)
    count = int(layer.max()) + 1
    group = (layer * steps / count).astype(int) if count > steps else layer.astype(int) * (steps // count)
    names: list[tuple[str, str, NDArray[np.bool_]]] = []
    for value in np.unique(group):
        mask = group == value
        low, high = int(layer[mask].min()) + 1, int(layer[mask].max()) + 1
        names.append((RAMP_LIGHT[value], f"layer {low}" if low == high else f"layers {low}–{high}", mask))
    return names


def _spectrum(matrix: Floats) -> tuple[Floats, Floats]:
    """Singular values and right directions; signs fixed so that a remade figure is not mirrored."""
    if not np.isfinite(matrix).all():
        matrix = np.nan_to_num(matrix, nan=0.0, posinf=0.0, neginf=0.0)
    _, values, directions = np.linalg.svd(matrix, full_matrices=False)
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return values, directions * np.where(signs == 0, 1.0, signs)[:, None]


def _spread(weights: Floats, atoms: int) -> Floats:
    return np.resize(weights.ravel(), atoms)


def _thin(values: Floats) -> Floats:
    if len(values) <= ATOMS:
        return values
    return values[np.linspace(0, len(values) - 1, ATOMS).astype(int)]
