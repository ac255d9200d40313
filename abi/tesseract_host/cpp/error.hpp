// tesseract_host/cpp/error.hpp: the exception of the C++ headers.
//
// tesseract.hpp throws it for a failed call; a component written with plugin.hpp throws it to make
// its call fail.
#ifndef TESSERACT_HOST_CPP_ERROR_HPP
#define TESSERACT_HOST_CPP_ERROR_HPP

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "../types.h"

namespace tesseract {

/// Why a call failed.  Owns all its texts, so it outlives the component; copies share them and
/// never throw.  [any]
class Error : public std::exception {
 public:
  /// The texts of an error; empty where there is none.
  struct Parts {
    std::int32_t status = TESSERACT_ERROR_INTERNAL;
    std::string message;
    std::string path;       ///< the leaf at fault
    std::string component;  ///< the component's name
    std::string endpoint;   ///< "apply", "jvp", …
    std::string traceback;  ///< of the component's language
    std::shared_ptr<const Error> cause;
  };

  explicit Error(Parts parts) : parts_(std::make_shared<const Parts>(std::move(parts))) {}

  /// `status` is one of TESSERACT_ERROR_…, `path` the leaf at fault or empty.
  Error(std::int32_t status, std::string message, std::string path = {})
      : Error(Parts{status, std::move(message), std::move(path), {}, {}, {}, nullptr}) {}

  /// TESSERACT_ERROR_…
  std::int32_t status() const noexcept { return parts_->status; }
  /// The message: one text for people, NUL-terminated.
  const char *what() const noexcept override { return parts_->message.c_str(); }
  const std::string &path() const noexcept { return parts_->path; }
  const std::string &component() const noexcept { return parts_->component; }
  const std::string &endpoint() const noexcept { return parts_->endpoint; }
  const std::string &traceback() const noexcept { return parts_->traceback; }
  /// The error that caused this one, owned by it, or null.
  const Error *cause() const noexcept { return parts_->cause.get(); }

 private:
  std::shared_ptr<const Parts> parts_;
};

/// TESSERACT_ERROR_OUT_OF_DOMAIN: not at this point; another may work.  Optimisers and time
/// steppers catch this one.
class OutOfDomain : public Error {
 public:
  explicit OutOfDomain(Parts parts) : Error(std::move(parts)) {}
  explicit OutOfDomain(std::string message, std::string path = {})
      : Error(TESSERACT_ERROR_OUT_OF_DOMAIN, std::move(message), std::move(path)) {}
};

}  // namespace tesseract

#endif
