"""The fleet that every contender decides: machines and models, drawn the same way each time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

GIB = 2**30
RESERVE_FLOOR = 8 * GIB
MODELS = (
    ("dense-8b", 16_060_522_496, 4_294_967_296),
    ("dense-70b", 141_107_412_992, 21_474_836_484),
    ("sparse-120b", 65_248_815_184, 9_126_805_504),
    ("sparse-350b", 377_957_122_052, 34_359_738_368),
    ("sparse-670b", 688_586_727_753, 73_014_444_035),
)
"""Names, weights and caches in bytes; four divides each need, so that a capacity just holds it."""


def draws() -> Iterator[int]:
    """Numbers of 44 bits without end, alike on every machine."""
    state = 0x9E3779B97F4A7C15
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 20


def systems(n: int) -> Iterator[tuple[str, int]]:
    """Names and capacities in bytes.

    Of every eight machines one holds a model to the byte, one lacks a byte for that, one is small
    enough for the reserve's floor, and one has whole GiB.
    """
    for i, drawn in zip(range(n), draws(), strict=False):
        need = sum(MODELS[i // 8 % len(MODELS)][1:])
        just = max(need + RESERVE_FLOOR, need * 5 // 4)
        match i % 8:
            case 0:
                capacity = just
            case 1:
                capacity = just - 1
            case 2:
                capacity = 8 * GIB + drawn % (32 * GIB)
            case 3:
                capacity = GIB * (16 + drawn % 1500)
            case _:
                capacity = 16 * GIB + drawn % (1500 * GIB)
        yield f"system-{i:06}", capacity


def rows(n: int) -> dict[str, list[dict[str, object]]]:
    """The fleet as rows for the API."""
    return {
        "system": [{"system": name, "capacity": c} for name, c in systems(n)],
        "model": [{"model": name, "weights": w, "cache": c} for name, w, c in MODELS],
    }


def write_yaml(n: int, folder: Path) -> Path:
    """Write the fleet as one YAML file, as a person would, and return its path."""
    file = folder / "fleet.yaml"
    with file.open("w", encoding="utf-8") as out:
        out.write("model:\n")
        for name, weights, cache in MODELS:
            out.write(f"  - model: {name}\n    weights: {weights} B\n    cache: {cache} B\n")
        out.write("system:\n")
        for name, capacity in systems(n):
            whole, rest = divmod(capacity, GIB)
            text = f"{capacity} B" if rest else f"{whole} GiB"
            out.write(f"  - system: {name}\n    capacity: {text}\n")
    return file
