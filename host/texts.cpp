// The texts about a component: its description completed, and an OpenAPI document.

#include <algorithm>

#include "derive.h"
#include "dtype.h"
#include "extensions.h"

namespace host {
namespace {

// Keys in the order of writing.
using OrderedJson = nlohmann::ordered_json;

struct EndpointText {
  int32_t endpoint;
  const char *path, *schema, *summary;
};

// As tesseract-core names them.
constexpr EndpointText endpoint_texts[] = {
    {TESSERACT_ENDPOINT_APPLY, "/apply", "Apply", "Evaluate the component"},
    {TESSERACT_ENDPOINT_JACOBIAN, "/jacobian", "Jacobian", "Jacobian of outputs by inputs"},
    {TESSERACT_ENDPOINT_JVP, "/jacobian_vector_product", "JVP", "Product of Jacobian and tangent"},
    {TESSERACT_ENDPOINT_VJP, "/vector_jacobian_product", "VJP",
     "Product of cotangent and Jacobian"},
    {TESSERACT_ENDPOINT_ABSTRACT_EVAL, "/abstract_eval", "Abstract",
     "Shapes and dtypes of the outputs"},
};

// A value in a document that everybody can read: what is not finite becomes null.
OrderedJson readable(const Json &json) {
  double ignored;
  if (non_finite(json, &ignored)) return nullptr;
  if (!json.is_structured()) return OrderedJson::parse(json.dump());
  OrderedJson copy = json.is_array() ? OrderedJson::array() : OrderedJson::object();
  for (const auto &[key, value] : json.items())
    if (json.is_array())
      copy.push_back(readable(value));
    else
      copy[key] = readable(value);
  return copy;
}

OrderedJson reference(const std::string &schema) {
  return {{"$ref", "#/components/schemas/" + schema}};
}

OrderedJson array_schema(const ArrayLeaf &leaf) {
  OrderedJson dtypes = OrderedJson::array();
  constexpr const char *all[] = {"bool",    "int8",    "int16",     "int32",     "int64",
                                 "uint8",   "uint16",  "uint32",    "uint64",    "float16",
                                 "float32", "float64", "complex64", "complex128"};
  for (const char *name : all)
    if (!leaf.dtype || dtype_castable(*dtype_named(name), *leaf.dtype)) dtypes.push_back(name);
  OrderedJson shape = {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}};
  if (!leaf.any_rank) {
    shape["minItems"] = leaf.dims.size();
    shape["maxItems"] = leaf.dims.size();
    OrderedJson axes = OrderedJson::array();
    for (const Dim &dim : leaf.dims) {
      OrderedJson axis = {{"type", "integer"}};
      if (dim.length >= 0) axis["enum"] = OrderedJson::array({1, dim.length});
      axes.push_back(axis);
    }
    if (!axes.empty()) shape["prefixItems"] = axes;
  }
  return {{"type", "object"},
          {"array_flags",
           leaf.differentiable ? OrderedJson::array({"DIFFERENTIABLE"}) : OrderedJson::array()},
          {"properties",
           {{"object_type", {{"const", "array"}, {"type", "string"}}},
            {"shape", shape},
            {"dtype", {{"type", "string"}, {"enum", dtypes}}},
            {"data",
             {{"anyOf",
               OrderedJson::array({reference("Base64ArrayData"), reference("JsonArrayData")})}}}}},
          {"required", OrderedJson::array({"shape", "dtype", "data"})},
          {"additionalProperties", false}};
}

OrderedJson value_schema(const ValueLeaf &leaf) {
  OrderedJson schema = OrderedJson::object();
  if (leaf.types.size() == 1)
    schema["type"] = leaf.types[0].get<std::string>();
  else if (!leaf.types.empty())
    schema["type"] = readable(leaf.types);
  if (!leaf.choices.is_null()) schema["enum"] = readable(leaf.choices);
  if (leaf.default_value) schema["default"] = readable(*leaf.default_value);
  return schema;
}

// The schema of one level of the tree below `schema`, made where it is missing.
OrderedJson &descend(OrderedJson &schema, const Segment &segment, bool required) {
  switch (segment.kind) {
    case Segment::Kind::any_index:
      schema["type"] = "array";
      return schema["items"];
    case Segment::Kind::any_key:
      schema["type"] = "object";
      return schema["additionalProperties"];
    default: {
      const std::string name =
          segment.kind == Segment::Kind::index ? std::to_string(segment.index) : segment.text;
      schema["type"] = "object";
      if (!schema.contains("additionalProperties")) schema["additionalProperties"] = false;
      if (required) {
        OrderedJson &names = schema["required"];
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
      return schema["properties"][name];
    }
  }
}

OrderedJson tree_schema(const LeafTable &table) {
  OrderedJson root = {{"type", "object"}, {"additionalProperties", false}};
  const auto place = [&root](const Path &path, bool required, OrderedJson leaf) {
    OrderedJson *at = &root;
    for (const Segment &segment : path) at = &descend(*at, segment, required);
    *at = std::move(leaf);
  };
  for (const ArrayLeaf &leaf : table.arrays) place(leaf.pattern, leaf.required, array_schema(leaf));
  for (const ValueLeaf &leaf : table.values) place(leaf.pattern, leaf.required, value_schema(leaf));
  return root;
}

// Template paths as tesseract-core writes them, of the leaves that can be differentiated.
OrderedJson differentiable_arrays(const LeafTable &table) {
  OrderedJson arrays = OrderedJson::object();
  for (const ArrayLeaf &leaf : table.arrays) {
    if (!leaf.differentiable) continue;
    OrderedJson entry = {
        {"dtype", leaf.dtype ? OrderedJson(dtype_name(*leaf.dtype)) : OrderedJson()}};
    if (!leaf.any_rank) {
      OrderedJson shape = OrderedJson::array();
      for (const Dim &dim : leaf.dims)
        shape.push_back(dim.length >= 0 ? OrderedJson(dim.length) : OrderedJson());
      entry["shape"] = shape;
    }
    arrays[leaf.path] = entry;
  }
  return arrays;
}

OrderedJson body_schemas(const tesseract_component &component) {
  const Description &description = component.description;
  const OrderedJson paths = {{"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 1}};
  const OrderedJson arrays = {{"type", "object"}};
  OrderedJson schemas;
  schemas["Apply_InputSchema"] = tree_schema(description.inputs);
  schemas["Apply_OutputSchema"] = tree_schema(description.outputs);
  const auto body = [&schemas](const std::string &name, OrderedJson properties) {
    OrderedJson required = OrderedJson::array();
    for (const auto &[key, value] : properties.items()) required.push_back(key);
    schemas[name] = {{"type", "object"},
                     {"properties", std::move(properties)},
                     {"required", std::move(required)},
                     {"additionalProperties", false}};
  };
  const OrderedJson inputs = reference("Apply_InputSchema");
  body("ApplyInputSchema", {{"inputs", inputs}});
  schemas["ApplyInputSchema"]["differentiable_arrays"] = differentiable_arrays(description.inputs);
  schemas["ApplyOutputSchema"] = reference("Apply_OutputSchema");
  schemas["ApplyOutputSchema"]["differentiable_arrays"] =
      differentiable_arrays(description.outputs);
  body("JacobianInputSchema", {{"inputs", inputs}, {"jac_inputs", paths}, {"jac_outputs", paths}});
  body("JVPInputSchema", {{"inputs", inputs},
                          {"jvp_inputs", paths},
                          {"jvp_outputs", paths},
                          {"tangent_vector", arrays}});
  body("VJPInputSchema", {{"inputs", inputs},
                          {"vjp_inputs", paths},
                          {"vjp_outputs", paths},
                          {"cotangent_vector", arrays}});
  body("AbstractInputSchema", {{"inputs", arrays}});
  for (const char *name : {"Jacobian", "JVP", "VJP", "Abstract"})
    schemas[std::string(name) + "OutputSchema"] = arrays;
  body("Base64ArrayData",
       {{"buffer", {{"type", "string"}}}, {"encoding", {{"const", "base64"}, {"type", "string"}}}});
  body("JsonArrayData",
       {{"buffer", OrderedJson::object()}, {"encoding", {{"const", "json"}, {"type", "string"}}}});
  return schemas;
}

}  // namespace

std::string description_text(const tesseract_component &component) {
  Json text = component.description.completed;
  Json endpoints = Json::object();
  for (int32_t e = TESSERACT_ENDPOINT_APPLY; e <= TESSERACT_ENDPOINT_ABSTRACT_EVAL; e++) {
    if (component.listing) break;
    const char *from = derivation(component, e);
    if (component.offered(e))
      endpoints[endpoint_name(e)] = "offered";
    else if (from)
      endpoints[endpoint_name(e)] = std::string("derived from ") + from;
  }
  if (!component.listing) text["endpoints"] = endpoints;
  text["source"] = component.source;
  return dump_json(text);
}

std::string openapi_text(const tesseract_component &component) {
  const Description &description = component.description;
  OrderedJson document;
  document["openapi"] = "3.1.0";
  document["info"] = {{"title", description.name},
                      {"version", description.version.empty() ? "unknown" : description.version}};
  if (!description.text.empty()) document["info"]["description"] = description.text;
  OrderedJson paths = OrderedJson::object();
  for (const EndpointText &text : endpoint_texts) {
    if (component.listing || !component.offered(text.endpoint)) continue;
    const auto content = [](const std::string &schema) {
      return OrderedJson{{"application/json", {{"schema", reference(schema)}}}};
    };
    paths[text.path]["post"] = {
        {"summary", text.summary},
        {"requestBody",
         {{"content", content(std::string(text.schema) + "InputSchema")}, {"required", true}}},
        {"responses",
         {{"200",
           {{"description", "The result"},
            {"content", content(std::string(text.schema) + "OutputSchema")}}}}}};
  }
  document["paths"] = paths;
  document["components"]["schemas"] = body_schemas(component);
  return document.dump();
}

}  // namespace host
