// What every driver function has in common: it is counted, it may be failed, and it needs the
// driver initialized and mostly a context.
#ifndef TESTS_FAKE_CUDA_CALLS_H
#define TESTS_FAKE_CUDA_CALLS_H

#include "contexts.h"
#include "world.h"

namespace fake {

enum class Need {
  nothing,      // answers always, and is never failed
  driver,       // before cuInit too
  initialized,  // after cuInit
  context,      // with a context current that no error sticks to
};

// One exported driver function.
class Function {
 public:
  explicit Function(const char *name);

  const char *name;  // with its suffix
  std::int64_t calls = 0;
  Function *next;  // of all that were called once
  static Function *first;
};

// A call from its beginning to its end.
class Call {
 public:
  Call(Function &function, Need need);
  ~Call();
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  bool refused() const { return refused_; }      // says code() without having done anything
  bool overruled() const { return overruled_; }  // says code(), done or not
  Result code() const { return code_; }

 private:
  void check(Need need);
  bool inject();
  void refuse(Result code);

  const char *before_;
  bool refused_ = false, overruled_ = false;
  Result code_ = SUCCESS;
};

bool forked();  // into a process that can't use the driver

// Runs a driver function's body, unless the call is refused or failed.
template <typename Body>
Result call(Function &function, Need need, Body body) {
  if (forked()) return NOT_INITIALIZED;
  const Locked locked;
  const Call entered(function, need);
  if (entered.refused() || entered.overruled()) return entered.code();
  return body();
}

// The same for a function that gives something back: it does so even when it is failed.
template <typename Body>
Result give_back(Function &function, Need need, Body body) {
  if (forked()) return NOT_INITIALIZED;
  const Locked locked;
  const Call entered(function, need);
  if (entered.refused()) return entered.code();
  const Result result = body();
  return entered.overruled() ? entered.code() : result;
}

// Names without _v2 and _v3.
bool same_function(const char *one, const char *other);

void forget_calls();
void forget_injections();

}  // namespace fake

#endif
