// Calls the component given on arrays on the GPU, and on the host where there is no GPU.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <span>
#include <stdexcept>
#include <tesseract_host/tesseract.hpp>
#include <vector>

namespace {

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

constexpr std::int64_t rows = 48, columns = 64, middle = (rows / 2) * columns + columns / 2;

// A grid of float64 on the GPU or on the host.
class Grid {
 public:
  Grid(bool on_gpu, double value, double value_in_the_middle)
      : on_gpu_(on_gpu), host_(rows * columns, value) {
    host_[middle] = value_in_the_middle;
    if (!on_gpu_) return;
    check(cudaMalloc(&device_, host_.size() * sizeof(double)));
    check(cudaMemcpy(device_, host_.data(), host_.size() * sizeof(double), cudaMemcpyDefault));
  }
  ~Grid() { cudaFree(device_); }
  Grid(const Grid &) = delete;
  Grid &operator=(const Grid &) = delete;

  tesseract::Destination tensor() {
    return {on_gpu_ ? device_ : host_.data(),
            tesseract::dtype_of<double>(),
            {rows, columns},
            {},
            place()};
  }

  // The elements, on the host.
  std::span<const double> read() {
    if (on_gpu_) {
      check(cudaMemcpy(host_.data(), device_, host_.size() * sizeof(double), cudaMemcpyDefault));
    }
    return host_;
  }

 private:
  DLDevice place() const { return {on_gpu_ ? kDLCUDA : kDLCPU, 0}; }

  bool on_gpu_;
  std::vector<double> host_;
  void *device_ = nullptr;
};

void simulate(const tesseract::Component &diffusion, bool on_gpu, cudaStream_t stream) {
  Grid even(on_gpu, 20.0, 1000.0), odd(on_gpu, 0.0, 0.0);
  Grid diffusivity(on_gpu, 2.0, 1.5), source(on_gpu, 0.1, 0.1);
  const double dt = 0.1;  // a number on the host beside arrays on the GPU

  const auto step = diffusion.prepare_apply({{"temperature", even.tensor()},
                                             {"diffusivity", diffusivity.tensor()},
                                             {"source", source.tensor()},
                                             {"dt", dt}},
                                            {{"next", odd.tensor()}});  // on the GPU, too
  const auto forth =
      step.bind({even.tensor(), diffusivity.tensor(), source.tensor(), dt}, {odd.tensor()});
  const auto back =
      step.bind({odd.tensor(), diffusivity.tensor(), source.tensor(), dt}, {even.tensor()});
  const tesseract::Options options{.stream = reinterpret_cast<std::uint64_t>(stream)};
  for (int i = 0; i < 50; ++i) {  // on a GPU: enqueued, not waited for
    forth.run(options);
    back.run(options);
  }
  if (on_gpu) check(cudaStreamSynchronize(stream));
  const auto temperature = even.read();
  std::printf("after 100 steps: %.6f K in the middle, %.6f K five cells from it\n",
              temperature[middle], temperature[middle + 5]);
}

}  // namespace

int main(int argc, char **argv) try {
  if (argc != 2) return 2;
  const tesseract::Component diffusion(argv[1]);
  int devices = 0;
  const bool on_gpu = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
  cudaStream_t stream = nullptr;
  if (on_gpu) check(cudaStreamCreate(&stream));
  std::fprintf(stderr, "%s\n", on_gpu ? "on the GPU" : "there is no GPU: on the host");
  simulate(diffusion, on_gpu, stream);
  std::printf("arrays copied between host and GPU: %llu\n",
              static_cast<unsigned long long>(diffusion.statistics().device_copies));
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
