"""What calls cost, by a component that does nothing.  Figures, no limits."""

from __future__ import annotations

from rows import Bench, row


@row("a prepared call on device arrays is measured beside a staged one")
def calls(bench: Bench) -> str:
    return bench.native("speed", bench.built("libnothing.so"))
