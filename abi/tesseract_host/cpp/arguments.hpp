// tesseract_host/cpp/arguments.hpp: what a call is given: inputs, wanted results and options.
//
// All of it borrows: write it where the call is, as in  heat.apply({{"u", u}}, {"y"})
#ifndef TESSERACT_HOST_CPP_ARGUMENTS_HPP
#define TESSERACT_HOST_CPP_ARGUMENTS_HPP

#include <optional>
#include <vector>

#include "handle.hpp"
#include "tensor.hpp"

namespace tesseract {

/// The leaves that are no tensors, as the text of one JSON object.  Borrowed.
struct Json {
  std::string_view text;
};

/// One input or seed: {"path", array}.  In a list of inputs one entry may be a Json.  For prepare a
/// path alone means "as declared, on the CPU".  Borrows the path and the owner; see Tensor for the
/// elements.
class Leaf {
 public:
  template <std::convertible_to<std::string_view> Path>
  Leaf(const Path &path) : path_(path) {}
  /// `owner` lets a component keep the array beyond the call; may be null.
  Leaf(std::string_view path, const Tensor &tensor, const tesseract_owner *owner = nullptr)
      : path_(path), tensor_(tensor), owner_(owner) {}
  Leaf(Json json) : path_(json.text), is_json_(true) {}

  bool is_json() const noexcept { return is_json_; }
  std::string_view json() const noexcept { return path_; }
  tesseract_leaf c() const noexcept {
    return {detail::c_string(path_), tensor_ ? tensor_->get() : nullptr, owner_};
  }

 private:
  std::string_view path_;
  std::optional<Tensor> tensor_;
  const tesseract_owner *owner_ = nullptr;
  bool is_json_ = false;
};

/// One wanted result: "path", or {"path", array} to have it written there.  Borrows both.
class Want {
 public:
  template <std::convertible_to<std::string_view> Path>
  Want(const Path &path) : leaf_(path) {}
  Want(std::string_view path, const Destination &destination) : leaf_(path, destination) {}

  static bool is_json() noexcept { return false; }
  static std::string_view json() noexcept { return {}; }
  tesseract_leaf c() const noexcept { return leaf_.c(); }

 private:
  Leaf leaf_;
};

/// A borrowed list, for use as an argument: braces, or a vector or array that lives on.
template <class T>
class List {
 public:
  List(std::initializer_list<T> items) noexcept : items_(items.begin(), items.size()) {}
  List(std::span<const T> items) noexcept : items_(items) {}
  List(const std::vector<T> &items) noexcept : items_(items) {}
  std::span<const T> items() const noexcept { return items_; }

 private:
  std::span<const T> items_;
};

using Leaves = List<Leaf>;

/// Stands for every output, or every differentiable leaf (see TESSERACT_ALL).
struct All {};
inline constexpr All all{};

/// A list of Want, or `all`.
class Wanted : public List<Want> {
 public:
  using List::List;
  Wanted(All) noexcept : List(std::span<const Want>{}), all_(true) {}
  bool is_all() const noexcept { return all_; }

 private:
  bool all_ = false;
};

namespace detail {

// A list as C sees it; valid as long as the list it was made from.
class CLeaves {
 public:
  template <class T>
  explicit CLeaves(const List<T> &list) {
    items_.reserve(list.items().size());
    for (const auto &item : list.items()) {
      if (!item.is_json()) {
        items_.push_back(item.c());
      } else if (leaves_.json.data == nullptr) {
        leaves_.json = c_string(item.json());
      } else {
        throw Error(TESSERACT_ERROR_INVALID_ARGUMENT, "a list of inputs holds two Json entries");
      }
    }
    leaves_.count = static_cast<std::int64_t>(items_.size());
    leaves_.items = items_.data();
  }
  explicit CLeaves(const Wanted &wanted) : CLeaves(static_cast<const List<Want> &>(wanted)) {
    if (wanted.is_all()) leaves_.count = TESSERACT_ALL;
  }
  CLeaves(const CLeaves &) = delete;
  CLeaves &operator=(const CLeaves &) = delete;
  const tesseract_leaves *get() const noexcept { return &leaves_; }

 private:
  std::vector<tesseract_leaf> items_;
  tesseract_leaves leaves_ = TESSERACT_LEAVES_INIT;
};

}  // namespace detail

/// Asks running calls to stop.  Must outlive the calls that use it.
class Cancel {
 public:
  Cancel() {
    tesseract_cancel *cancel = nullptr;
    detail::check([&](tesseract_error **) { return tesseract_cancel_create(&cancel); });
    handle_.reset(cancel);
  }
  /// All calls that run with it, now or later.  Never fails; safe in a signal handler.
  void request() const noexcept { tesseract_cancel_request(handle_.get()); }
  tesseract_cancel *get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<tesseract_cancel, tesseract_cancel_free> handle_;
};

/// Options of one call: {.cancel = &cancel}.
struct Options {
  std::uint64_t stream = 0;        ///< see tesseract_call_options
  const Cancel *cancel = nullptr;  ///< may be null
  bool no_copy = false;            ///< fail rather than copy an array
  /// For Call::run: null, or one per tensor in, each of which may be null.
  const tesseract_owner *const *owners = nullptr;

  tesseract_call_options c() const noexcept {
    tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
    options.flags = no_copy ? TESSERACT_NO_COPY : 0;
    options.stream = stream;
    options.cancel = cancel == nullptr ? nullptr : cancel->get();
    options.owners = owners;
    return options;
  }
};

}  // namespace tesseract

#endif
