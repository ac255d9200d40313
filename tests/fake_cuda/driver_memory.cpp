// Exported: memory, made, given back and looked up.
#include <algorithm>

#include "calls.h"
#include "driver.h"
#include "streams.h"

using namespace fake;

namespace {

void *as_memory(Pointer pointer) {
  return reinterpret_cast<void *>(pointer);  // NOLINT(performance-no-int-to-ptr)
}

Result make(Kind kind, std::size_t bytes, Pointer &pointer) {
  if (bytes == 0) return INVALID_VALUE;
  if (const Result forbidden = forbidden_unsafe()) return forbidden;
  const std::shared_ptr<Block> block = allocate(kind, *current_context(), bytes);
  if (!block) return OUT_OF_MEMORY;
  pointer = block->base;
  return SUCCESS;
}

// Memory belongs to its context, stream-ordered memory to its device.
bool usable_here(const Block &block) {
  const Context *context = current_context();
  if (block.kind == Kind::pool ? block.device == context->device : block.context == context)
    return true;
  fault("wrong-context", "memory of a context of device %d, with one of device %d current",
        block.device, context->device);
  return false;
}

Range all_of(const std::shared_ptr<Block> &block) {
  return {block, 0, block->size, false, true};
}

Result free_device(Pointer pointer) {
  if (pointer == 0) return SUCCESS;
  const std::shared_ptr<Block> block = block_to_free(pointer, true);
  if (!block) return INVALID_VALUE;
  const bool here = usable_here(*block);
  Context &context = *current_context();
  if (const Result forbidden = forbidden_unsafe()) return forbidden;
  const Result waited = context.sticky ? SUCCESS : wait_for(context);
  mark_freed(*block);
  release_pages(*block);
  return here ? waited : INVALID_VALUE;
}

Result free_async(Pointer pointer, void *handle) {
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (pointer == 0) return SUCCESS;
  const std::shared_ptr<Block> block = block_to_free(pointer, true);
  if (!block) return INVALID_VALUE;
  if (!usable_here(*block)) return INVALID_VALUE;
  if (stream->capture && !block->captured) {
    fault("capture-unsafe", "memory from outside is freed in a capture");
    stream->capture->valid = false;
    return INVALID_VALUE;
  }
  mark_freed(*block);
  if (stream->context->sticky) {
    release_pages(*block);
    return SUCCESS;
  }
  const auto release = [block]() -> Result {
    release_pages(*block);
    return SUCCESS;
  };
  return submit(*stream, {all_of(block)}, release, true);
}

Result allocate_async(Pointer *pointer, std::size_t bytes, void *handle) {
  if (!world().options.memory_pools) return NOT_SUPPORTED;
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (!pointer || bytes == 0) return INVALID_VALUE;
  const std::shared_ptr<Block> block = allocate(Kind::pool, *current_context(), bytes);
  if (!block) return OUT_OF_MEMORY;
  *pointer = block->base;
  block->captured = stream->capture != nullptr;
  return submit(*stream, {all_of(block)}, nullptr);
}

Result free_host(void *memory) {
  if (!memory) return SUCCESS;
  const std::shared_ptr<Block> block = block_to_free(reinterpret_cast<Pointer>(memory), false);
  if (!block) return INVALID_VALUE;
  if (const Result forbidden = forbidden_unsafe()) return forbidden;
  if (in_use(*block))
    fault("freed-in-use", "page-locked memory is freed while work that uses it isn't done");
  finish_context(*block->context);
  mark_freed(*block);
  release_pages(*block);
  return SUCCESS;
}

template <typename Value>
Result answer(void *data, Value value) {
  *static_cast<Value *>(data) = value;
  return SUCCESS;
}

Result attribute_of(void *data, int attribute, Pointer pointer) {
  const std::shared_ptr<Block> block = find_block(pointer);
  if (!data || !block || !block->live) return INVALID_VALUE;
  switch (attribute) {
    case 1:
      return answer<void *>(data, block->kind == Kind::pool ? nullptr : block->context);
    case 2:
      return answer(data, block->on_device() ? MemoryType::device : MemoryType::host);
    case 3:
      return current_context() ? answer(data, pointer) : INVALID_CONTEXT;
    case 4:
      if (block->on_device() && !block->managed()) return INVALID_VALUE;
      return answer(data, as_memory(pointer));
    case 7:
      return answer(data, static_cast<std::uint64_t>(block->base));
    case 8:
      return answer(data, static_cast<int>(block->managed()));
    case 9:
      return answer(data, block->device);
    case 11:
      return answer(data, block->base);
    case 12:
      return answer(data, static_cast<std::size_t>(block->size));
    case 13:
      return answer(data, 1);
    default:
      return INVALID_VALUE;
  }
}

}  // namespace

FAKE_CUDA_EXPORT Result cuMemAlloc_v2(Pointer *pointer, std::size_t bytes) {
  static Function function("cuMemAlloc_v2");
  return call(function, Need::context, [&]() -> Result {
    return pointer ? make(Kind::device, bytes, *pointer) : INVALID_VALUE;
  });
}

FAKE_CUDA_EXPORT Result cuMemAllocManaged(Pointer *pointer, std::size_t bytes, unsigned flags) {
  static Function function("cuMemAllocManaged");
  return call(function, Need::context, [&]() -> Result {
    if (!pointer || (flags != 1 && flags != 2)) return INVALID_VALUE;
    return make(Kind::managed, bytes, *pointer);
  });
}

FAKE_CUDA_EXPORT Result cuMemHostAlloc(void **memory, std::size_t bytes, unsigned flags) {
  static Function function("cuMemHostAlloc");
  return call(function, Need::context, [&]() -> Result {
    Pointer pointer = 0;
    if (!memory || flags > 7) return INVALID_VALUE;
    const Result result = make(Kind::host, bytes, pointer);
    if (result != SUCCESS) return result;
    find_block(pointer)->flags = flags;
    *memory = as_memory(pointer);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuMemAllocHost_v2(void **memory, std::size_t bytes) {
  static Function function("cuMemAllocHost_v2");
  return call(function, Need::context, [&]() -> Result {
    Pointer pointer = 0;
    if (!memory) return INVALID_VALUE;
    const Result result = make(Kind::host, bytes, pointer);
    if (result == SUCCESS) *memory = as_memory(pointer);
    return result;
  });
}

FAKE_CUDA_EXPORT Result cuMemFree_v2(Pointer pointer) {
  static Function function("cuMemFree_v2");
  return give_back(function, Need::context, [&] { return free_device(pointer); });
}

FAKE_CUDA_EXPORT Result cuMemFreeHost(void *memory) {
  static Function function("cuMemFreeHost");
  return give_back(function, Need::context, [&] { return free_host(memory); });
}

FAKE_CUDA_EXPORT Result cuMemAllocAsync(Pointer *pointer, std::size_t bytes, void *stream) {
  static Function function("cuMemAllocAsync");
  return call(function, Need::context, [&] { return allocate_async(pointer, bytes, stream); });
}

FAKE_CUDA_EXPORT Result cuMemFreeAsync(Pointer pointer, void *stream) {
  static Function function("cuMemFreeAsync");
  return give_back(function, Need::context, [&] { return free_async(pointer, stream); });
}

FAKE_CUDA_EXPORT Result cuMemHostRegister_v2(void *memory, std::size_t bytes, unsigned flags) {
  static Function function("cuMemHostRegister_v2");
  return call(function, Need::context, [&]() -> Result {
    if (!memory || bytes == 0 || flags > 15) return INVALID_VALUE;
    const std::shared_ptr<Block> block = register_memory(memory, bytes, *current_context());
    if (!block) return HOST_MEMORY_ALREADY_REGISTERED;
    block->flags = flags;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuMemHostUnregister(void *memory) {
  static Function function("cuMemHostUnregister");
  return give_back(function, Need::context, [&]() -> Result {
    const auto pointer = reinterpret_cast<Pointer>(memory);
    const std::shared_ptr<Block> block = find_block(pointer);
    if (!block || block->base != pointer || block->kind != Kind::registered)
      return HOST_MEMORY_NOT_REGISTERED;
    if (in_use(*block))
      fault("freed-in-use", "memory is unregistered while work that uses it isn't done");
    unregister(*block);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuMemHostGetDevicePointer_v2(Pointer *pointer, void *memory, unsigned) {
  static Function function("cuMemHostGetDevicePointer_v2");
  return call(function, Need::context, [&]() -> Result {
    const auto address = reinterpret_cast<Pointer>(memory);
    const std::shared_ptr<Block> block = find_block(address);
    if (!pointer || !block || !block->live || block->on_device()) return INVALID_VALUE;
    *pointer = address;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuMemHostGetFlags(unsigned *flags, void *memory) {
  static Function function("cuMemHostGetFlags");
  return call(function, Need::context, [&]() -> Result {
    const std::shared_ptr<Block> block = find_block(reinterpret_cast<Pointer>(memory));
    if (!flags || !block || !block->live || block->on_device()) return INVALID_VALUE;
    *flags = block->flags;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuMemGetAddressRange_v2(Pointer *base, std::size_t *size, Pointer pointer) {
  static Function function("cuMemGetAddressRange_v2");
  return call(function, Need::context, [&]() -> Result {
    const std::shared_ptr<Block> block = find_block(pointer);
    if (!block || !block->live || !block->on_device()) return INVALID_VALUE;
    if (base) *base = block->base;
    if (size) *size = static_cast<std::size_t>(block->size);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuMemGetInfo_v2(std::size_t *available, std::size_t *total) {
  static Function function("cuMemGetInfo_v2");
  return call(function, Need::context, [&]() -> Result {
    if (!available || !total) return INVALID_VALUE;
    const auto all = static_cast<std::uint64_t>(world().options.memory);
    const std::uint64_t used = memory_used(current_context()->device);
    *total = all;
    *available = all - std::min(all, used);
    return SUCCESS;
  });
}

// Asks nothing of a context, but for one attribute; of memory that isn't the driver's it knows
// nothing.
FAKE_CUDA_EXPORT Result cuPointerGetAttribute(void *data, int attribute, Pointer pointer) {
  static Function function("cuPointerGetAttribute");
  return call(function, Need::initialized, [&] { return attribute_of(data, attribute, pointer); });
}

namespace {
Result unsupported(Function &function) {
  return call(function, Need::context, []() -> Result { return NOT_SUPPORTED; });
}
}  // namespace

FAKE_CUDA_EXPORT Result cuIpcGetMemHandle(IpcHandle *, Pointer) {
  static Function function("cuIpcGetMemHandle");
  return unsupported(function);
}

FAKE_CUDA_EXPORT Result cuIpcOpenMemHandle_v2(Pointer *, IpcHandle, unsigned) {
  static Function function("cuIpcOpenMemHandle_v2");
  return unsupported(function);
}

FAKE_CUDA_EXPORT Result cuIpcCloseMemHandle(Pointer) {
  static Function function("cuIpcCloseMemHandle");
  return unsupported(function);
}
