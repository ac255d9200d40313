// What a component says of itself (docs/description.md), read and checked once, at open.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"
#include "path.h"
#include "tensor.h"

namespace host {

// A length in a declared shape: fixed, named (equal wherever the name stands), or free.
struct Dim {
  int64_t length = -1;  // fixed where >= 0
  int32_t name = -1;    // an index into Description::names where >= 0
};

struct ArrayLeaf {
  std::string path;  // may be a pattern
  Path pattern;
  std::optional<DLDataType> dtype;  // nothing: any
  bool any_rank = false;
  std::vector<Dim> dims;
  bool differentiable = false;
  bool required = true;
  OwnedTensor default_value;  // may be null
  Layout layout = Layout::row_major;
  uint64_t alignment = 1;
};

// A leaf that travels in the JSON document.
struct ValueLeaf {
  std::string path;
  Path pattern;
  Json types;  // list of type names; empty: any
  bool required = false;
  std::optional<Json> default_value;
  Json choices;         // list of allowed values; null: all
  bool tensor = false;  // a tensor may be given here
};

struct LeafTable {
  std::vector<ArrayLeaf> arrays;
  std::vector<ValueLeaf> values;
  Json completed = Json::array();  // all leaves, in order, every default written out
};

enum class Threads : uint8_t { serial_per_instance, serial_per_process, concurrent, owner };

struct Description {
  std::string name, version, text;
  Threads threads = Threads::serial_per_instance;
  bool reentrant = false;
  bool default_floating_point = false;
  bool overlap = false;
  bool cuda = false;
  bool stream_ordered = true;  // works on the call's stream: nothing is waited for
  bool capture_safe = false;   // its work may be captured into a graph
  bool multi_device = false;   // takes tensors on several devices in one call
  bool component_checks = false;
  LeafTable inputs, outputs;
  std::vector<std::string> names;  // of lengths
  Json completed;                  // without the endpoints
};

struct DescriptionContext {
  std::string_view source;  // names the component where the description does not
  bool newer = false;       // the component knows a newer ABI: unknown keys are ignored
  bool patterns = false;    // the component has prepare: containers may be described
  bool owner = false;       // opened on a thread of its own, whatever it says of threads
  bool listing = false;     // read from a file, which the host may have written
};

// Throws Failure (component failed) saying what is wrong with it.
Description read_description(std::string_view text, const DescriptionContext &context);

// The leaf whose path or pattern matches, or null.
const ArrayLeaf *find_array(const LeafTable &table, const Path &path);
const ValueLeaf *find_value(const LeafTable &table, const Path &path);

// "x, a.b, params.{}", for messages.
std::string list_paths(const LeafTable &table);

const char *threads_name(Threads threads);

}  // namespace host
