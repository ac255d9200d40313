"""The compiled check of array leaves decides as the one in Python does."""

from __future__ import annotations

import contextlib
import copy
import gc
import itertools
import pickle
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import support
from pydantic import BaseModel
from pydantic_core import PydanticCustomError
from tesseract_host import _engine
from tesseract_host.runtime import _dtypes
from tesseract_host.runtime._check import ArrayCheck, compiled
from tesseract_host.runtime.schema_types import Array, Float32

pytestmark = pytest.mark.skipif(_engine.native is None, reason=_engine.missing)

SHAPES: list[Any] = [(), (None,), (3,), (1,), (2, 3), (None, None), (0,), (2, None, 1), ..., (-1,)]
DTYPES = (*_dtypes.DTYPE_NAMES, None)


class Held:
    """Reads as an array of its own."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.array, dtype)


class Sub(np.ndarray):
    pass


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


def unaligned() -> Any:
    return np.zeros(25, "u1")[1:].view("f8")


def arrays() -> list[Any]:
    made: list[Any] = []
    for dtype in (*_dtypes.DTYPE_NAMES, "longlong", "longdouble", ">f4", ">i8", "M8[s]", "O", "U3"):
        for shape in ((), (3,), (1,), (2, 3), (0,), (2, 2, 1)):
            made.append(np.ones(shape, "f8").astype(dtype))
        made.append(np.ones((3, 2), "f8").astype(dtype).T)
        made.append(np.ones(6, "f8").astype(dtype)[::2])
        made.append(np.ones(3, "f8").astype(dtype)[::-1])
        made.append(read_only(np.ones(3, "f8").astype(dtype)))
    return made


VALUES: list[Any] = [
    *arrays(),
    *(np.dtype(name).type(1) for name in _dtypes.DTYPE_NAMES),
    np.longdouble(1),
    np.array([1e40, 0.0, -1.0]),
    np.array([3.4028235e38, 3.4028236e38, -3.4028236e38]),
    np.array([np.inf, -np.inf, np.nan]),
    np.array([1e-42, 1e-60, 5e-324]),
    np.array([65519.0, 65520.0, 1.0]),
    np.array([-1, 0, 1]),
    np.array([255, 256, 0]),
    np.array([2**31 - 1, -(2**31), 0]),
    np.array([2**31, 0, 0]),
    np.array([-(2**63), 2**63 - 1, 0]),
    np.array([2**63, 0, 0], "u8"),
    np.array([2**53 + 1, 2**24 + 1, 16777217 * 3]),
    np.array([1 + 2j, 0, 1e300]),
    np.array([True, False, True]),
    np.float64(1e39),
    np.int64(300),
    np.ones(3, "f4").view(Sub),
    np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0]),
    unaligned(),
    *(1, 0, -1, 255, 256, 2**31, 2**53 + 1, 16777217, 2**63 - 1, 2**63, 2**70, True, False),
    *(1.0, 1.5, 1e39, 3.4028236e38, -0.0, 1e-45, 1e-50, float("inf"), float("nan"), 1j, 1 + 1e300j),
    *([1, 2, 3], [1.0, 2, 3], [[1, 2, 3], [4, 5, 6]], [], [[]], [True, False, True], [1j, 2, 3]),
    *([1e40, 1, 1], [2**63, 1, 1], [2**64, 1, 1], [-1, 1, 1], [[1], [2, 3]], [None, 1, 2], ["1"]),
    *((1.0, 2.0, 3.0), [np.float32(1), 2, 3], [Held([1.0]), 2, 3], [np.ones(3)] * 2),
    *(Held(np.ones(3)), Held(np.float32(2)), Held(["x"]), memoryview(b"abc"), b"abc", "abc", "1.0"),
    *(None, ..., {}, {1.0}, object(), range(3), Exception),
    {"shape": [3], "dtype": "float32", "data": {"buffer": [1, 2, 3], "encoding": "json"}},
    {"shape": [], "dtype": "int64", "data": {"buffer": 1, "encoding": "json"}},
    {"shape": [3], "dtype": "float32", "data": {"buffer": [1, 2], "encoding": "json"}},
]

CONTEXTS: list[Any] = [None, {}, {"strict_types": True}, {"strict_shapes": True}, {"base_dir": "/"}]


def outcome(function: Any, value: Any, context: Any) -> tuple[Any, ...]:
    """What a check comes to."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(value, SimpleNamespace(context=context))
    except PydanticCustomError as error:
        return "refused", error.type, error.message()
    except Exception as error:
        return "raised", type(error), str(error)
    if isinstance(result, np.ndarray):
        shares = isinstance(value, np.ndarray) and np.shares_memory(result, value)
        flags = (result.flags.writeable, result.flags.c_contiguous, result.flags.aligned)
        return "array", type(result), result.dtype, result.strides, flags, shares, result
    return "scalar", type(result), getattr(result, "dtype", None), result


def same(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    return first[:-1] == second[:-1] and support.same(first[-1], second[-1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_decisions(shape: Any, dtype: str | None) -> None:
    check = ArrayCheck(shape, dtype)
    quick = compiled(check)
    assert type(quick) is _engine.native.Check
    different = []
    for value, context in itertools.product(VALUES, CONTEXTS):
        if context is not None and not isinstance(value, np.ndarray | list | float | int):
            continue
        for slow, fast in ((check, quick), (check.dumped, quick.dumped)):
            expected, got = outcome(slow, value, context), outcome(fast, value, context)
            if not same(expected, got):
                different.append((value, context, expected, got))
    assert not different


def test_what_is_read_only_stays_the_object() -> None:
    quick = compiled(ArrayCheck((None,), "float32"))
    array = read_only(np.ones(3, "f4"))
    info = SimpleNamespace(context=None)
    assert quick(array, info) is array
    view = quick(np.ones(3, "f4"), info)
    assert not view.flags.writeable and quick(view, info) is view


def test_the_given_array_is_kept_alive_and_unchanged() -> None:
    quick = compiled(ArrayCheck((None,), "float32"))
    array = np.ones(3, "f4")
    before = sys.getrefcount(array)
    view = quick(array, SimpleNamespace(context=None))
    assert view.base is array and array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    del view
    assert sys.getrefcount(array) == before


def test_exceptions_of_user_code_pass() -> None:
    class Bad:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise KeyboardInterrupt

    quick = compiled(ArrayCheck((None,), "float32"))
    for value in (Bad(), [Bad(), 1.0]):
        with pytest.raises(KeyboardInterrupt):
            quick(value, SimpleNamespace(context=None))


def test_copies_of_a_check_are_checks() -> None:
    quick = compiled(ArrayCheck((3,), "float32"))
    for made in (copy.copy(quick), copy.deepcopy(quick), pickle.loads(pickle.dumps(quick))):
        assert made.array_check.shape == (3,) and made.array_check.dtype == "float32"
        assert made([1, 2, 3], SimpleNamespace(context=None)).dtype == np.float32


def test_bad_arguments() -> None:
    quick = compiled(ArrayCheck((3,), "float32"))
    with pytest.raises(TypeError):
        quick(1)
    with pytest.raises(TypeError):
        quick.dumped()
    with pytest.raises(AttributeError):
        _engine.native.Check(object())
    with pytest.raises(AttributeError):
        quick("text", object())  # no context: for the check in Python to complain about


def test_models_use_it() -> None:
    class Model(BaseModel):
        a: Array[(None,), Float32]

    function = Model.__pydantic_core_schema__["schema"]["fields"]["a"]["schema"]["python_schema"]
    assert type(function["function"]["function"]) is _engine.native.Check
    assert Model(a=[1, 2]).model_dump()["a"].dtype == np.float32


def test_nothing_leaks() -> None:
    quick = compiled(ArrayCheck((None,), "float32"))
    info = SimpleNamespace(context=None)
    values = [np.ones(4, "f4"), np.ones(4), np.arange(4), [1.0, 2.0], np.ones((4, 2), "f4")[:, 0]]
    scalar = compiled(ArrayCheck((), "float32"))
    descriptors = [np.dtype("f4"), np.dtype("f8"), np.dtype("i8")]

    def work(count: int) -> None:
        for _ in range(count):
            for value in values:
                quick(value, info)
                quick.dumped(value, info)
            for value in (1.0, 2, np.float32(1), np.array(1.0, "f4"), np.array(1.0)):
                scalar(value, info)
            for value in ("text", 1e40, np.array([1e40]), None):
                for check in (quick, scalar):
                    with contextlib.suppress(PydanticCustomError):
                        check(value, info)

    def growth() -> tuple[int, int]:
        """Of the counts of references, the largest change, and of the blocks."""
        gc.collect()
        before = [sys.getrefcount(item) for item in (*values, info, *descriptors, np.float32)]
        blocks = sys.getallocatedblocks()
        work(2000)
        gc.collect()
        after = [sys.getrefcount(item) for item in (*values, info, *descriptors, np.float32)]
        changes = [abs(a - b) for a, b in zip(after, before, strict=True)]
        return max(changes), sys.getallocatedblocks() - blocks

    work(10)
    # What others left behind may go meanwhile; a leak is there each time.
    grown = [growth() for _ in range(3)]
    assert min(references for references, _ in grown) < 50, grown
    assert min(blocks for _, blocks in grown) < 500, grown
