"""The object that stands for device memory in Python: what it says, and to whom, and how long."""

from __future__ import annotations

import ctypes
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
from tesseract_host import _engine
from tesseract_host.exceptions import RevokedArrayError

native = _engine.library()
if native is None:
    pytest.skip("the compiled loader is not built for this Python", allow_module_level=True)

ADDRESS = 0x7000_0000
READ_ONLY = 1  # DLPack's flag
IS_COPIED = 2


def made(shape: Any = (2, 3), dtype: str = "float32", **given: Any) -> Any:
    """A DeviceArray over an address that nobody reads."""
    order = ("device", "strides", "stream", "publishes", "read_only", "is_input")
    defaults = {"device": 0, "strides": None, "stream": 0}
    defaults.update(publishes=False, read_only=False, is_input=True)
    address = given.pop("address", ADDRESS)
    values = {**defaults, **given}
    return native.device_array(address, shape, dtype, *(values[name] for name in order))


# ---- DLPack's structures -----------------------------------------------------------------------


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """DLManagedTensor."""


Managed._fields_ = (
    ("tensor", Tensor),
    ("context", ctypes.c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))),
)


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""


Versioned._fields_ = (
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("context", ctypes.c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(Versioned))),
    ("flags", ctypes.c_uint64),
    ("tensor", Tensor),
)

_python = ctypes.pythonapi
_python.PyCapsule_GetName.restype = ctypes.c_char_p
_python.PyCapsule_GetName.argtypes = (ctypes.py_object,)
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_python.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)


def taken(capsule: Any, keep: list[Any]) -> Any:
    """What a consumer gets, who takes it; `keep` holds names as long as their capsules live."""
    name = _python.PyCapsule_GetName(capsule)
    kind = {b"dltensor": Managed, b"dltensor_versioned": Versioned}[name]
    address = _python.PyCapsule_GetPointer(capsule, name)
    used = ctypes.create_string_buffer(b"used_" + name)
    keep.append(used)
    _python.PyCapsule_SetName(capsule, ctypes.cast(used, ctypes.c_char_p))
    return kind.from_address(address)


# ---- What it says ------------------------------------------------------------------------------


def test_attributes() -> None:
    array = made((2, 3), "float32", device=1)
    assert (array.shape, array.ndim, array.size, array.nbytes) == ((2, 3), 2, 6, 24)
    assert array.dtype == np.dtype("float32") and isinstance(array.dtype, np.dtype)
    assert array.strides == (12, 4)
    assert len(array) == 2
    assert repr(array) == "<DeviceArray (2, 3) float32 on cuda:1>"
    assert array.__dlpack_device__() == (2, 1)


def test_an_array_of_rank_0_is_one_too() -> None:
    array = made((), "int64")
    assert (array.shape, array.ndim, array.size, array.nbytes, array.strides) == ((), 0, 1, 8, ())
    with pytest.raises(TypeError, match="rank 0"):
        len(array)


TYPES = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64"


@pytest.mark.parametrize("dtype", [*TYPES.split(), "complex128"])
def test_the_interface_is_version_3(dtype: str) -> None:
    interface = made((4, 0, 2), dtype).__cuda_array_interface__
    assert interface == {
        "shape": (4, 0, 2),
        "typestr": np.dtype(dtype).str,
        "data": (0, False),
        "strides": None,
        "version": 3,
    }
    assert made((4,), dtype).__cuda_array_interface__["data"] == (ADDRESS, False)


def test_strides_are_bytes_where_they_say_something() -> None:
    assert made((2, 3), strides=(3, 1)).__cuda_array_interface__["strides"] is None
    assert made((1, 3), strides=(77, 1)).__cuda_array_interface__["strides"] is None
    assert made((2, 3), strides=(1, 2)).__cuda_array_interface__["strides"] == (4, 8)
    assert made((2, 3), strides=(-3, 1)).strides == (-12, 4)


def test_read_only_where_it_was_asked_for() -> None:
    assert made(read_only=True).__cuda_array_interface__["data"] == (ADDRESS, True)


@pytest.mark.parametrize("stream", [1, 2, 0xABCDEF])
def test_a_stream_is_said_only_where_it_is_published(stream: int) -> None:
    assert "stream" not in made(stream=stream).__cuda_array_interface__
    published = made(stream=stream, publishes=True)
    assert published.__cuda_array_interface__["stream"] == stream
    assert "stream" not in made(stream=0, publishes=True).__cuda_array_interface__


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_types_without_a_typestr_are_for_dlpack(dtype: str) -> None:
    array = made((3,), dtype)
    with pytest.raises(TypeError, match="DLPack"):
        array.__cuda_array_interface__  # noqa: B018
    with pytest.raises(TypeError, match="DLPack"):
        hasattr(array, "__cuda_array_interface__")
    assert array.nbytes == (6 if dtype == "bfloat16" else 3)
    tensor = taken(array.__dlpack__(max_version=(1, 0)), []).tensor
    assert tensor.bits == (16 if dtype == "bfloat16" else 8)
    try:
        import ml_dtypes
    except ImportError:
        with pytest.raises(TypeError, match="ml_dtypes"):
            array.dtype  # noqa: B018
    else:
        assert array.dtype == np.dtype(getattr(ml_dtypes, dtype))


def test_no_copy_to_the_host_unasked() -> None:
    with pytest.raises(TypeError, match=r"\.get\(\)"):
        np.asarray(made())
    with pytest.raises(TypeError):
        pickle.dumps(made())
    with pytest.raises(TypeError):
        type(made())()


# ---- DLPack ------------------------------------------------------------------------------------


def test_a_versioned_capsule_says_read_only() -> None:
    keep: list[Any] = []
    array = made((2, 3), "float32", strides=(1, 2), device=1)
    managed = taken(array.__dlpack__(max_version=(1, 5)), keep)
    assert isinstance(managed, Versioned)
    assert managed.major == 1 and managed.flags == READ_ONLY
    tensor = managed.tensor
    assert (tensor.data, tensor.device_type, tensor.device_id) == (ADDRESS, 2, 1)
    assert (tensor.ndim, tensor.code, tensor.bits, tensor.lanes) == (2, 2, 32, 1)
    assert (tensor.shape[:2], tensor.strides[:2], tensor.byte_offset) == ([2, 3], [1, 2], 0)
    managed.deleter(managed)
    own = taken(made(is_input=False).__dlpack__(max_version=(1, 0)), keep)
    assert own.flags == 0
    own.deleter(own)


@pytest.mark.parametrize("version", [None, (0, 8)])
def test_others_get_the_old_capsule(version: Any) -> None:
    array = made((5,))
    managed = taken(array.__dlpack__(stream=-1, max_version=version), [])
    assert isinstance(managed, Managed)
    assert managed.tensor.strides[:1] == [1]
    managed.deleter(managed)


def test_imports_that_are_alive_are_counted() -> None:
    keep: list[Any] = []
    array = made()
    assert native.open_exports(array) == 0
    capsule = array.__dlpack__()
    assert native.open_exports(array) == 1
    del capsule  # nobody took it
    assert native.open_exports(array) == 0
    first, second = (taken(array.__dlpack__(max_version=(1, 0)), keep) for _ in range(2))
    assert native.open_exports(array) == 2
    first.deleter(first)
    assert native.open_exports(array) == 1
    weak = weakref.ref(array)
    del array
    assert weak() is None
    second.deleter(second)  # after the array


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"stream": 0}, ValueError),
        ({"stream": -2}, ValueError),
        ({"stream": "1"}, TypeError),
        ({"max_version": 1}, TypeError),
        ({"dl_device": (1, 0)}, BufferError),
        ({"dl_device": (2, 1)}, BufferError),
        ({"dl_device": 2}, TypeError),
        ({"unknown": 2}, TypeError),
    ],
)
def test_bad_requests(arguments: dict[str, Any], error: type[Exception]) -> None:
    array = made()
    with pytest.raises(error):
        array.__dlpack__(**arguments)
    assert native.open_exports(array) == 0
    array.__dlpack__(dl_device=(2, 0), copy=False)


# ---- After the call ----------------------------------------------------------------------------


def test_after_the_call_every_access_raises() -> None:
    array = made()
    native.revoke(array)
    names = ["__cuda_array_interface__", "shape", "dtype", "ndim", "strides", "nbytes", "size"]
    for name in names:
        with pytest.raises(RevokedArrayError, match="keep a copy"):
            getattr(array, name)
    with pytest.raises(RevokedArrayError):
        hasattr(array, "__cuda_array_interface__")  # no consumer falls through to another way
    for call in (array.__dlpack__, array.__dlpack_device__, array.get, lambda: len(array)):
        with pytest.raises(RevokedArrayError):
            call()
    assert issubclass(RevokedArrayError, RuntimeError)
    assert not issubclass(RevokedArrayError, AttributeError)
    assert "no longer valid" in repr(array)


def test_objects_are_made_again_and_again() -> None:
    arrays = [made() for _ in range(200)]
    references = [weakref.ref(array) for array in arrays]
    del arrays
    gc.collect()
    assert all(reference() is None for reference in references)
    again = [made((i,)) for i in range(200)]
    assert [len(array) for array in again] == list(range(200))
    assert native.open_exports(again[0]) == 0
    native.make_device_arrays(8, 100)


# ---- With a driver -----------------------------------------------------------------------------


@pytest.fixture
def host(fake: Any) -> Any:
    """The host, which gives device arrays its functions."""
    from tesseract_host import _host

    try:
        _host.binding()
    except ImportError as error:
        pytest.skip(str(error))
    from tesseract_host import Tesseract

    from_module = Tesseract.from_tesseract_api(MODULE_FILE)
    from_module._client.host()
    return fake


MODULE = """
from pydantic import BaseModel
class InputSchema(BaseModel):
    n: int = 0
class OutputSchema(BaseModel):
    n: int = 0
def apply(inputs):
    return OutputSchema()
"""
MODULE_FILE = ""


@pytest.fixture(autouse=True, scope="module")
def module_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    global MODULE_FILE
    file = tmp_path_factory.mktemp("module") / "tesseract_api.py"
    file.write_text(MODULE)
    MODULE_FILE = str(file)


def test_consumers_wait_for_the_arrays_stream(host: Any) -> None:
    stream, other = host.stream(blocking=False), host.stream(blocking=False)
    memory = host.array([1.0, 2.0])
    array = made((2,), "float64", address=memory.pointer, stream=stream)
    for consumer, expected in ((other, 1), (1, 1), (stream, 0), (-1, 0)):
        host.reset_calls()
        array.__dlpack__(stream=consumer)
        assert host.calls("cuStreamWaitEvent") == expected
        assert host.calls("cuStreamSynchronize") == 0
    host.reset_calls()
    array.__dlpack__(stream=None)
    assert host.calls("cuStreamSynchronize") == 1
    for each in (stream, other):
        host.destroy_stream(each)
    memory.free()


def test_get_copies(host: Any) -> None:
    memory = host.array(np.arange(6.0))
    array = made((3, 2), "float64", address=memory.pointer, strides=(1, 3))
    expected = np.arange(6.0).reshape(2, 3).T
    assert np.array_equal(array.get(), expected)
    assert np.array_equal(np.array(array, copy=True), expected)
    copied = taken(array.__dlpack__(max_version=(1, 0), copy=True), [])
    assert copied.flags & IS_COPIED and copied.tensor.data != memory.pointer
    assert native.open_exports(array) == 0
    assert np.array_equal(host.read(copied.tensor.data, (3, 2)), expected)
    copied.deleter(copied)
    host.pump_all()
    memory.free()


def test_a_failing_driver_is_said(host: Any) -> None:
    memory = host.array([1.0])
    array = made((1,), "float64", address=memory.pointer, stream=1)
    host.fail_next("cuStreamSynchronize", 999)
    with pytest.raises(RuntimeError, match="CUDA_ERROR_UNKNOWN"):
        array.__dlpack__()
    assert native.open_exports(array) == 0
    memory.free()
