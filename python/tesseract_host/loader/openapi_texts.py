"""The texts of the published schema that explain; and the components that only it has."""

from __future__ import annotations

from typing import Any

ENDPOINTS = {
    "apply": "Evaluates the component.",
    "jacobian": "The derivatives of the outputs `jac_outputs` by the inputs `jac_inputs`.",
    "jacobian_vector_product": "How the outputs `jvp_outputs` change along `tangent_vector`, "
    "a direction in the inputs `jvp_inputs`.",
    "vector_jacobian_product": "The gradients by the inputs `vjp_inputs` of the outputs "
    "`vjp_outputs`, weighted by `cotangent_vector`.",
    "health": "Whether the component can be called.",
    "abstract_eval": "Shapes and dtypes of the outputs, from those of the inputs.",
    "test": "Makes one call and compares it with what is expected. That it differs is an answer, "
    "no error: see `status`.",
}

_POINT = "Where the derivatives are taken."
_BY = "Paths of the inputs to differentiate by."
_OF = "Paths of the outputs to differentiate."

# By component, by property; "" is the component itself.
DESCRIPTIONS: dict[str, dict[str, str]] = {
    "ApplyInputSchema": {"inputs": "The inputs."},
    "ApplyOutputSchema": {"": "The outputs."},
    "AbstractInputSchema": {"inputs": "The inputs, with shape and dtype in place of arrays."},
    "AbstractOutputSchema": {"": "The outputs, with shape and dtype in place of arrays."},
    "JacobianInputSchema": {"inputs": _POINT, "jac_inputs": _BY, "jac_outputs": _OF},
    "JacobianOutputSchema": {
        "": "By output path, then by input path: an array of shape `(*output, *input)`."
    },
    "JVPInputSchema": {
        "inputs": _POINT,
        "jvp_inputs": _BY,
        "jvp_outputs": _OF,
        "tangent_vector": "By input path: an array of the input's shape.",
    },
    "JVPOutputSchema": {"": "By output path: an array of the output's shape."},
    "VJPInputSchema": {
        "inputs": _POINT,
        "vjp_inputs": _BY,
        "vjp_outputs": _OF,
        "cotangent_vector": "By output path: an array of the output's shape.",
    },
    "VJPOutputSchema": {"": "By input path: an array of the input's shape."},
    "ShapeDType": {"": "Shape and dtype of an array."},
}

# What a server answers to a request that does not fit.
VALIDATION_ERRORS: dict[str, dict[str, Any]] = {
    "HTTPValidationError": {
        "properties": {
            "detail": {
                "items": {"$ref": "#/components/schemas/ValidationError"},
                "type": "array",
                "title": "Detail",
            }
        },
        "type": "object",
        "title": "HTTPValidationError",
    },
    "ValidationError": {
        "properties": {
            "loc": {
                "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "type": "array",
                "title": "Location",
            },
            "msg": {"type": "string", "title": "Message"},
            "type": {"type": "string", "title": "Error Type"},
            "input": {"title": "Input"},
            "ctx": {"type": "object", "title": "Context"},
        },
        "type": "object",
        "required": ["loc", "msg", "type"],
        "title": "ValidationError",
    },
}
