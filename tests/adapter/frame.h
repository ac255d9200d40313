// Frames as XLA builds them, and a runtime that keeps the error it is given.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../../python/adapter/adapter.h"
#include "../../python/adapter/xla_ffi.h"
#include "../native/support.h"

struct xla_error {
  int32_t code;
  std::string message;
};

namespace test {

// ---- The runtime --------------------------------------------------------------------------------

inline uint64_t cuda_stream = 0;
inline int32_t cuda_ordinal = 0;

inline const xla_api &runtime() {
  static const xla_api api = [] {
    xla_api made{};
    made.size = sizeof made;
    made.version = {sizeof made.version, nullptr, 0, 1};
    made.error_create = [](xla_error_create *given) {
      return new xla_error{given->code, given->message};
    };
    made.stream_get = [](xla_stream_get *asked) -> xla_error * {
      asked->stream = reinterpret_cast<void *>(cuda_stream);
      return nullptr;
    };
    made.ordinal_get = [](xla_ordinal_get *asked) -> xla_error * {
      asked->ordinal = cuda_ordinal;
      return nullptr;
    };
    return made;
  }();
  return api;
}

template <class T>
constexpr int32_t xla_type() {
  if constexpr (std::is_same_v<T, double>) return XLA_F64;
  if constexpr (std::is_same_v<T, float>) return XLA_F32;
  if constexpr (std::is_same_v<T, int64_t>) return XLA_S64;
  return XLA_U8;
}

// ---- Frames -------------------------------------------------------------------------------------

// One call.  Arrays are borrowed.
class Frame {
 public:
  Frame(std::string tesseract, std::string endpoint, std::string spec) {
    attribute("endpoint", std::move(endpoint));
    uint64_t key = std::hash<std::string>()(tesseract + spec);
    number("key", key);
    attribute("spec", std::move(spec));
    attribute("tesseract", std::move(tesseract));
    raw.size = sizeof raw;
    raw.api = &runtime();
    raw.stage = XLA_STAGE_EXECUTE;
  }
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

  Frame &attribute(const std::string &name, std::string value) {
    const std::string &kept = texts_.emplace_back(std::move(value));
    xla_text &text = values_.emplace_back(xla_text{kept.data(), kept.size()});
    return add(name, XLA_ATTRIBUTE_STRING, &text);
  }
  Frame &number(const std::string &name, uint64_t value, int32_t dtype = XLA_U64) {
    xla_scalar &scalar = scalars_.emplace_back(xla_scalar{dtype, &numbers_.emplace_back(value)});
    return add(name, XLA_ATTRIBUTE_SCALAR, &scalar);
  }
  Frame &without(const std::string &name) {
    attributes_.erase(name);
    return *this;
  }
  uint64_t key() const { return numbers_.front(); }

  Frame &in(int32_t dtype, void *data, std::vector<int64_t> dims) {
    return buffer(in_, dtype, data, std::move(dims));
  }
  Frame &out(int32_t dtype, void *data, std::vector<int64_t> dims) {
    return buffer(out_, dtype, data, std::move(dims));
  }
  template <class T>
  Frame &in(Array<T> &array) {
    return in(xla_type<T>(), array.values.data(), array.shape);
  }
  template <class T>
  Frame &out(Array<T> &array) {
    return out(xla_type<T>(), array.values.data(), array.shape);
  }

  // Sorts attributes by name, as XLA does, or the other way round.
  Frame &finish(bool reversed = false) {
    for (auto *list : {&in_, &out_}) {
      list->items.clear();
      for (xla_buffer &one : list->buffers) list->items.push_back(&one);
      list->types.assign(list->items.size(), XLA_BUFFER);
    }
    raw.arguments = in_.view();
    raw.results = out_.view();
    names_.clear();
    kinds_.clear();
    pointers_.clear();
    for (auto &[name, one] : attributes_) {
      one.name = {name.data(), name.size()};
      names_.push_back(&one.name);
      kinds_.push_back(one.kind);
      pointers_.push_back(one.value);
    }
    if (reversed) {
      std::reverse(names_.begin(), names_.end());
      std::reverse(kinds_.begin(), kinds_.end());
      std::reverse(pointers_.begin(), pointers_.end());
    }
    raw.attributes = {sizeof raw.attributes, nullptr,       static_cast<int64_t>(names_.size()),
                      kinds_.data(),         names_.data(), pointers_.data()};
    return *this;
  }

  // Null when the call succeeded.
  std::unique_ptr<xla_error> call() {
    finish();
    return std::unique_ptr<xla_error>(tesseract_jax_cpu(&raw));
  }

  xla_frame raw{};

 private:
  struct Buffers {
    std::deque<xla_buffer> buffers;
    std::deque<std::vector<int64_t>> dims;
    std::vector<void *> items;
    std::vector<int32_t> types;

    xla_buffers view() {
      return {sizeof(xla_buffers), nullptr, static_cast<int64_t>(items.size()), types.data(),
              items.data()};
    }
  };
  struct Attribute {
    xla_text name;
    int32_t kind;
    void *value;
  };

  Frame &add(const std::string &name, int32_t kind, void *value) {
    attributes_[name] = {{}, kind, value};
    return *this;
  }
  Frame &buffer(Buffers &to, int32_t dtype, void *data, std::vector<int64_t> lengths) {
    std::vector<int64_t> &dims = to.dims.emplace_back(std::move(lengths));
    to.buffers.push_back(
        {sizeof(xla_buffer), nullptr, dtype, data, static_cast<int64_t>(dims.size()), dims.data()});
    return *this;
  }

  Buffers in_, out_;
  std::map<std::string, Attribute> attributes_;
  std::deque<std::string> texts_;
  std::deque<xla_text> values_;
  std::deque<xla_scalar> scalars_;
  std::deque<uint64_t> numbers_;
  std::vector<xla_text *> names_;
  std::vector<int32_t> kinds_;
  std::vector<void *> pointers_;
};

inline testing::AssertionResult succeeds(const std::unique_ptr<xla_error> &error) {
  if (!error) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "code " << error->code << ": " << error->message;
}

inline testing::AssertionResult fails(const std::unique_ptr<xla_error> &error, int32_t code,
                                      std::initializer_list<std::string_view> texts = {}) {
  if (!error) return testing::AssertionFailure() << "it succeeded";
  auto failure = testing::AssertionFailure() << "code " << error->code << ": " << error->message;
  if (error->code != code) return failure << ", expected code " << code;
  for (const auto text : texts)
    if (error->message.find(text) == std::string::npos)
      return failure << ", without \"" << text << "\"";
  return testing::AssertionSuccess();
}

// ---- Components ---------------------------------------------------------------------------------

// Adds a component under an identity for its lifetime.
class Added {
 public:
  Added(std::string identity, const Component &component) : identity_(std::move(identity)) {
    EXPECT_EQ(tesseract_jax_add(identity_.data(), identity_.size(), component.get()), TESSERACT_OK);
  }
  ~Added() { tesseract_jax_remove(identity_.data(), identity_.size()); }
  Added(const Added &) = delete;
  Added &operator=(const Added &) = delete;

 private:
  std::string identity_;
};

inline uint64_t calls(std::string_view identity, std::string_view endpoint) {
  return tesseract_jax_calls(identity.data(), identity.size(), endpoint.data(), endpoint.size());
}

inline int32_t prepare(std::string_view identity, std::string_view endpoint, std::string_view spec,
                       uint64_t key, std::string *text = nullptr) {
  char *message = nullptr;
  const int32_t status =
      tesseract_jax_prepare(identity.data(), identity.size(), endpoint.data(), endpoint.size(),
                            spec.data(), spec.size(), key, &message);
  if (text) *text = message ? message : "";
  tesseract_jax_free(message);
  return status;
}

// ---- The square family, y = a * x * x
// ------------------------------------------------------------

inline const char *const square_id = "square-0123456789abcdef-01234567-0";
inline const char *const square_apply =
    R"({"inputs":["x","a"],"of":["y"],"operands":["float64:1","float64:0"],"results":["float64:1"]})";
inline const char *const square_jvp =
    R"({"inputs":["x","a"],"of":["y"],"operands":["float64:1","float64:0","float64:1"],)"
    R"("results":["float64:1"],"wrt":["x"]})";
inline const char *const square_vjp =
    R"({"inputs":["x","a"],"of":["y"],"operands":["float64:1","float64:0","float64:1"],)"
    R"("results":["float64:1","float64:0"],"wrt":["x","a"]})";
inline const char *const square_jacobian =
    R"({"inputs":["x","a"],"of":["y"],"operands":["float64:1","float64:0"],)"
    R"("results":["float64:2","float64:1"],"wrt":["x","a"]})";

}  // namespace test
