"""A Python module called with arrays on a device, as the handler and JAX's callback call it.

Arguments: the fake driver, the module.  Prints what the module saw and what came back.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from device_tensors import Device
from tesseract_host import Tesseract
from tesseract_host.jax import _adapter, register

DRIVER, MODULE = sys.argv[1:]
COUNT = 3

device = Device(DRIVER)
tesseract = Tesseract.from_tesseract_api(Path(MODULE))
register(tesseract)
spec = {
    "inputs": ["x", "a"],
    "json": {},
    "of": ["y", "z"],
    "operands": ["float64:1", "float64:0"],
    "results": ["float64:1", "float64:0"],
}
client = tesseract._client
prepared = _adapter.prepare(client, "apply", json.dumps(spec, sort_keys=True))
operands = [device.tensor([0.0, 0.5, 1.0]), device.tensor(2.0)]
results = [device.tensor(np.zeros(COUNT)), device.tensor(0.0)]
device.run(prepared.key, operands, results)
print(
    json.dumps(
        {
            "calls": client.component.module.calls,
            "y": device.found(results[0]),
            "z": device.found(results[1]),
            "copies": client.host().statistics()["device_copies"],
            "faults": device.faults(),
        }
    )
)
