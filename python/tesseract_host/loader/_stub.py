"""temporary"""
from typing import get_args, get_origin
from tesseract_host import _engine
from tesseract_host.loader import walk
from tesseract_host.runtime._check import ArrayCheck
from tesseract_host.runtime.schema_types import is_array_annotation


def node(a):
    if is_array_annotation(a):
        return ("array", _engine.native.Check(ArrayCheck(a.expected_shape, a.expected_dtype)))
    if walk.is_model(a):
        fields = []
        dec = a.__pydantic_decorators__
        for name, f in a.model_fields.items():
            n = node(f.annotation)
            for d in dec.field_validators.values():
                if name in d.info.fields and d.info.mode == "after":
                    n = ("after", n, d.func)
            kind, value = 0, None
            if not f.is_required():
                kind, value = (2 if f.default.__hash__ is None else 1), f.default
            fields.append((name, name, n, kind, value))
        base = a.__mro__[1] if a.__mro__[1].__name__ != "BaseModel" else a
        m = ("model", a, base, 0, tuple(fields))
        for d in dec.model_validators.values():
            assert d.info.mode == "after"
            f = getattr(a, d.cls_var_name)
            m = ("after", m, f)
        return m
    o = get_origin(a)
    if o is dict:
        return ("dict", node(get_args(a)[1]))
    if o is list:
        return ("list", node(get_args(a)[0]))
    if o in walk.UNIONS:
        args = [x for x in get_args(a) if x is not type(None)]
        assert len(args) == 1
        return ("optional", node(args[0]))
    return ({int: "int", float: "float", str: "str", bool: "bool"}[a],)


def compiled(component, endpoint):
    if _engine.native is None:
        return None, None
    try:
        r = component.schemas.requests[endpoint].model_fields["inputs"].annotation
        i = _engine.native.compile(node(r))
    except Exception as e:
        import os
        if os.environ.get("STUB_DEBUG"): raise
        return None, None
    try:
        o = _engine.native.compile(node(component.schemas.results["apply"].model_fields["root"].annotation))
    except Exception:
        o = None
    return i, o
