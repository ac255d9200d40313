"""y = 2 x on a device, by the driver itself, which stands for a library of the module's."""

import ctypes
import os

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64

driver = ctypes.CDLL(os.environ["TESSERACT_HOST_CUDA_DRIVER"])
Vector = Differentiable[Array[(None,), Float64]]


class InputSchema(BaseModel):
    x: Vector
    way: str = "device"


class OutputSchema(BaseModel):
    y: Vector
    seen: dict


def checked(code):
    if code:
        raise RuntimeError(f"the driver says {code}")


class OnDevice:
    """Memory of a device, freed with the object."""

    def __init__(self, size, stream=None):
        self.size = size
        self.stream = stream
        pointer = ctypes.c_uint64()
        checked(driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(8 * size, 1))))
        self.pointer = pointer.value
        self.context = ctypes.c_void_p()
        checked(driver.cuCtxGetCurrent(ctypes.byref(self.context)))

    def __del__(self):
        checked(driver.cuCtxPushCurrent_v2(self.context))
        checked(driver.cuMemFree_v2(ctypes.c_uint64(self.pointer)))
        checked(driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))

    @property
    def __cuda_array_interface__(self):
        interface = {
            "shape": (self.size,),
            "typestr": "<f8",
            "data": (self.pointer, False),
            "version": 3,
        }
        if self.stream:
            interface["stream"] = self.stream
        return interface


class Claim:
    """Says what it is told to."""

    def __init__(self, **changes):
        self.interface = {
            "shape": (4,),
            "typestr": "<f8",
            "data": (8, False),
            "version": 3,
            "strides": None,
            **changes,
        }

    @property
    def __cuda_array_interface__(self):
        return self.interface


class OnlyDlpack:
    """Another's array, by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


kept = []
streams = []


def own_stream():
    if not streams:
        stream = ctypes.c_uint64()
        checked(driver.cuStreamCreate(ctypes.byref(stream), 1))
        streams.append(stream.value)
    return streams[0]


def scaled(x, factor, stream=None):
    pointer = x.__cuda_array_interface__["data"][0]
    made = OnDevice(x.size, stream)
    if x.size:
        checked(
            driver.fake_cuda_launch_scale(
                ctypes.c_void_p(stream or 1),
                ctypes.c_uint64(made.pointer),
                ctypes.c_uint64(pointer),
                ctypes.c_uint64(x.size),
                ctypes.c_double(factor),
            )
        )
    return made


def to_host(x):
    host = np.empty(x.size)
    pointer = ctypes.c_uint64(x.__cuda_array_interface__["data"][0])
    checked(driver.cuStreamSynchronize(ctypes.c_void_p(1)))
    checked(
        driver.fake_cuda_read(pointer, ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(x.nbytes))
    )
    return host


def result(x, way, factor=2.0):
    if way == "constant":
        return np.full(x.size, 3.0)
    if way == "made":
        made = OnDevice(x.size)
        values = np.arange(1.0, x.size + 1)
        source = ctypes.c_void_p(values.ctypes.data)
        checked(driver.fake_cuda_write(ctypes.c_uint64(made.pointer), source, values.nbytes))
        return made
    if isinstance(x, np.ndarray):
        return factor * x
    if way == "device":
        return scaled(x, factor)
    if way == "stream":
        return scaled(x, factor, own_stream())
    if way == "call's stream":
        return scaled(x, factor, x.__cuda_array_interface__["stream"])
    if way in ("managed", "pinned"):
        pointer = ctypes.c_uint64()
        size = ctypes.c_size_t(8 * x.size)
        allocate = driver.cuMemAllocManaged if way == "managed" else driver.cuMemHostAlloc
        checked(allocate(ctypes.byref(pointer), size, 1))
        values = np.ascontiguousarray(factor * to_host(x))
        checked(driver.fake_cuda_write(pointer, ctypes.c_void_p(values.ctypes.data), size))
        return Claim(shape=(x.size,), data=(pointer.value, False))
    if way == "host":
        return factor * to_host(x)
    if way == "input":
        return x
    if way == "part of input":
        pointer = x.__cuda_array_interface__["data"][0]
        return Claim(shape=(x.size - 1,), data=(pointer + 8, False))
    if way == "reversed":
        kept[:] = [scaled(x, factor)]
        end = kept[0].pointer + 8 * (x.size - 1)
        return Claim(shape=(x.size,), data=(end, False), strides=(-8,))
    if way == "dlpack":
        return OnlyDlpack(x)
    if way == "wrong size":
        return scaled(x, factor).__class__(x.size + 1)
    if way == "freed":
        pointer = OnDevice(x.size).pointer
        return Claim(shape=(x.size,), data=(pointer, False))
    if way == "too large":
        made = OnDevice(1)
        kept[:] = [made]
        return Claim(shape=(x.size,), data=(made.pointer + (1 << 30), False))
    if way.startswith("claim "):
        return Claim(**{"shape": (x.size,), **eval(way.removeprefix("claim "))})
    raise ValueError(way)


def look(x):
    if isinstance(x, np.ndarray):
        return {"kind": "host"}
    interface = x.__cuda_array_interface__
    return {
        "kind": type(x).__name__,
        "pointer": interface["data"][0],
        "read_only": interface["data"][1],
        "shape": list(x.shape),
        "dtype": x.dtype.name,
        "stream": interface.get("stream"),
        "same": bool(last) and x is last[0],
    }


last = []


def apply(inputs: InputSchema) -> OutputSchema:
    x, way = inputs.x, inputs.way
    if way == "keep":
        kept.append(x)
    elif way == "keep dlpack":
        kept.append(x.__dlpack__())
    elif way == "forget":
        kept.clear()
    elif way == "cycle":
        cycle = [x]
        cycle.append(cycle)
    elif way == "ask kept":
        try:
            seen = {"shape": kept[-1].shape}
        except RuntimeError as error:
            seen = {"error": type(error).__name__, "text": str(error)}
        return {"y": np.zeros(1), "seen": seen}
    elif way == "write":
        pointer = ctypes.c_uint64(x.__cuda_array_interface__["data"][0])
        seven = ctypes.c_double(7.0)
        checked(driver.fake_cuda_write(pointer, ctypes.byref(seven), ctypes.c_uint64(8)))
    elif way == "return kept":
        return {"y": kept[-1], "seen": {}}
    elif way == "instance":
        return OutputSchema(y=scaled(x, 2.0), seen=look(x))
    elif way == "fail":
        raise ValueError("not today")
    else:
        return {"y": result(x, way), "seen": look(x)}
    return {"y": result(x, "device"), "seen": look(x)}


def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    return {"y": result(tangent_vector["x"], inputs.way)}


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {"x": result(cotangent_vector["y"], inputs.way)}


def jacobian(inputs, jac_inputs, jac_outputs):
    made = OnDevice(inputs.x.size**2)
    values = 2.0 * np.eye(inputs.x.size)
    checked(
        driver.fake_cuda_write(
            ctypes.c_uint64(made.pointer), ctypes.c_void_p(values.ctypes.data), values.nbytes
        )
    )
    kept[:] = [made]
    return {"y": {"x": Claim(shape=values.shape, data=(made.pointer, False))}}
