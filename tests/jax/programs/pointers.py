"""What programs for CUDA give to a module that says where its input is.

Arguments: the fake driver, the module.  The calls are those that apply_tesseract compiles for the
platform, found in the program's text by their keys and made on arrays of the fake driver.  Prints a
line for each way of opening the module.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from device_tensors import Device
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract

DRIVER, MODULE = sys.argv[1], Path(sys.argv[2])
X = np.arange(5.0)

direct = Tesseract.from_tesseract_api(MODULE, gpu_transport="cuda_ipc")
through_c = {"loader": "python", "gpu_transport": "cuda_ipc"}
components = {
    "usual": Tesseract.from_tesseract_api(MODULE),
    "direct": direct,
    "ordered": Tesseract.from_tesseract_api(MODULE, gpu_transport="cuda_ipc", stream_ordered=True),
    "opened by the C interface": Tesseract.from_library(MODULE, options=through_c),
    "staged": direct.with_encoding(gpu_transport="none"),
}
texts = {}
for name, component in components.items():
    function = jax.jit(lambda x, component=component: apply_tesseract(component, {"x": x}))
    texts[name] = function.trace(X).lower(lowering_platforms=("cuda",)).as_text()
    assert int(function(jnp.asarray(X))["on_host"]) == 1, "on the CPU"

device = Device(DRIVER)
for name, text in texts.items():
    [key] = re.findall(r"\bkey = (\d+)", text)
    [target] = re.findall(r"custom_call @(\w+)", text)
    host = components[name]._client.host()
    before = host.statistics()["device_copies"]
    x = device.tensor(X)
    address, on_host = device.tensor(0, "int64"), device.tensor(7, "int64")
    for _ in range(3):
        waits = device.driver.fake_cuda_calls(b"cuStreamSynchronize")
        device.run(int(key), [x], [address, on_host])
    waits = device.driver.fake_cuda_calls(b"cuStreamSynchronize") - waits
    row = {
        "name": name,
        "target": target,
        "is_xla_s": device.found(address) == [x.data],
        "on_host": device.found(on_host),
        "copies": host.statistics()["device_copies"] - before,
        "waits": waits,
        "faults": device.faults(),
    }
    print(json.dumps(row))
