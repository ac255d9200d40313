"""Arrays of other libraries that can't be given: what is wrong is said, nothing is left behind."""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from given_arrays import CPU, CUDA, VALUES, ByDLPack, Interface, on_device
from tesseract_host.exceptions import EndpointError, InputError


def refused(component: Any, value: Any, pattern: str) -> None:
    for name in ("x", "beside"):
        with pytest.raises(InputError, match=f"{name}.*{pattern}") as error:
            component.apply({"x": VALUES, name: value})
        assert error.value.path == name
        assert "on_device" in str(error.value)


@pytest.mark.parametrize(
    ("changes", "pattern"),
    [
        ({"shape": (-1,)}, "negative"),
        ({"shape": (2**62, 2**62)}, "impossible shape"),
        ({"shape": "3"}, "shape"),
        ({"shape": (3.5,)}, "length"),
        ({"shape": (1,) * 70}, "rank 70"),
        ({"shape": (10**6,)}, "beyond the device's memory"),
        ({"strides": (2**60,)}, "stride"),
        ({"strides": (8, 8)}, "strides"),
        ({"strides": (3,)}, "stride"),
        ({"strides": (-(2**40),)}, "beyond the device's memory|no memory"),
        ({"typestr": "<M8"}, "typestr"),
        ({"typestr": ">f8"}, "typestr"),
        ({"typestr": 7}, "typestr"),
        ({"data": (0, False)}, "null pointer"),
        ({"data": (4096, False)}, "no memory of a CUDA device"),
        ({"data": (2**64, False)}, "pointer"),
        ({"data": 1}, "data"),
        ({"stream": 0}, "stream 0"),
        ({"stream": "1"}, "stream"),
        ({"mask": VALUES}, "mask"),
    ],
)
def test_interfaces_that_can_not_be(component, x, changes, pattern):
    refused(component, Interface(x, **changes), pattern)
    assert component.apply({"x": x})["y"].get().tolist() == [2, 4, 6]
    refused(component, Interface(x, **changes), pattern)  # with a call that nearly serves it


def test_an_interface_that_is_none(component, x):
    wrong = Interface(x)
    wrong.interface = 5
    refused(component, wrong, "no dict")


def test_freed_memory(component, fake):
    gone = fake.array(VALUES)
    component.apply({"x": gone})
    gone.free()
    refused(component, gone, "freed")


def test_host_memory_that_is_said_to_be_a_device_s(component, fake, x):
    refused(component, Interface(x, data=(VALUES.ctypes.data, False)), "no memory of a CUDA device")
    pinned = ctypes.c_void_p()
    assert fake.library.cuMemHostAlloc(ctypes.byref(pinned), ctypes.c_size_t(24), 0) == 0
    refused(component, Interface(x, data=(pinned.value, False)), "page-locked")
    assert fake.library.cuMemFreeHost(pinned) == 0


class Lies:
    """DLPack by functions of a test's."""

    def __init__(self, device: Any, capsule: Any) -> None:
        self.device, self.capsule = device, capsule

    def __dlpack__(self, **_keywords: Any) -> Any:
        return self.capsule()

    def __dlpack_device__(self) -> Any:
        return self.device() if callable(self.device) else self.device


def fail(*_arguments: Any) -> Any:
    raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("device", "capsule", "pattern"),
    [
        ((CUDA, 0), fail, "RuntimeError: boom"),
        ((CPU, 0), fail, "RuntimeError: boom"),
        (fail, fail, "RuntimeError: boom"),
        ((CUDA, 0), lambda: 7, "no DLPack capsule"),
        ((CPU, 0), lambda: None, "no DLPack capsule"),
        ((CPU,), fail, "no pair"),
        ("cpu", fail, "no pair"),
        (("cpu", 0), fail, "TypeError"),
        ((2**40, 0), fail, "OverflowError|type"),
        ((8, 0), fail, "type 8"),
        ((CUDA, 0), lambda: VALUES.__dlpack__(), "another device"),
    ],
)
def test_dlpack_that_can_not_be(component, device, capsule, pattern):
    refused(component, Lies(device, capsule), pattern)
    refused(component, Lies(device, capsule), pattern)


def test_a_capsule_that_was_taken(component):
    capsule = VALUES.__dlpack__()
    taken = np.from_dlpack(Lies((CPU, 0), lambda: capsule))
    refused(component, Lies((CPU, 0), lambda: capsule), "no DLPack capsule")
    assert taken.tolist() == [1, 2, 3]


def test_dlpack_on_a_device_that_is_not_there(component, fake, x):
    owner = on_device(component, x)

    class Elsewhere(ByDLPack):
        def __dlpack__(self, **keywords: Any) -> Any:
            capsule = self.owner.__dlpack__(max_version=(1, 0))
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
            # version, manager, deleter, flags; then the pointer and the device of the tensor
            number = pointer(capsule, b"dltensor_versioned") + 8 + 8 + 8 + 8 + 8 + 4
            ctypes.c_int32.from_address(number).value = 7
            return capsule

    refused(component, Elsewhere(owner), "device 7.*on device 0")


def test_dtypes_are_not_converted_on_a_device(component, fake, x):
    single = fake.array(VALUES.astype("f4"))
    with pytest.raises(InputError, match=r"x.*float32"):
        component.apply({"x": single})
    single.free()


def test_interrupts_are_not_swallowed(component, x):
    class Interrupted(Interface):
        @property
        def __cuda_array_interface__(self) -> Any:
            if self.interface is None:
                raise KeyboardInterrupt
            return self.interface

    given = Interrupted(x)
    component.apply({"x": given})
    given.interface = None
    with pytest.raises(KeyboardInterrupt):
        component.apply({"x": given})


def test_failing_driver_calls(component, fake, x, stream):
    """Each call of a run on another stream fails in turn: an error, and nothing is left behind."""
    x.stream = 2
    view = component.with_calls(stream=stream)
    view.apply({"x": x})
    fake.synchronize(stream)
    before = fake.state().outstanding()
    number = 0
    while True:
        number += 1
        fake.fail_nth(number, 999)
        try:
            view.apply({"x": x})
            failed = False
        except (InputError, RuntimeError, EndpointError) as error:
            assert (
                "CUDA_ERROR_UNKNOWN" in str(error) or "999" in str(error) or "launch" in str(error)
            )
            failed = True
        injected = fake.failed()
        fake.fail_nth(0, 0)
        fake.clear()
        fake.synchronize(stream)
        assert fake.state().outstanding() == before, f"call {number}, failed: {failed}"
        if not injected:
            break
    assert number > 6
    assert view.apply({"x": x})["y"].get().tolist() == [2, 4, 6]


def test_components_in_python_are_called_one_way():
    from tesseract_host import Tesseract

    file = Path(__file__).parents[2] / "python_loader" / "modules" / "devices" / "tesseract_api.py"
    module = Tesseract.from_tesseract_api(file)
    assert module.statistics()["calls"] == 0
    with pytest.raises(NotImplementedError, match="in Python"):
        module.with_calls(stream=1)


def test_streams_that_can_not_be(component):
    for wrong in (-1, 2**64):
        with pytest.raises(ValueError, match="stream"):
            component.with_calls(stream=wrong)


def test_objects_are_not_kept(component, fake, x):
    given = Interface(x)
    references = sys.getrefcount(given)
    for _ in range(3):
        component.apply({"x": given})
    assert sys.getrefcount(given) == references
    with pytest.raises(InputError):
        component.apply({"x": VALUES, "beside": Interface(x, shape=(-1,))})
    gc.collect()
    assert sys.getrefcount(given) == references


def test_the_host_s_own_interface_takes_them_too(component, fake, x):
    host = component._client.host()
    outputs, _ = host.apply({"x": x})
    assert outputs["y"].get().tolist() == [2, 4, 6]
    with pytest.raises(TypeError, match="NumPy array"):
        host.apply({"x": object()})
    with pytest.raises(ValueError, match="negative"):
        host.apply({"x": Interface(x, shape=(-1,))})
