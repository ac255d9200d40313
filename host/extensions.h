// Tables of the host's by string id, and the texts about a component.
#pragma once

#include <string>
#include <string_view>

#include "component.h"

namespace host {

const void *host_extension(std::string_view id);

// The description completed: defaults written out, and the endpoints with what derives them.
std::string description_text(const tesseract_component &component);

// An OpenAPI document as tesseract-core gives it, made from the leaf tables.
std::string openapi_text(const tesseract_component &component);

}  // namespace host
