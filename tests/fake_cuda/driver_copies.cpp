// Exported: copies and fills.
#include <algorithm>
#include <cstring>

#include "calls.h"
#include "driver.h"
#include "streams.h"

using namespace fake;

namespace {

enum class Expect { device, host, any };

// Rows of memory that a copy reads or writes.
struct Side {
  Expect expect;
  Pointer begin;
  std::size_t pitch;
  std::shared_ptr<Block> block = nullptr;  // none: pageable memory

  bool on_device() const { return block && block->on_device(); }
  std::byte *row(std::size_t number) const {
    const Pointer address = begin + number * pitch;
    return block ? block->at(address)
                 : reinterpret_cast<std::byte *>(address);  // NOLINT(performance-no-int-to-ptr)
  }
};

struct Copy {
  Side to, from;
  std::size_t width, height;

  std::size_t extent(const Side &side) const { return (height - 1) * side.pitch + width; }
};

Side device(Pointer pointer) {
  return {Expect::device, pointer, 0};
}
Side host(const void *memory) {
  return {Expect::host, reinterpret_cast<Pointer>(memory), 0};
}
Side any(Pointer pointer) {
  return {Expect::any, pointer, 0};
}

Result resolve(Side &side, std::size_t bytes) {
  bool wrong = false;
  side.block = live_block(side.begin, bytes, side.expect == Expect::device, wrong);
  if (wrong) return INVALID_VALUE;
  if (side.begin == 0) return INVALID_VALUE;
  if (side.expect == Expect::host && side.on_device() && !side.block->managed()) {
    fault("unknown-pointer", "%#llx is device memory, where host memory is expected",
          static_cast<unsigned long long>(side.begin));
    return INVALID_VALUE;
  }
  return SUCCESS;
}

bool here(const Side &side) {
  const Context *context = current_context();
  return side.block->kind == Kind::pool ? side.block->device == context->device
                                        : side.block->context == context;
}

// At least one of two devices' memories must be of the current context.
Result check_context(const Copy &copy) {
  const bool to = copy.to.on_device(), from = copy.from.on_device();
  if ((!to && !from) || (to && here(copy.to)) || (from && here(copy.from))) return SUCCESS;
  fault("wrong-context", "memory of a context of device %d, with one of device %d current",
        (to ? copy.to : copy.from).block->device, current_context()->device);
  return INVALID_VALUE;
}

// Row by row, so that copies of neighbouring columns don't seem to overlap; many rows as one.
void add_ranges(std::vector<Range> &ranges, const Copy &copy, const Side &side, bool writes) {
  if (!side.block) return;
  const std::uint64_t begin = side.begin - side.block->base;
  if (side.pitch == copy.width || copy.height > 1024) {
    ranges.push_back({side.block, begin, begin + copy.extent(side), !writes, writes});
    return;
  }
  for (std::size_t row = 0; row < copy.height; row++)
    ranges.push_back({side.block, begin + row * side.pitch, begin + row * side.pitch + copy.width,
                      !writes, writes});
}

// The driver has read pageable memory when the function returns.
std::shared_ptr<std::vector<std::byte>> snapshot(const Copy &copy) {
  auto bytes = std::make_shared<std::vector<std::byte>>(copy.width * copy.height);
  for (std::size_t row = 0; row < copy.height; row++)
    std::memcpy(bytes->data() + row * copy.width, copy.from.row(row), copy.width);
  return bytes;
}

std::function<Result()> work_of(const Copy &copy) {
  std::shared_ptr<std::vector<std::byte>> bytes;
  if (!copy.from.block) bytes = snapshot(copy);
  return [copy, bytes]() -> Result {
    for (std::size_t row = 0; row < copy.height; row++)
      std::memmove(copy.to.row(row), bytes ? bytes->data() + row * copy.width : copy.from.row(row),
                   copy.width);
    return SUCCESS;
  };
}

void count(const Copy &copy) {
  const bool to = copy.to.on_device(), from = copy.from.on_device();
  const int direction = to && from ? 2 : from ? 1 : to ? 0 : 3;
  world().copies[direction]++;
  world().copied_bytes[direction] += static_cast<std::int64_t>(copy.width * copy.height);
}

Result run(Copy copy, void *handle, bool waits) {
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (copy.width == 0 || copy.height == 0) return SUCCESS;
  if (copy.height > 1 && (copy.to.pitch < copy.width || copy.from.pitch < copy.width))
    return INVALID_VALUE;
  if (const Result wrong = resolve(copy.to, copy.extent(copy.to))) return wrong;
  if (const Result wrong = resolve(copy.from, copy.extent(copy.from))) return wrong;
  if (const Result wrong = check_context(copy)) return wrong;
  waits = waits || !copy.to.block;
  if (waits)
    if (const Result forbidden = forbidden_wait(*stream)) return forbidden;
  std::vector<Range> ranges;
  add_ranges(ranges, copy, copy.from, false);
  add_ranges(ranges, copy, copy.to, true);
  const Result submitted = submit(*stream, std::move(ranges), work_of(copy));
  if (submitted != SUCCESS) return submitted;
  count(copy);
  return waits ? wait_for(*stream) : SUCCESS;
}

Result run(Side to, Side from, std::size_t bytes, void *stream, bool waits) {
  to.pitch = from.pitch = bytes;
  return run({to, from, bytes, 1}, stream, waits);
}

Result side_of(MemoryType type, const void *memory, Pointer pointer, std::size_t x, std::size_t y,
               std::size_t pitch, Side &side) {
  switch (type) {
    case MemoryType::host:
      side = host(memory);
      break;
    case MemoryType::device:
      side = device(pointer);
      break;
    case MemoryType::unified:
      side = any(pointer);
      break;
    default:
      return NOT_SUPPORTED;
  }
  side.begin += y * pitch + x;
  side.pitch = pitch;
  return SUCCESS;
}

Result run_2d(const Copy2D *given, void *stream, bool waits) {
  if (!given) return INVALID_VALUE;
  Copy copy = {device(0), device(0), given->width, given->height};
  if (const Result wrong = side_of(given->target_type, given->target_host, given->target_device,
                                   given->target_x, given->target_y, given->target_pitch, copy.to))
    return wrong;
  if (const Result wrong =
          side_of(given->source_type, given->source_host, given->source_device, given->source_x,
                  given->source_y, given->source_pitch, copy.from))
    return wrong;
  return run(std::move(copy), stream, waits);
}

Result fill(Pointer pointer, unsigned char value, std::size_t bytes, void *handle) {
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (bytes == 0) return SUCCESS;
  Side side = device(pointer);
  if (const Result wrong = resolve(side, bytes)) return wrong;
  if (const Result wrong = check_context({side, host(nullptr), bytes, 1})) return wrong;
  const std::uint64_t begin = pointer - side.block->base;
  return submit(*stream, {{side.block, begin, begin + bytes, false, true}},
                [side, value, bytes]() -> Result {
                  std::memset(side.row(0), value, bytes);
                  return SUCCESS;
                });
}

}  // namespace

FAKE_CUDA_EXPORT Result cuMemcpyHtoDAsync_v2(Pointer to, const void *from, std::size_t bytes,
                                             void *stream) {
  static Function function("cuMemcpyHtoDAsync_v2");
  return call(function, Need::context,
              [&] { return run(device(to), host(from), bytes, stream, false); });
}

FAKE_CUDA_EXPORT Result cuMemcpyDtoHAsync_v2(void *to, Pointer from, std::size_t bytes,
                                             void *stream) {
  static Function function("cuMemcpyDtoHAsync_v2");
  return call(function, Need::context,
              [&] { return run(host(to), device(from), bytes, stream, false); });
}

FAKE_CUDA_EXPORT Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, std::size_t bytes,
                                             void *stream) {
  static Function function("cuMemcpyDtoDAsync_v2");
  return call(function, Need::context,
              [&] { return run(device(to), device(from), bytes, stream, false); });
}

FAKE_CUDA_EXPORT Result cuMemcpyAsync(Pointer to, Pointer from, std::size_t bytes, void *stream) {
  static Function function("cuMemcpyAsync");
  return call(function, Need::context,
              [&] { return run(any(to), any(from), bytes, stream, false); });
}

FAKE_CUDA_EXPORT Result cuMemcpyHtoD_v2(Pointer to, const void *from, std::size_t bytes) {
  static Function function("cuMemcpyHtoD_v2");
  return call(function, Need::context,
              [&] { return run(device(to), host(from), bytes, nullptr, true); });
}

FAKE_CUDA_EXPORT Result cuMemcpyDtoH_v2(void *to, Pointer from, std::size_t bytes) {
  static Function function("cuMemcpyDtoH_v2");
  return call(function, Need::context,
              [&] { return run(host(to), device(from), bytes, nullptr, true); });
}

FAKE_CUDA_EXPORT Result cuMemcpyDtoD_v2(Pointer to, Pointer from, std::size_t bytes) {
  static Function function("cuMemcpyDtoD_v2");
  return call(function, Need::context,
              [&] { return run(device(to), device(from), bytes, nullptr, false); });
}

FAKE_CUDA_EXPORT Result cuMemcpy(Pointer to, Pointer from, std::size_t bytes) {
  static Function function("cuMemcpy");
  return call(function, Need::context,
              [&] { return run(any(to), any(from), bytes, nullptr, true); });
}

FAKE_CUDA_EXPORT Result cuMemcpy2DAsync_v2(const Copy2D *copy, void *stream) {
  static Function function("cuMemcpy2DAsync_v2");
  return call(function, Need::context, [&] { return run_2d(copy, stream, false); });
}

FAKE_CUDA_EXPORT Result cuMemcpy2D_v2(const Copy2D *copy) {
  static Function function("cuMemcpy2D_v2");
  return call(function, Need::context, [&] { return run_2d(copy, nullptr, true); });
}

FAKE_CUDA_EXPORT Result cuMemsetD8Async(Pointer pointer, unsigned char value, std::size_t bytes,
                                        void *stream) {
  static Function function("cuMemsetD8Async");
  return call(function, Need::context, [&] { return fill(pointer, value, bytes, stream); });
}

FAKE_CUDA_EXPORT Result cuMemsetD8_v2(Pointer pointer, unsigned char value, std::size_t bytes) {
  static Function function("cuMemsetD8_v2");
  return call(function, Need::context, [&] { return fill(pointer, value, bytes, nullptr); });
}
