// What a component says about itself, as a page for people or as the JSON it came from.
#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <vector>

#include "commands.h"
#include "leaves.h"

namespace tool {
namespace {

using host::Json;

using Row = std::vector<std::string>;

// Prints rows with aligned columns; the first is the heading.
void print_table(const std::vector<Row> &rows) {
  std::vector<size_t> widths;
  for (const Row &row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row &row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); i++)
      line += " " + row[i] + std::string(widths[i] - row[i].size() + 1, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

std::string plain(const Json &value) {
  return value.is_string() ? value.get<std::string>() : host::dump_json(value);
}

// "a, b" of a list, and the text itself of a string.
std::string joined(const Json &value) {
  if (!value.is_array()) return plain(value);
  std::string text;
  for (const Json &item : value) text += (text.empty() ? "" : ", ") + plain(item);
  return text;
}

std::string shape_text(const Json &shape) {
  if (!shape.is_array()) return "any rank";
  std::string text;
  for (const Json &length : shape)
    text += (text.empty() ? "" : ", ") + (length.is_null() ? std::string("?") : plain(length));
  return "[" + text + "]";
}

std::string shortened(std::string text, size_t longest) {
  if (text.size() > longest) text.replace(longest - 3, std::string::npos, "...");
  return text;
}

// What is special about a leaf, in words.
std::string notes(const Json &leaf) {
  std::string text;
  const auto add = [&](const std::string &note) { text += (text.empty() ? "" : ", ") + note; };
  if (leaf.value("differentiable", false)) add("differentiable");
  if (const auto value = leaf.find("default"); value != leaf.end())
    add("default " + shortened(host::dump_json(*value), 24));
  else if (leaf.contains("required") && !leaf.value("required", true))
    add("optional");
  if (const auto layout = leaf.find("layout"); layout != leaf.end() && *layout != "row-major")
    add("layout " + plain(*layout));
  if (const auto allowed = leaf.find("enum"); allowed != leaf.end())
    add("one of " + joined(*allowed));
  if (const auto units = leaf.find("units"); units != leaf.end() && !units->is_null())
    add("in " + plain(*units));
  return text;
}

void print_leaves(const char *heading, const Json &description) {
  const auto leaves = description.find(heading);
  std::printf("\n%s\n", heading);
  if (leaves == description.end() || leaves->empty()) {
    std::printf("  none\n");
    return;
  }
  std::vector<Row> rows = {{"path", "type", "shape", ""}};
  for (const Json &leaf : *leaves) {
    const bool array = leaf.contains("shape");
    const auto type = leaf.find(array ? "dtype" : "type");
    rows.push_back({plain(leaf.value("path", Json(""))),
                    type == leaf.end() || type->is_null() ? "any" : joined(*type),
                    array ? shape_text(leaf["shape"]) : "", notes(leaf)});
  }
  print_table(rows);
}

// Which way a component says that it takes calls of an endpoint, and why.
std::string route_text(const Json &routes, const std::string &name) {
  const auto route = routes.find(name);
  if (route == routes.end() || !route->is_object()) return {};
  std::string text = plain(route->value("route", Json(""))), separator = ": ";
  for (const Json &reason : route->value("reasons", Json::array())) {
    text += separator + plain(reason);
    separator = "; ";
  }
  return text;
}

// The endpoints by name; "derived" ones are made by the host from those the component has.  A
// component may say by which route each is called.
void print_endpoints(const Json &endpoints, const Json &routes) {
  std::printf("\nendpoints\n");
  std::vector<Row> rows;
  if (endpoints.is_object()) {
    for (const auto &[name, how] : endpoints.items())
      rows.push_back({name, plain(how), route_text(routes, name)});
  } else {
    for (const Json &name : endpoints) rows.push_back({plain(name)});
  }
  print_table(rows);
}

bool takes_cuda(const Json &description) {
  const auto devices = description.find("devices");
  return devices != description.end() && devices->is_array() &&
         std::find(devices->begin(), devices->end(), "cuda") != devices->end();
}

void print_page(const Json &description, const std::string &source) {
  std::printf("%s", plain(description.value("name", Json(source))).c_str());
  for (const char *key : {"version", "description"})
    if (const auto text = description.find(key); text != description.end() && text->is_string())
      std::printf("%s%s", *key == 'v' ? " " : "\n", plain(*text).c_str());
  std::printf("\n");
  print_leaves("inputs", description);
  print_leaves("outputs", description);
  if (const auto endpoints = description.find("endpoints"); endpoints != description.end())
    print_endpoints(*endpoints, description.value("x-routes", Json::object()));
  std::printf("\nproperties\n");
  std::vector<Row> rows;
  const auto add = [&](std::initializer_list<const char *> keys) {
    for (const char *key : keys)
      if (const auto value = description.find(key); value != description.end())
        rows.push_back({key, joined(*value)});
  };
  add({"threads", "reentrant", "floating_point", "overlap", "devices"});
  // What these say, they say of calls with arrays on a device.
  if (takes_cuda(description)) add({"stream_ordered", "capture_safe", "multi_device"});
  add({"batch"});
  print_table(rows);
}

}  // namespace

int inspect(const InspectOptions &options) {
  const tesseract::Component component = open(options.source);
  if (!options.json && !options.openapi) {
    print_page(description_of(component), options.source.text);
    return 0;
  }
  const std::string_view text = options.openapi ? component.openapi() : component.description();
  std::printf("%.*s\n", static_cast<int>(text.size()), text.data());
  return 0;
}

}  // namespace tool
