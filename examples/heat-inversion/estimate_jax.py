"""The estimation in JAX: module, Fortran solver and optimiser in one compiled function.

    python estimate_jax.py --heat build/libheat.so --output-dir result

Needs jax, optax and matplotlib besides tesseract-host.  Exit status 0: the estimate explains the
observations.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import optax
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract

HERE = Path(__file__).resolve().parent
HEATERS = ((0.25, 0.25), (0.75, 0.30), (0.50, 0.75))
EXPLAINED = 0.6  # noise alone gives a misfit of about 0.5


class Observations(NamedTuple):
    noise: float
    sensors: np.ndarray  # (sensor, 2): x and y
    times: np.ndarray
    readings: np.ndarray  # (time, sensor)


class Unknowns(NamedTuple):
    """The fields of the module that are searched for; of each (inclusion, …)."""

    background: Any
    amplitude: Any
    centre: Any
    width: Any


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.reader(file) if not row[0].startswith("#")]


def read_observations(path: Path) -> Observations:
    (_, noise), x, y, *later = rows(path)
    sensors = np.array([x[1:], y[1:]], float).T
    table = np.array(later, float)
    return Observations(float(noise), sensors, table[:, 0], table[:, 1:])


def read_unknowns(path: Path) -> dict[str, Unknowns]:
    """Truth, guess and scale."""
    table = np.array([row[1:] for row in rows(path)], float)
    count = (len(table) - 1) // 4
    return {
        name: Unknowns(
            column[0],
            column[1 : 1 + count],
            column[1 + count : 1 + 3 * count].reshape(count, 2),
            column[1 + 3 * count :],
        )
        for name, column in zip(("truth", "guess", "scale"), table.T, strict=True)
    }


def heating(cells: int) -> np.ndarray:
    """Power density of the heaters, [y, x]."""
    at = (np.arange(cells) + 0.5) / cells
    spots = [
        np.exp(-((at[None, :] - x) ** 2 + (at[:, None] - y) ** 2) / (2 * 0.07**2))
        for x, y in HEATERS
    ]
    return 60.0 * np.sum(spots, axis=0)


class Plate:
    """The two components, one behind the other."""

    def __init__(
        self, module: Path, solver: Path, observed: Observations, cells: int, steps: int
    ) -> None:
        self.field = Tesseract.from_tesseract_api(module)
        self.heat = Tesseract.from_library(solver)
        self.observed = observed
        self.cells, self.steps = cells, steps
        self.source = jnp.asarray(heating(cells))

    def conductivity(self, unknowns: Unknowns) -> jax.Array:
        given = {**unknowns._asdict(), "nx": self.cells, "ny": self.cells}
        return apply_tesseract(self.field, given)["conductivity"]

    def readings(self, conductivity: jax.Array) -> jax.Array:
        given = {
            "conductivity": conductivity,
            "source": self.source,
            "sensors": self.observed.sensors,
            "times": self.observed.times,
            "duration": self.observed.times[-1],
            "steps": self.steps,
        }
        return apply_tesseract(self.heat, given)["readings"]

    def misfit(self, unknowns: Unknowns) -> jax.Array:
        """Half the mean square of the residuals in units of the noise."""
        simulated = self.readings(self.conductivity(unknowns))
        return 0.5 * jnp.mean(((simulated - self.observed.readings) / self.observed.noise) ** 2)


def estimate(
    plate: Plate, guess: Unknowns, scale: Unknowns, rounds: int
) -> tuple[Unknowns, list[float]]:
    """The unknowns after all rounds of ten steps of L-BFGS, and the misfit before each step."""
    search = optax.lbfgs()

    def unscaled(scaled: Unknowns) -> Unknowns:
        return jax.tree.map(jnp.multiply, scaled, scale)

    def misfit(scaled: Unknowns) -> jax.Array:
        return plate.misfit(unscaled(scaled))

    known = optax.value_and_grad_from_state(misfit)  # by the line search of the step before

    def step(state: tuple[Unknowns, Any], _: None) -> tuple[tuple[Unknowns, Any], jax.Array]:
        scaled, memory = state
        value, gradient = known(scaled, state=memory)
        change, memory = search.update(
            gradient, memory, scaled, value=value, grad=gradient, value_fn=misfit
        )
        return (optax.apply_updates(scaled, change), memory), value

    @jax.jit
    def ten(state: tuple[Unknowns, Any]) -> tuple[tuple[Unknowns, Any], jax.Array]:
        return jax.lax.scan(step, state, length=10)

    scaled = jax.tree.map(jnp.divide, guess, scale)
    state, history = (scaled, search.init(scaled)), []
    start = time.perf_counter()
    for number in range(rounds):
        state, misfits = ten(state)
        history += misfits.tolist()
        print(
            f"{10 * number:6} {misfits[0]:12.5g} {time.perf_counter() - start:8.1f} s", flush=True
        )
    return unscaled(state[0]), history


def draw(path: Path, fields: dict[str, jax.Array], history: list[float]) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(15, 3.6), layout="constrained")
    low, high = float(fields["true"].min()), float(fields["true"].max())
    for axis, (title, field) in zip(axes, fields.items(), strict=False):
        image = axis.imshow(field, origin="lower", extent=(0, 1, 0, 1), vmin=low, vmax=high)
        axis.set(title=f"{title} conductivity", xlabel="x", ylabel="y")
    figure.colorbar(image, ax=axes[:3])
    axes[3].semilogy(history)
    axes[3].set(title="misfit", xlabel="step")
    figure.savefig(path, dpi=100)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heat", type=Path, default=HERE / "build/libheat.so")
    parser.add_argument("--output-dir", type=Path, default=Path("result"))
    parser.add_argument("--cells", type=int, default=64, help="along each axis (64)")
    parser.add_argument("--steps", type=int, default=200, help="of the solver in time (200)")
    parser.add_argument("--rounds", type=int, default=6, help="of ten steps of the search (6)")
    given = parser.parse_args()

    jax.config.update("jax_enable_x64", True)  # both components compute in float64
    unknowns = read_unknowns(HERE / "data/unknowns.csv")
    observed = read_observations(HERE / "data/observations.csv")
    module = HERE / "conductivity/tesseract_api.py"
    plate = Plate(module, given.heat, observed, given.cells, given.steps)
    found, history = estimate(plate, unknowns["guess"], unknowns["scale"], given.rounds)

    last = float(plate.misfit(found))
    print(f"misfit {history[0]:.4g} to {last:.4g}, where noise alone gives about 0.5")
    given.output_dir.mkdir(parents=True, exist_ok=True)
    shown = {"true": unknowns["truth"], "first": unknowns["guess"], "estimated": found}
    draw(
        given.output_dir / "heat-inversion-jax.png",
        {title: plate.conductivity(value) for title, value in shown.items()},
        [*history, last],
    )
    return 0 if last < EXPLAINED else 1


if __name__ == "__main__":
    sys.exit(main())
