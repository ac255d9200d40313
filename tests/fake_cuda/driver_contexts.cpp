// Exported: primary contexts, contexts of programs, the stack.
#include "calls.h"
#include "driver.h"
#include "streams.h"

using namespace fake;

namespace {

Context *primary(Ordinal device) {
  if (device >= 0 && device < world().options.devices &&
      static_cast<std::size_t>(device) < world().primaries.size())
    return world().primaries[static_cast<std::size_t>(device)];
  fault("wrong-device", "there is no device %d", device);
  return nullptr;
}

}  // namespace

FAKE_CUDA_EXPORT Result cuDevicePrimaryCtxRetain(void **context, Ordinal device) {
  static Function function("cuDevicePrimaryCtxRetain");
  return call(function, Need::initialized, [&]() -> Result {
    if (!context) return INVALID_VALUE;
    Context *retained = primary(device);
    if (!retained) return INVALID_DEVICE;
    retained->retains++;
    retained->alive = true;
    *context = retained;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuDevicePrimaryCtxRelease_v2(Ordinal device) {
  static Function function("cuDevicePrimaryCtxRelease_v2");
  return give_back(function, Need::initialized, [&]() -> Result {
    Context *context = primary(device);
    if (!context) return INVALID_DEVICE;
    if (context->retains == 0) {
      fault("unbalanced-release", "the primary context of device %d isn't retained", device);
      return INVALID_CONTEXT;
    }
    if (--context->retains == 0) end_context(*context);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuDevicePrimaryCtxReset_v2(Ordinal device) {
  static Function function("cuDevicePrimaryCtxReset_v2");
  return give_back(function, Need::initialized, [&]() -> Result {
    Context *context = primary(device);
    if (!context) return INVALID_DEVICE;
    end_context(*context);
    context->alive = context->retains > 0;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuDevicePrimaryCtxGetState(Ordinal device, unsigned *flags, int *active) {
  static Function function("cuDevicePrimaryCtxGetState");
  return call(function, Need::initialized, [&]() -> Result {
    if (!flags || !active) return INVALID_VALUE;
    const Context *context = primary(device);
    if (!context) return INVALID_DEVICE;
    *flags = context->flags;
    *active = context->alive;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuDevicePrimaryCtxSetFlags_v2(Ordinal device, unsigned flags) {
  static Function function("cuDevicePrimaryCtxSetFlags_v2");
  return call(function, Need::initialized, [&]() -> Result {
    Context *context = primary(device);
    if (!context) return INVALID_DEVICE;
    context->flags = flags;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuCtxCreate_v2(void **context, unsigned flags, Ordinal device) {
  static Function function("cuCtxCreate_v2");
  return call(function, Need::initialized, [&]() -> Result {
    if (!context) return INVALID_VALUE;
    if (!primary(device)) return INVALID_DEVICE;
    Context *created = create_context(device, flags);
    push_context(created);
    *context = created;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuCtxDestroy_v2(void *handle) {
  static Function function("cuCtxDestroy_v2");
  return give_back(function, Need::initialized, [&]() -> Result {
    Context *context = context_of(handle);
    if (!context || context->primary) return INVALID_CONTEXT;
    end_context(*context);
    if (current_context() == context) pop_context();
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuCtxPushCurrent_v2(void *handle) {
  static Function function("cuCtxPushCurrent_v2");
  return call(function, Need::initialized, [&]() -> Result {
    Context *context = context_of(handle);
    if (!context) return INVALID_CONTEXT;
    push_context(context);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuCtxPopCurrent_v2(void **context) {
  static Function function("cuCtxPopCurrent_v2");
  return give_back(function, Need::initialized, [&]() -> Result {
    Context *popped = pop_context();
    if (!popped) {
      fault("unbalanced-pop", "this thread's context stack is empty");
      return INVALID_CONTEXT;
    }
    if (context) *context = popped;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuCtxSetCurrent(void *handle) {
  static Function function("cuCtxSetCurrent");
  return call(function, Need::initialized, [&]() -> Result {
    Context *context = handle ? context_of(handle) : nullptr;
    if (handle && !context) return INVALID_CONTEXT;
    pop_context();
    if (context) push_context(context);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuCtxGetCurrent(void **context) {
  static Function function("cuCtxGetCurrent");
  return call(function, Need::initialized, [&]() -> Result {
    if (!context) return INVALID_VALUE;
    *context = current_context();
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuCtxGetDevice(Ordinal *device) {
  static Function function("cuCtxGetDevice");
  return call(function, Need::initialized, [&]() -> Result {
    if (!device) return INVALID_VALUE;
    const Context *context = current_context();
    if (!context) return INVALID_CONTEXT;
    *device = context->device;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuCtxSynchronize() {
  static Function function("cuCtxSynchronize");
  return call(function, Need::context, [&]() -> Result {
    Context &context = *current_context();
    if (const Result forbidden = forbidden_wait(context)) return forbidden;
    return wait_for(context);
  });
}

FAKE_CUDA_EXPORT Result cuCtxEnablePeerAccess(void *, unsigned) {
  static Function function("cuCtxEnablePeerAccess");
  return call(function, Need::context, [&]() -> Result { return NOT_SUPPORTED; });
}
