#include "memory.h"

#include "../dtype.h"
#include "../error.h"
#include "context.h"

namespace host {
namespace {

using cuda::Address;
using cuda::Stream;

Address address_of(const void *data) {
  return reinterpret_cast<Address>(data);
}

// Freed when all work on the device is done, for which the driver waits: what still uses the
// memory, and on which stream, is not known.  That is why it is not memory in the order of a
// stream.
void free_block(int ordinal, Address address) {
  const cuda::CurrentContext context(ordinal);
  const cuda::Driver &driver = cuda::driver();
  const cuda::BesideCaptures beside(driver);
  driver.free(address);
}

Address allocate(uint64_t bytes) {
  if (bytes == 0) return 0;
  const cuda::Driver &driver = cuda::driver();
  const cuda::BesideCaptures beside(driver);
  Address address = 0;
  cuda::check(driver.allocate(&address, bytes), "allocating memory of the device");
  return address;
}

// The tensor's struct, shape and strides are a host tensor's without data.
struct Held {
  OwnedTensor described;
  int ordinal;
  DLManagedTensorVersioned shown;
};

void free_held(DLManagedTensorVersioned *tensor) {
  const std::unique_ptr<Held> held(static_cast<Held *>(tensor->manager_ctx));
  const Address address = address_of(tensor->dl_tensor.data);
  // A second try, since otherwise the memory is lost; it is where the driver is lost, too.
  for (int tries = 0; address && tries < 2; tries++) {
    try {
      return free_block(held->ordinal, address);
    } catch (const Failure &) {
    }
  }
}

// A copy as rows of equal distance: the innermost compact run, and one axis of rows; what is left
// is walked.
struct Rows {
  size_t width = 0, height = 1;
  size_t from_pitch = 0, to_pitch = 0;
};

// Axes with adjacent ones merged where both sides allow it.
std::vector<CopyAxis> merged_axes(const DLTensor &from, const DLTensor &to, uint64_t item) {
  std::vector<CopyAxis> axes;
  for (const CopyAxis &axis : copy_axes(from, item, to, item)) {
    if (!axes.empty() && axes.back().from == axis.length * axis.from &&
        axes.back().to == axis.length * axis.to)
      axes.back() = {axes.back().length * axis.length, axis.from, axis.to};
    else
      axes.push_back(axis);
  }
  return axes;
}

class StridedCopy {
 public:
  StridedCopy(const DLTensor &from, const DLTensor &to, Stream stream)
      : from_on_host_(from.device.device_type == kDLCPU),
        to_on_host_(to.device.device_type == kDLCPU),
        stream_(stream) {
    rows_.width = dtype_size(from.dtype);
    axes_ = merged_axes(from, to, rows_.width);
    take_inner();
    take_rows();
    walk(0, static_cast<char *>(first_element(from)), static_cast<char *>(first_element(to)));
  }

 private:
  void take_inner() {
    const auto item = static_cast<int64_t>(rows_.width);
    if (axes_.empty() || axes_.back().from != item || axes_.back().to != item) return;
    rows_.width = static_cast<size_t>(axes_.back().length * item);
    axes_.pop_back();
  }

  // The driver wants pitches that are at least a row's width, on both sides.
  void take_rows() {
    if (axes_.empty()) return;
    const CopyAxis &axis = axes_.back();
    const auto width = static_cast<int64_t>(rows_.width);
    if (axis.from < width || axis.to < width) return;
    rows_.height = static_cast<size_t>(axis.length);
    rows_.from_pitch = static_cast<size_t>(axis.from);
    rows_.to_pitch = static_cast<size_t>(axis.to);
    axes_.pop_back();
  }

  void walk(size_t axis, char *from, char *to) {
    if (axis == axes_.size()) return copy(from, to);
    for (int64_t i = 0; i < axes_[axis].length; i++)
      walk(axis + 1, from + i * axes_[axis].from, to + i * axes_[axis].to);
  }

  void copy(const char *from, char *to) const {
    const cuda::Driver &driver = cuda::driver();
    constexpr const char *doing = "copying an array";
    if (rows_.height > 1) return copy_rows(from, to);
    if (from_on_host_)
      cuda::check(driver.copy_to_device(address_of(to), from, rows_.width, stream_), doing);
    else if (to_on_host_)
      cuda::check(driver.copy_to_host(to, address_of(from), rows_.width, stream_), doing);
    else
      cuda::check(driver.copy_on_device(address_of(to), address_of(from), rows_.width, stream_),
                  doing);
  }

  void copy_rows(const char *from, char *to) const {
    cuda::Copy2D copy = {};
    copy.from_type = from_on_host_ ? cuda::kMemoryHost : cuda::kMemoryDevice;
    copy.from_host = from_on_host_ ? from : nullptr;
    copy.from_device = from_on_host_ ? 0 : address_of(from);
    copy.to_type = to_on_host_ ? cuda::kMemoryHost : cuda::kMemoryDevice;
    copy.to_host = to_on_host_ ? to : nullptr;
    copy.to_device = to_on_host_ ? 0 : address_of(to);
    copy.from_pitch = rows_.from_pitch;
    copy.to_pitch = rows_.to_pitch;
    copy.width = rows_.width;
    copy.height = rows_.height;
    cuda::check(cuda::driver().copy_2d(&copy, stream_), "copying an array");
  }

  bool from_on_host_, to_on_host_;
  Stream stream_;
  std::vector<CopyAxis> axes_;
  Rows rows_;
};

}  // namespace

OwnedTensor make_tensor_on(const DLDevice &device, const DLDataType &dtype, int32_t ndim,
                           const int64_t *shape, Layout layout) {
  if (is_host(device)) return make_tensor(dtype, ndim, shape, layout);
  auto held = std::make_unique<Held>();
  held->described = make_shape(dtype, ndim, shape);
  DLTensor &described = held->described->dl_tensor;
  if (layout == Layout::column_major) compact_strides(ndim, shape, layout, described.strides);
  uint64_t count = 0, bytes = 0;
  if (!count_bytes(ndim, shape, dtype_size(dtype), &count, &bytes))
    throw Failure(TESSERACT_ERROR_SCHEMA,
                  "the shape " + shape_text(ndim, shape) + " is negative or too large");
  held->ordinal = device.device_id;
  const cuda::CurrentContext context(device.device_id);
  described.data = reinterpret_cast<void *>(allocate(bytes));
  described.device = device;
  held->shown = *held->described;
  held->shown.manager_ctx = held.get();
  held->shown.deleter = free_held;
  return OwnedTensor(&held.release()->shown);
}

void copy_in_order(const DLTensor &from, const DLTensor &to, uint64_t stream, bool wait) {
  uint64_t count = 0, bytes = 0;
  if (!count_bytes(from.ndim, from.shape, dtype_size(from.dtype), &count, &bytes))
    throw Failure(TESSERACT_ERROR_SCHEMA,
                  "the shape " + shape_text(from.ndim, from.shape) + " is too large");
  if (count == 0) return;
  if (wait) cuda::refuse_capture(stream, "copies to and from the host can't be captured");
  StridedCopy(from, to, stream);
  if (wait) cuda::check(cuda::driver().stream_synchronize(stream), "waiting for a copy");
}

namespace cuda {

DLDevice locate(const void *address) {
  const Driver &cuda = driver();
  unsigned type = 0;
  const Result result = cuda.pointer_attribute(&type, kPointerMemoryType, address_of(address));
  if (result == kInvalidValue) return kHost;
  check(result, "asking for an address");
  unsigned managed = 0;
  int ordinal = 0;
  check(cuda.pointer_attribute(&managed, kPointerIsManaged, address_of(address)),
        "asking for an address");
  check(cuda.pointer_attribute(&ordinal, kPointerDeviceOrdinal, address_of(address)),
        "asking for an address");
  if (managed) return {kDLCUDAManaged, ordinal};
  if (type == kMemoryHost) return {kDLCUDAHost, 0};
  return {kDLCUDA, ordinal};
}

bool is_on(const void *address, int ordinal) {
  const DLDevice found = locate(address);
  const bool on_device = found.device_type == kDLCUDA || found.device_type == kDLCUDAManaged;
  return on_device && found.device_id == ordinal;
}

}  // namespace cuda
}  // namespace host
