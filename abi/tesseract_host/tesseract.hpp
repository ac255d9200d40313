// tesseract_host/tesseract.hpp: host.h for C++20.
//
//   tesseract::Component heat("libheat.so");
//   tesseract::Result result =
//       heat.apply({{"u", u}, {"dt", 0.1}, tesseract::Json{R"({"steps": 5})"}});
//   double first = result.view<double>("u")(0);
//
// Objects own what they stand for and can be moved, not copied.  Where a comment does not say
// otherwise, functions may be called by any thread at any time, also on one object by several, and
// throw an Error (see error.hpp) when the C function fails; moving and destroying need an object
// that no other thread uses.  Strings out are valid as long as the object they were asked from.
// Works without RTTI; needs exceptions.
#ifndef TESSERACT_HOST_TESSERACT_HPP
#define TESSERACT_HOST_TESSERACT_HPP

#include <functional>

#include "cpp/call.hpp"

namespace tesseract {

/// Options of opening: {.json = R"({"threads": "concurrent"})"}.
struct OpenOptions {
  std::string_view json = {};  ///< the component's options as an object; borrowed
  /// Takes what the component logs and prints; may be empty.  Called by any thread, also by several
  /// at once; must not call the component; what it throws is dropped.  Level is TESSERACT_LOG_….
  std::function<void(std::int32_t level, std::string_view text)> log = {};
  bool listing = false;  ///< run no code of the source: only texts can be asked for
};

/// One opened instance of a component.  Destroying it closes it: calls that run finish, prepared
/// calls stay usable.
class Component {
 public:
  /// Opens a shared library, a tesseract_api.py, or a folder that holds one of them; runs its code.
  explicit Component(std::string_view source, const OpenOptions &options = {})
      : handle_(open(&tesseract_open, source, options)) {}

  /// The same for a Python module, whatever its file name.
  static Component from_tesseract_api(std::string_view path, const OpenOptions &options = {}) {
    return Component(open(&tesseract_from_tesseract_api, path, options));
  }

  /// Takes over what tesseract_open returned.
  explicit Component(tesseract_component *component) noexcept : handle_(component) {}

  /// The outputs at `inputs`.
  Result apply(const Leaves &inputs, const Wanted &of = all, const Options &options = {}) const {
    return call(&tesseract_apply, options, inputs, of);
  }
  /// Tangents of the outputs `of`, from tangents by input path.
  Result jvp(const Leaves &inputs, const Leaves &tangents, const Wanted &of = all,
             const Options &options = {}) const {
    return call(&tesseract_jvp, options, inputs, tangents, of);
  }
  /// Gradients by the inputs `wrt`, from cotangents by output path.
  Result vjp(const Leaves &inputs, const Leaves &cotangents, const Wanted &wrt = all,
             const Options &options = {}) const {
    return call(&tesseract_vjp, options, inputs, cotangents, wrt);
  }
  /// Entries (of, wrt) of shape (*output, *input).  No destinations.
  Result jacobian(const Leaves &inputs, const Wanted &of = all, const Wanted &wrt = all,
                  const Options &options = {}) const {
    return call(&tesseract_jacobian, options, inputs, of, wrt);
  }
  /// Shapes and dtypes of the outputs: tensors without data.
  Result abstract_eval(const Leaves &inputs, const Options &options = {}) const {
    return call(&tesseract_abstract_eval, options, inputs);
  }

  /// Prepared forms, with the same arguments; of tensors only dtype, rank and device are read.
  Call prepare_apply(const Leaves &inputs, const Wanted &of = all, bool no_copy = false) const {
    const detail::CLeaves c_of(of);
    return prepare(TESSERACT_ENDPOINT_APPLY, inputs, c_of.get(), nullptr, no_copy);
  }
  Call prepare_jvp(const Leaves &inputs, const Leaves &tangents, const Wanted &of = all,
                   bool no_copy = false) const {
    const detail::CLeaves c_of(of), c_wrt(tangents);
    return prepare(TESSERACT_ENDPOINT_JVP, inputs, c_of.get(), c_wrt.get(), no_copy);
  }
  Call prepare_vjp(const Leaves &inputs, const Leaves &cotangents, const Wanted &wrt = all,
                   bool no_copy = false) const {
    const detail::CLeaves c_of(cotangents), c_wrt(wrt);
    return prepare(TESSERACT_ENDPOINT_VJP, inputs, c_of.get(), c_wrt.get(), no_copy);
  }
  Call prepare_jacobian(const Leaves &inputs, const Wanted &of = all, const Wanted &wrt = all,
                        bool no_copy = false) const {
    const detail::CLeaves c_of(of), c_wrt(wrt);
    return prepare(TESSERACT_ENDPOINT_JACOBIAN, inputs, c_of.get(), c_wrt.get(), no_copy);
  }

  /// Texts, valid until this object and its prepared calls are destroyed: leaf tables and
  /// properties (JSON), the schema as tesseract-core gives it (JSON), the name for messages.
  std::string_view description() const { return text(TESSERACT_TEXT_DESCRIPTION); }
  std::string_view openapi() const { return text(TESSERACT_TEXT_OPENAPI); }
  std::string_view name() const { return text(TESSERACT_TEXT_NAME); }

  /// Counts since open.
  tesseract_statistics statistics() const {
    tesseract_statistics statistics = TESSERACT_STATISTICS_INIT;
    detail::check([&](tesseract_error **) {
      return tesseract_component_statistics(handle_.get(), &statistics);
    });
    return statistics;
  }

  /// For the functions of host.h that have no form here.
  tesseract_component *get() const noexcept { return handle_.get(); }

 private:
  using Log = std::function<void(std::int32_t, std::string_view)>;

  static void log(void *data, std::int32_t level, const char *text, std::uint64_t length) noexcept {
    try {
      (*static_cast<const Log *>(data))(level, detail::text(text, length));
    } catch (...) {  // the caller is C, or a thread of the component's
    }
  }

  template <class Open>
  static tesseract_component *open(Open function, std::string_view source,
                                   const OpenOptions &options) {
    tesseract_open_options c_options = TESSERACT_OPEN_OPTIONS_INIT;
    c_options.flags = options.listing ? TESSERACT_OPEN_LISTING : 0;
    c_options.json = detail::c_string(options.json);
    if (options.log) {
      c_options.log = log;
      c_options.log_data = new Log(options.log);
      c_options.log_free = [](void *data) { delete static_cast<Log *>(data); };
    }
    tesseract_component *component = nullptr;
    detail::check([&](tesseract_error **error) {
      return function(source.data(), source.size(), &c_options, &component, error);
    });
    return component;
  }

  template <class Function, class... Lists>
  Result call(Function function, const Options &options, const Lists &...lists) const {
    const auto c_options = options.c();
    tesseract_result *result = nullptr;
    detail::check([&](tesseract_error **error) {
      return function(handle_.get(), detail::CLeaves(lists).get()..., &c_options, &result, error);
    });
    return Result(result);
  }

  Call prepare(std::int32_t endpoint, const Leaves &inputs, const tesseract_leaves *of,
               const tesseract_leaves *wrt, bool no_copy) const {
    const detail::CLeaves c_inputs(inputs);
    tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
    signature.flags = no_copy ? TESSERACT_NO_COPY : 0;
    signature.endpoint = endpoint;
    signature.inputs = c_inputs.get();
    signature.of = of;
    signature.wrt = wrt;
    tesseract_call *call = nullptr;
    detail::check([&](tesseract_error **error) {
      return tesseract_prepare(handle_.get(), &signature, &call, error);
    });
    return Call(call);
  }

  std::string_view text(std::int32_t which) const {
    const char *data = nullptr;
    std::uint64_t length = 0;
    detail::check([&](tesseract_error **error) {
      return tesseract_component_text(handle_.get(), which, &data, &length, error);
    });
    return detail::text(data, length);
  }

  detail::Handle<tesseract_component, tesseract_close> handle_;
};

/// Optional, before exit: refuses new calls, waits up to `seconds` for running ones.
inline void shutdown(double seconds) {
  detail::check([&](tesseract_error **error) { return tesseract_shutdown(seconds, error); });
}

}  // namespace tesseract

#endif
