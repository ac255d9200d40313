// tesseract_host/plugin.hpp: writing a component as a C++20 class.
//
//   struct Square {
//     static constexpr std::string_view description = R"({"inputs": […], "outputs": […]})";
//     void apply(tesseract::Frame frame) {
//       auto x = frame.input<double>(0).span();
//       …
//     }
//   };
//   TESSERACT_PLUGIN(Square)
//
// The class has a member `description` (static or not; it lives as long as the instance), apply,
// and those of jvp, vjp, jacobian and abstract_eval that it offers.  It is made from the options, a
// JSON text, by a constructor that takes a std::string_view, or by the default one when it has no
// options.  Members may throw: an Error with its status, std::bad_alloc as
// TESSERACT_ERROR_OUT_OF_MEMORY, anything else as TESSERACT_ERROR_COMPONENT.  A component with
// `prepare` or extensions is written against plugin.h.
#ifndef TESSERACT_HOST_PLUGIN_HPP
#define TESSERACT_HOST_PLUGIN_HPP

#include <new>
#include <string_view>

#include "cpp/tensor.hpp"
#include "plugin.h"

namespace tesseract {

/// One running call, as the component sees it.  Positions are those of the description; they are
/// checked, and views throw for another dtype.  Valid until the function it was given to returns.
class Frame {
 public:
  explicit Frame(tesseract_frame *frame) noexcept : frame_(frame) {}

  /// An input; false where it is not given.
  template <Element T>
  View<const T> input(std::uint64_t index) const {
    return view<const T>(frame_->inputs, frame_->n_inputs, index, "input");
  }

  /// A tangent by input or a cotangent by output; false where it is zero.
  template <Element T>
  View<const T> seed(std::uint64_t index) const {
    return view<const T>(frame_->seeds, frame_->n_seeds, index, "seed");
  }

  /// An output, a gradient by input, or a Jacobian [output * inputs + input], to be overwritten;
  /// false where it is not wanted.
  template <Element T>
  View<T> output(std::uint64_t index) const {
    return view<T>(frame_->outputs, frame_->n_outputs, index, "output");
  }

  /// Whether an output is wanted: view or allocate it then.
  bool output_wanted(std::uint64_t index) const {
    return checked(frame_->outputs, frame_->n_outputs, index, "output") != nullptr;
  }

  /// A wanted output whose shape is the component's to say (see allocate_output).
  template <Element T>
  View<T> allocate(std::uint64_t index, const Shape &shape) const {
    const DLDataType dtype = dtype_of<T>();
    DLTensor *tensor = nullptr;
    const auto status =
        frame_->host->allocate_output(frame_, index, &dtype, shape.rank(), shape.data(), &tensor);
    if (status != TESSERACT_OK) throw Error(status, "");
    return View<T>(*tensor);
  }

  /// The inputs that are no arrays, a JSON object.
  std::string_view json() const noexcept {
    const auto *inputs = frame_->signature == nullptr ? nullptr : frame_->signature->inputs;
    if (inputs == nullptr || inputs->json.data == nullptr) return "{}";
    return {inputs->json.data, inputs->json.length};
  }

  /// Gives the outputs that are no arrays, a JSON object; at most once a call.
  void output_json(std::string_view text) const {
    const auto status = frame_->host->output_json(frame_, text.data(), text.size());
    if (status != TESSERACT_OK) throw Error(status, "");
  }

  /// Throws TESSERACT_ERROR_CANCELLED when the caller asked to stop: for every iteration.
  void check_cancelled() const {
    if (frame_->host->cancelled(frame_) != 0) throw Error(TESSERACT_ERROR_CANCELLED, "cancelled");
  }

  /// One line for the log, TESSERACT_LOG_….
  void log(std::int32_t level, std::string_view text) const noexcept {
    frame_->host->log(frame_->log, level, text.data(), text.size());
  }

  /// For what plugin.h has beyond this.
  tesseract_frame *get() const noexcept { return frame_; }

 private:
  template <class Tensor>
  static Tensor *checked(Tensor *const *tensors, std::uint64_t count, std::uint64_t index,
                         const char *kind) {
    if (index < count) return tensors[index];
    throw Error(TESSERACT_ERROR_COMPONENT, "the component asks for " + std::string(kind) + " " +
                                               std::to_string(index) + " of " +
                                               std::to_string(count));
  }

  template <class T, class Tensor>
  static View<T> view(Tensor *const *tensors, std::uint64_t count, std::uint64_t index,
                      const char *kind) {
    Tensor *tensor = checked(tensors, count, index, kind);
    return tensor == nullptr ? View<T>() : View<T>(*tensor);
  }

  tesseract_frame *frame_;
};

namespace detail {

// Records an error whose text is empty only where the host has already recorded one.
inline std::int32_t fail(tesseract_frame *frame, std::int32_t status, std::string_view path,
                         std::string_view text) noexcept {
  if (text.empty()) return status;
  return frame->host->error_set(frame, status, path.data(), path.size(), text.data(), text.size());
}

// Runs `body`, whose exceptions become statuses.
template <class Body>
std::int32_t guarded(tesseract_frame *frame, Body body) noexcept {
  try {
    body();
    return TESSERACT_OK;
  } catch (const Error &error) {
    return fail(frame, error.status(), error.path(), error.what());
  } catch (const std::bad_alloc &) {
    return TESSERACT_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception &error) {
    return fail(frame, TESSERACT_ERROR_COMPONENT, {}, error.what());
  } catch (...) {
    return fail(frame, TESSERACT_ERROR_COMPONENT, {}, "an exception that is no std::exception");
  }
}

// The functions of a component's table over the members of its class.
template <class Solver>
struct Adapter {
  static Solver &self(void *instance) noexcept { return *static_cast<Solver *>(instance); }

  static std::int32_t create(const char *options, std::uint64_t length, void **instance,
                             tesseract_frame *frame) noexcept {
    return guarded(frame, [&] {
      const std::string_view text(options, length);
      if constexpr (std::is_constructible_v<Solver, std::string_view>) {
        *instance = new Solver(text);
      } else {
        if (text.find_first_not_of(" \t\r\n{}") != text.npos) {
          throw Error(TESSERACT_ERROR_INVALID_ARGUMENT,
                      "this component has no options, got " + std::string(text));
        }
        *instance = new Solver();
      }
    });
  }

  static void destroy(void *instance) noexcept { delete static_cast<Solver *>(instance); }

  static std::int32_t describe(void *instance, const char **text, std::uint64_t *length,
                               tesseract_frame *) noexcept {
    const std::string_view description = self(instance).description;
    *text = description.data();
    *length = description.size();
    return TESSERACT_OK;
  }

  static std::int32_t apply(void *instance, void *, tesseract_frame *frame) noexcept {
    return guarded(frame, [&] { self(instance).apply(Frame(frame)); });
  }
  static std::int32_t jvp(void *instance, void *, tesseract_frame *frame) noexcept {
    return guarded(frame, [&] { self(instance).jvp(Frame(frame)); });
  }
  static std::int32_t vjp(void *instance, void *, tesseract_frame *frame) noexcept {
    return guarded(frame, [&] { self(instance).vjp(Frame(frame)); });
  }
  static std::int32_t jacobian(void *instance, void *, tesseract_frame *frame) noexcept {
    return guarded(frame, [&] { self(instance).jacobian(Frame(frame)); });
  }
  static std::int32_t abstract_eval(void *instance, void *, tesseract_frame *frame) noexcept {
    return guarded(frame, [&] { self(instance).abstract_eval(Frame(frame)); });
  }

  static constexpr tesseract_plugin_table table() noexcept {
    tesseract_plugin_table table{};
    table.size = sizeof table;
    table.abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX};
    table.create = create;
    table.destroy = destroy;
    table.describe = describe;
    table.apply = apply;
    if constexpr (requires(Solver &s, Frame f) { s.jvp(f); }) table.jvp = jvp;
    if constexpr (requires(Solver &s, Frame f) { s.vjp(f); }) table.vjp = vjp;
    if constexpr (requires(Solver &s, Frame f) { s.jacobian(f); }) table.jacobian = jacobian;
    if constexpr (requires(Solver &s, Frame f) { s.abstract_eval(f); }) {
      table.abstract_eval = abstract_eval;
    }
    return table;
  }
};

template <class Solver>
inline constexpr tesseract_plugin_table plugin_table = Adapter<Solver>::table();

}  // namespace detail

}  // namespace tesseract

/// Defines the entry function of a component written as class `Solver`.  Once per library, outside
/// any namespace.
#define TESSERACT_PLUGIN(Solver)                                                       \
  extern "C" std::int32_t tesseract_plugin_v1(const tesseract_host_table *,            \
                                              const tesseract_plugin_table **plugin) { \
    *plugin = &tesseract::detail::plugin_table<Solver>;                                \
    return TESSERACT_OK;                                                               \
  }                                                                                    \
  static_assert(true, "wants a semicolon")

#endif
