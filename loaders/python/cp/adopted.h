// A component that a Python client of this process has opened, seen by the host: the same instance,
// whose calls take turns with the client's.
//
// The host believes it to be concurrent and takes no lock of its own: of two locks, two threads
// would take one each.
#pragma once

#include <tesseract_host/plugin.h>

#include <memory>

#include "errors.h"
#include "reference.h"

namespace tesseract::python {

// All members, but its end, with the GIL held.
class Adopted {
 public:
  // Reads tesseract_host.loader.live.Live.  Throws PythonError.
  static std::unique_ptr<Adopted> read(PyObject *live);

  // Forgets the client's objects.  Without it, where the interpreter has ended, they are left
  // alone.
  void drop();

  PyObject *acquire() const { return acquire_; }
  PyObject *release() const { return release_; }
  PyObject *run() const { return run_; }

 private:
  PyObject *acquire_ = nullptr;  // of the client's lock; null: calls need not take turns
  PyObject *release_ = nullptr;
  PyObject *run_ = nullptr;   // runs a function on the component's thread; null: it has none
  PyObject *life_ = nullptr;  // keeps the component open
};

// Holds the client's lock, which the same thread may hold already.  Waits without the GIL.
class Turn {
 public:
  // Throws PythonError, where a handler of signals raised meanwhile.
  explicit Turn(const Adopted &adopted);
  ~Turn();
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

 private:
  void end() const;

  PyObject *release_;
};

// Has `body(data)`, which throws nothing, run on the component's thread; waits without the GIL.
// Returns its status, or that of an error it recorded.
int32_t send_to_thread(const Adopted &adopted, tesseract_frame *frame, int32_t (*body)(void *),
                       void *data);

// Runs a function, guarded, on the component's thread if it has one, else here.
template <typename Function>
int32_t on_thread(const Adopted *adopted, tesseract_frame *frame, Function function) {
  auto body = [&] { return guarded(frame, function); };
  if (!adopted || !adopted->run()) return body();
  return send_to_thread(
      *adopted, frame, [](void *data) { return (*static_cast<decltype(body) *>(data))(); }, &body);
}

// The same for calls of the module's functions, which take turns.
template <typename Function>
int32_t in_turn(const Adopted &adopted, tesseract_frame *frame, Function function) {
  if (adopted.run()) return on_thread(&adopted, frame, function);
  if (!adopted.acquire()) return function();
  return guarded(frame, [&]() -> int32_t {
    const Turn turn(adopted);
    return function();
  });
}

}  // namespace tesseract::python
