#include "calls.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "streams.h"

namespace fake {

Function *Function::first = nullptr;

namespace {

struct Named {
  std::string function;
  Result code;
  std::int64_t times;
};

struct Injections {
  std::int64_t countdown = 0;  // calls until one fails; 0: none
  Result code = SUCCESS;
  std::vector<Named> named;
  std::int64_t failed = 0;
};

Injections injections;

constexpr std::size_t trace_size = 4096;
const char *trace[trace_size];
std::size_t traced = 0;

std::string_view bare(std::string_view name) {
  if (name.size() > 3 && (name.ends_with("_v2") || name.ends_with("_v3"))) name.remove_suffix(3);
  return name;
}

bool take_named(const char *function, Result &code) {
  for (Named &entry : injections.named)
    if (entry.times > 0 && same_function(entry.function.c_str(), function)) {
      entry.times--;
      code = entry.code;
      return true;
    }
  return false;
}

}  // namespace

Function::Function(const char *function_name) : name(function_name) {
  const Locked locked;  // two threads may call two functions for the first time
  next = first;
  first = this;
}

Call::Call(Function &function, Need need) : before_(world().function) {
  world().function = function.name;
  function.calls++;
  trace[traced++ % trace_size] = function.name;
  check(need);
}

Call::~Call() {
  world().function = before_;
}

void Call::check(Need need) {
  World &w = world();
  if (need == Need::nothing) return;
  if (w.options.deinitialized) return refuse(DEINITIALIZED);
  if (need != Need::driver && !w.initialized) return refuse(NOT_INITIALIZED);
  const bool injected = inject();
  if (need != Need::context) return;
  Context *context = current_context();
  if (!context || !context->alive) {
    fault("no-context", context ? "the current context is destroyed" : "no context is current");
    return refuse(context ? CONTEXT_IS_DESTROYED : INVALID_CONTEXT);
  }
  if (injected && sticks(code_)) stick(*context, code_);
  if (injected || context->sticky == SUCCESS) return;
  overruled_ = true;
  code_ = context->sticky;
}

bool Call::inject() {
  Result code = SUCCESS;
  if (injections.countdown > 0 && --injections.countdown == 0)
    code = injections.code;
  else if (injections.named.empty() || !take_named(world().function, code))
    return false;
  injections.failed++;
  overruled_ = true;
  code_ = code;
  return true;
}

void Call::refuse(Result code) {
  refused_ = true;
  code_ = code;
}

bool forked() {
  return world().forked;
}

bool same_function(const char *one, const char *other) {
  return bare(one) == bare(other);
}

void forget_calls() {
  for (Function *function = Function::first; function; function = function->next)
    function->calls = 0;
  traced = 0;
}

void forget_injections() {
  injections = {};
}

}  // namespace fake

using namespace fake;

FAKE_CUDA_EXPORT int64_t fake_cuda_calls(const char *function) {
  const Locked locked;
  int64_t calls = 0;
  for (Function *one = Function::first; one; one = one->next)
    if (!function || same_function(one->name, function)) calls += one->calls;
  return calls;
}

FAKE_CUDA_EXPORT void fake_cuda_reset_calls(void) {
  const Locked locked;
  forget_calls();
}

FAKE_CUDA_EXPORT const char *fake_cuda_trace(void) {
  static std::string text;
  const Locked locked;
  text.clear();
  for (std::size_t i = traced - std::min(traced, trace_size); i < traced; i++)
    text.append(trace[i % trace_size]).append("\n");
  return text.c_str();
}

FAKE_CUDA_EXPORT void fake_cuda_fail_nth(int64_t n, int32_t code) {
  const Locked locked;
  injections.countdown = n;
  injections.code = code;
}

FAKE_CUDA_EXPORT void fake_cuda_fail_next(const char *function, int32_t code, int64_t times) {
  const Locked locked;
  injections.named.push_back({function, code, times});
}

FAKE_CUDA_EXPORT int64_t fake_cuda_failed(void) {
  const Locked locked;
  return injections.failed;
}
