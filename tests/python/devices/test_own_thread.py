"""Device arrays in a module that its client runs on a thread of its own, called by the host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tesseract_host import Tesseract

MODULE = Path(__file__).parents[2] / "python_loader" / "modules" / "devices" / "tesseract_api.py"
CASES = [(False, "device"), (False, "host"), (True, "call's stream")]


def endpoint(*, threads: str, stream_ordered: bool, stream: int):
    """The module's apply as compiled code calls it, on this stream."""
    pytest.importorskip("tesseract_host._native_client")
    from tesseract_host._native_client import Calls, Way

    tesseract = Tesseract.from_tesseract_api(
        MODULE, gpu_transport="cuda_ipc", threads=threads, stream_ordered=stream_ordered
    )
    try:
        host = tesseract._client.host()
    except ImportError as error:
        pytest.skip(str(error))
    return Calls(host, Way(stream=stream)).endpoint("apply")


@pytest.mark.parametrize("threads", ["serial", "owner"])
@pytest.mark.parametrize(("stream_ordered", "way"), CASES)
def test_the_context_is_current_there(fake, threads, stream_ordered, way):
    x = fake.array(np.array([1.0, 2.0, 3.0]))
    stream = fake.stream()
    apply = endpoint(threads=threads, stream_ordered=stream_ordered, stream=stream)
    for _ in range(3):
        assert apply({"x": x, "way": way})["y"].get().tolist() == [2.0, 4.0, 6.0]
    x.free()
    fake.destroy_stream(stream)


def test_the_per_thread_stream_is_another_one_there(fake):
    x = fake.array(np.array([1.0, 2.0, 3.0]))
    apply = endpoint(threads="owner", stream_ordered=True, stream=2)
    with pytest.raises(Exception, match="per-thread"):
        apply({"x": x, "way": "call's stream"})
    x.free()
