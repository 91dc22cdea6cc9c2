"""Draw flow.svg, the picture of the README: `python docs/figures/make.py`. Its output is committed."""

import re
from pathlib import Path

import jax
import matplotlib as mpl

import mckean as mk

jax.config.update("jax_enable_x64", True)
mpl.use("Agg")


def main() -> None:
    law, left = jax.random.split(jax.random.key(0), 4)[:2]
    rho = mk.Empirical(mk.Softmax.normal(heads=64, dim=2, key_dim=2, query_std=3.0, key_std=3.0, value_std=4.0, key=law))
    depths = [0.25 * i for i in range(13)]
    flow = mk.transport(rho, mk.laws.two_moons(48, key=left), horizon=3.0, steps=48, save=depths)
    target = Path(__file__).with_name("flow.svg")
    with mpl.rc_context({"svg.hashsalt": "flow"}):
        mk.plot.flow(flow, columns=4).savefig(target, metadata={"Date": None})
    # Two digits after the point are a hundredth of a pixel's width: the file halves.
    text = re.sub(r"(\d+\.\d{2})\d+", r"\1", target.read_text("utf-8"))
    target.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", "utf-8")


if __name__ == "__main__":
    main()
