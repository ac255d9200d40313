// A component in CUDA C++: a step of heat diffusion with its adjoint, on the GPU where the arrays
// are there, else on the CPU.
//
// On the GPU it launches one kernel on the call's stream and returns: it waits for nothing and
// allocates nothing, so that a call can be captured into a graph.
#include <cuda_runtime.h>
#include <tesseract_host/plugin.h>

#include "diffusion_step.hpp"

namespace {

/* clang-format off */
const char description[] = TESSERACT_JSON({
  "name": "diffusion",
  "description": "one explicit step of heat diffusion; stable while 4 dt max(diffusivity) <= spacing^2",
  "threads": "concurrent",
  "devices": ["cpu", "cuda"],
  "capture_safe": true,
  "inputs": [
    {"path": "temperature", "dtype": "float64", "shape": ["rows", "columns"], "differentiable": true, "units": "K"},
    {"path": "diffusivity", "dtype": "float64", "shape": ["rows", "columns"], "differentiable": true, "units": "m2/s"},
    {"path": "source", "dtype": "float64", "shape": ["rows", "columns"], "differentiable": true, "units": "K/s"},
    {"path": "dt", "dtype": "float64", "shape": [], "units": "s"},
    {"path": "spacing", "dtype": "float64", "shape": [], "default": 1.0, "units": "m"}
  ],
  "outputs": [
    {"path": "next", "dtype": "float64", "shape": ["rows", "columns"], "differentiable": true, "units": "K"}
  ]
});
/* clang-format on */

// Positions of the inputs, and of the gradients by them.
enum { temperature, diffusivity, source, dt, spacing };

bool on_gpu(const DLTensor &tensor) {
  return tensor.device.device_type == kDLCUDA || tensor.device.device_type == kDLCUDAManaged;
}

// The elements of a tensor; null where it is not given or not wanted.
double *elements(const DLTensor *tensor) {
  if (tensor == nullptr) return nullptr;
  return reinterpret_cast<double *>(static_cast<char *>(tensor->data) + tensor->byte_offset);
}

diffusion::Number number(const DLTensor &tensor) {
  const double *address = elements(&tensor);
  if (on_gpu(tensor)) return {address, 0};
  return {nullptr, *address};
}

diffusion::Inputs inputs_of(const tesseract_frame &frame) {
  const auto *const *in = frame.inputs;
  return {{in[temperature]->shape[0], in[temperature]->shape[1]},
          elements(in[temperature]),
          elements(in[diffusivity]),
          elements(in[source]),
          number(*in[dt]),
          number(*in[spacing])};
}

// Grids are all on the GPU or all on the host; `path` is null for what has none.
std::int32_t check_place(tesseract_frame *frame, const DLTensor *tensor, const char *path) {
  if (tensor == nullptr || on_gpu(*tensor) == on_gpu(*frame->inputs[temperature])) {
    return TESSERACT_OK;
  }
  return tesseract_fail(frame, TESSERACT_ERROR_DEVICE, path,
                        on_gpu(*tensor) ? "is on a GPU, and temperature on the host"
                                        : "is on the host, and temperature on a GPU");
}

std::int32_t check_inputs(tesseract_frame *frame) {
  const auto status = check_place(frame, frame->inputs[diffusivity], "diffusivity");
  if (status != TESSERACT_OK) return status;
  return check_place(frame, frame->inputs[source], "source");
}

template <class Cell>
__global__ void compute(std::int64_t count, Cell cell) {
  const auto index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index < count) cell(index);
}

// While it lives this thread may load kernels, as the first launch does, even if it captures a
// stream.
class MayLoad {
 public:
  MayLoad() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~MayLoad() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  MayLoad(const MayLoad &) = delete;
  MayLoad &operator=(const MayLoad &) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Computes each cell of the grid: enqueued on the call's stream, or here and now.
template <class Cell>
std::int32_t run(tesseract_frame *frame, const Cell &cell) {
  const DLTensor &grid = *frame->inputs[temperature];
  const std::int64_t count = grid.shape[0] * grid.shape[1];
  if (!on_gpu(grid)) {
    for (std::int64_t index = 0; index < count; ++index) cell(index);
    return TESSERACT_OK;
  }
  if (count == 0) return TESSERACT_OK;  // a launch of no blocks is an error
  const MayLoad may_load;
  constexpr std::int64_t threads = 256;
  const auto blocks = static_cast<unsigned>((count + threads - 1) / threads);
  compute<<<blocks, threads, 0, reinterpret_cast<cudaStream_t>(frame->stream)>>>(count, cell);
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return TESSERACT_OK;
  return tesseract_fail(frame, TESSERACT_ERROR_DEVICE, "temperature", cudaGetErrorString(error));
}

std::int32_t describe(void *, const char **text, std::uint64_t *length, tesseract_frame *) {
  *text = description;
  *length = sizeof description - 1;
  return TESSERACT_OK;
}

std::int32_t apply(void *, void *, tesseract_frame *frame) {
  const DLTensor *next = frame->outputs[0];
  if (next == nullptr) return TESSERACT_OK;
  if (const auto status = check_inputs(frame); status != TESSERACT_OK) return status;
  if (const auto status = check_place(frame, next, "next"); status != TESSERACT_OK) return status;
  return run(frame, diffusion::Next{inputs_of(*frame), elements(next)});
}

// Seeds are cotangents by output; outputs are gradients by input, null where not wanted.
std::int32_t vjp(void *, void *, tesseract_frame *frame) {
  const DLTensor *seed = frame->seeds[0];
  if (const auto status = check_inputs(frame); status != TESSERACT_OK) return status;
  if (const auto status = check_place(frame, seed, "next"); status != TESSERACT_OK) return status;
  constexpr const char *paths[] = {"temperature", "diffusivity", "source"};
  double *gradients[3];
  for (const int input : {temperature, diffusivity, source}) {
    const auto status = check_place(frame, frame->outputs[input], paths[input]);
    if (status != TESSERACT_OK) return status;
    gradients[input] = elements(frame->outputs[input]);
  }
  auto *const *by = gradients;
  if (seed == nullptr) {
    return run(frame, diffusion::NoGradients{by[temperature], by[diffusivity], by[source]});
  }
  return run(frame, diffusion::Gradients{inputs_of(*frame), elements(seed), by[temperature],
                                         by[diffusivity], by[source]});
}

tesseract_plugin_table table() {
  tesseract_plugin_table table{};
  table.size = sizeof table;
  table.abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX};
  table.describe = describe;
  table.apply = apply;
  table.vjp = vjp;
  return table;
}

}  // namespace

std::int32_t tesseract_plugin_v1(const tesseract_host_table *,
                                 const tesseract_plugin_table **plugin) {
  static const tesseract_plugin_table plugin_table = table();
  *plugin = &plugin_table;
  return TESSERACT_OK;
}
