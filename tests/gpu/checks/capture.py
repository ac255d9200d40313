"""Calls on a stream that is being captured into a graph."""

from __future__ import annotations

from rows import Bench, row


@row("the CUDA example is captured in the first call of a process; replays compute")
def captured(bench: Bench) -> str:
    return bench.native("capture", bench.built("libdiffusion.so"))


@row("a Python module's call is refused while its stream is captured; the capture goes on")
def module_refused(bench: Bench) -> str:
    module = bench.modules / "address"
    return bench.native("capture-refused", module, '{"gpu_transport": "cuda_ipc"}')


@row("a staged call is refused while its stream is captured; the capture goes on")
def staged_refused(bench: Bench) -> str:
    return bench.native("capture-refused", bench.built("libdouble.so"), "{}")
