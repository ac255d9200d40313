// What rows of the table do in C++: native COMMAND SOURCE [OPTIONS].  Prints a detail for the table
// and exits with 0, or says on stderr what is wrong and exits with 1.
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <tesseract_host/tesseract.hpp>
#include <vector>

namespace {

constexpr std::int64_t rows = 60, columns = 50, size = rows * columns;
constexpr double dt = 0.1;

// ---- The GPU ------------------------------------------------------------------------------------

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

void require(bool condition, const std::string &otherwise) {
  if (!condition) throw std::runtime_error(otherwise);
}

// Waits, then writes a number to each element.
__global__ void slow_fill(double *out, std::int64_t count, double number, std::uint64_t wait) {
  std::uint64_t now, end;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(end));
  end += wait;
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now < end);
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) out[i] = number;
}

// A stream that doesn't wait for the default ones, or they for it; never destroyed.
class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }

  cudaStream_t get() const { return stream_; }
  tesseract::Options options() const {
    return {.stream = reinterpret_cast<std::uint64_t>(stream_)};
  }
  void wait() const { check(cudaStreamSynchronize(stream_)); }
  bool busy() const {
    const auto status = cudaStreamQuery(stream_);
    if (status != cudaErrorNotReady) check(status);
    return status == cudaErrorNotReady;
  }

  // Enqueues a kernel that takes its time: milliseconds.
  void fill(double *out, std::int64_t count, double number, std::uint64_t milliseconds) const {
    slow_fill<<<1, 256, 0, stream_>>>(out, count, number, milliseconds * 1000000);
    check(cudaGetLastError());
  }

 private:
  cudaStream_t stream_ = nullptr;
};

// An array of float64 on the GPU; freed with the process.
class Array {
 public:
  Array(const tesseract::Shape &shape, const std::vector<double> &values) : shape_(shape) {
    check(cudaMalloc(&data_, values.size() * sizeof(double)));
    values_ = values;
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(double), cudaMemcpyDefault));
    check(cudaDeviceSynchronize());
  }

  double *data() const { return data_; }
  tesseract::Destination tensor() const {
    return {data_, tesseract::dtype_of<double>(), shape_, {}, {kDLCUDA, 0}};
  }
  std::vector<double> read() const {
    auto values = values_;
    check(cudaMemcpy(values.data(), data_, values.size() * sizeof(double), cudaMemcpyDefault));
    return values;
  }

 private:
  tesseract::Shape shape_;
  std::vector<double> values_;
  double *data_ = nullptr;
};

Array grid(double value) {
  return Array({rows, columns}, std::vector<double>(size, value));
}
Array vector(double value) {
  return Array({size}, std::vector<double>(size, value));
}

void require_all(const Array &array, double expected) {
  for (const double value : array.read()) {
    require(std::abs(value - expected) <= 1e-12 * std::abs(expected),
            std::to_string(value) + " where " + std::to_string(expected) + " should be");
  }
}

// ---- Commands -----------------------------------------------------------------------------------

// A kernel of the component's behind a slow one on the caller's stream.
void order(const tesseract::Component &diffusion) {
  const Array temperature = grid(0), diffusivity = grid(1), source = grid(3), next = grid(0);
  const auto call = diffusion.prepare_apply({{"temperature", temperature.tensor()},
                                             {"diffusivity", diffusivity.tensor()},
                                             {"source", source.tensor()},
                                             {"dt", dt}},
                                            {{"next", next.tensor()}});
  const auto step =
      call.bind({temperature.tensor(), diffusivity.tensor(), source.tensor(), dt}, {next.tensor()});
  const Stream stream;
  step.run(stream.options());  // the kernel is loaded
  stream.wait();
  stream.fill(temperature.data(), size, 7, 200);
  step.run(stream.options());
  require(stream.busy(), "the call waited for the stream");
  stream.wait();
  require_all(next, 7 + 3 * dt);
  std::printf("returned while the caller's kernel of 200 ms ran");
}

// The host's copies behind a slow kernel on the caller's stream, beside a slower one on another.
void order_staged(const tesseract::Component &doubling) {
  const Array x = vector(0), y = vector(0), other = vector(0);
  const auto call = doubling.prepare_apply({{"x", x.tensor()}}, {{"y", y.tensor()}});
  const auto twice = call.bind({x.tensor()}, {y.tensor()});
  const Stream stream, elsewhere;
  twice.run(stream.options());
  stream.wait();
  elsewhere.fill(other.data(), 1, 1, 1000);
  stream.fill(x.data(), size, 7, 100);
  twice.run(stream.options());
  require(elsewhere.busy(), "the call waited for a stream that is not its own");
  stream.wait();
  require_all(y, 14);
  std::printf("while a kernel on another stream ran");
}

// Copies that the caller forbids.
void no_copy(const tesseract::Component &doubling) {
  const Array x = vector(0), y = vector(0);
  const auto x_tensor = x.tensor();
  auto y_tensor = y.tensor();
  const DLTensor *in[] = {x_tensor.get()};
  DLTensor *out[] = {y_tensor.get()};
  const Stream stream;
  auto options = stream.options();
  options.no_copy = true;
  try {
    doubling.apply({{"x", x.tensor()}}, tesseract::all, options);
  } catch (const tesseract::Error &error) {
    require(error.path() == "x", std::string("names no x: ") + error.what());
    require(doubling.statistics().device_copies == 0, "a copy was made all the same");
    const auto call = doubling.prepare_apply({{"x", x.tensor()}}, {{"y", y.tensor()}});
    call.run(in, out, stream.options());  // where it may
    require(doubling.statistics().device_copies == 2, "no copies were counted");
    std::printf("%s", error.what());
    return;
  }
  throw std::runtime_error("the call succeeded");
}

// A capture that nothing spoils ends in a graph.
class Capture {
 public:
  explicit Capture(const Stream &stream) : stream_(stream) {
    check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal));
  }

  cudaGraphExec_t end() const {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaStreamEndCapture(stream_.get(), &graph));
    check(cudaGraphInstantiate(&executable, graph, 0));
    return executable;
  }

 private:
  const Stream &stream_;
};

// Captures the first call there is, and replays it with other data: also with another dt, which the
// kernel reads on the GPU.
void capture(const tesseract::Component &diffusion) {
  const Array temperature = grid(5), diffusivity = grid(1), source = grid(3), next = grid(0);
  const Array number({}, {dt});
  const auto call = diffusion.prepare_apply({{"temperature", temperature.tensor()},
                                             {"diffusivity", diffusivity.tensor()},
                                             {"source", source.tensor()},
                                             {"dt", number.tensor()}},
                                            {{"next", next.tensor()}});
  const auto step =
      call.bind({temperature.tensor(), diffusivity.tensor(), source.tensor(), number.tensor()},
                {next.tensor()});
  const Stream stream;
  const Capture capture(stream);
  step.run(stream.options());
  const cudaGraphExec_t graph = capture.end();
  require_all(next, 0.0);  // nothing has run yet
  double expected = 5;
  for (const double now : {0.1, 0.1, 0.25}) {
    check(cudaMemcpy(number.data(), &now, sizeof now, cudaMemcpyDefault));
    check(cudaDeviceSynchronize());
    check(cudaGraphLaunch(graph, stream.get()));
    check(cudaMemcpyAsync(temperature.data(), next.data(), size * sizeof(double), cudaMemcpyDefault,
                          stream.get()));
    stream.wait();
    expected += 3 * now;
    require_all(next, expected);
  }
  std::printf("3 replays");
}

// A call that needs a synchronisation, on a stream that is being captured.
void capture_refused(const tesseract::Component &component) {
  const Array x = vector(1), y = vector(0);
  const Stream stream;
  component.apply({{"x", x.tensor()}}, tesseract::all, stream.options());
  stream.wait();
  const Capture capture(stream);
  std::string text;
  try {
    component.apply({{"x", x.tensor()}}, tesseract::all, stream.options());
  } catch (const tesseract::Error &error) {
    require(error.status() == TESSERACT_ERROR_DEVICE, error.what());
    text = error.what();
  }
  check(
      cudaMemcpyAsync(y.data(), x.data(), size * sizeof(double), cudaMemcpyDefault, stream.get()));
  check(cudaGraphLaunch(capture.end(), stream.get()));
  stream.wait();
  require(!text.empty(), "the call succeeded");
  require_all(y, 1);
  component.apply({{"x", x.tensor()}}, tesseract::all, stream.options());  // works again
  std::printf("%s", text.c_str());
}

// Microseconds of one run of a prepared call.
double time(const tesseract::Component &component, const Stream &stream, std::uint32_t signature,
            std::uint32_t flags, int repetitions) {
  const Array x = vector(1), y = vector(0);
  const auto in = x.tensor();
  auto out = y.tensor();
  const tesseract_leaf leaf = {TESSERACT_STR("x"), in.get(), nullptr};
  const tesseract_leaves leaves = {sizeof leaves, 0, 1, &leaf, {nullptr, 0}};
  const tesseract_leaf y_leaf = {TESSERACT_STR("y"), out.get(), nullptr};
  const tesseract_leaves of = {sizeof of, 0, 1, &y_leaf, {nullptr, 0}};
  tesseract_signature wanted = TESSERACT_SIGNATURE_INIT;
  wanted.endpoint = TESSERACT_ENDPOINT_APPLY;
  wanted.flags = signature;
  wanted.inputs = &leaves;
  wanted.of = &of;
  tesseract_call *raw = nullptr;
  tesseract_error *error = nullptr;
  if (tesseract_prepare(component.get(), &wanted, &raw, &error) != TESSERACT_OK) {
    throw std::runtime_error(tesseract_error_message(error, nullptr));
  }
  const tesseract::Call call(raw);
  auto options = stream.options().c();
  options.flags = flags;
  const DLTensor *tensors[] = {in.get()};
  DLTensor *results[] = {out.get()};
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) {
      if (tesseract_call_run(call.get(), tensors, results, &options, nullptr, &error) != 0) {
        throw std::runtime_error(tesseract_error_message(error, nullptr));
      }
    }
  };
  run(repetitions / 10);
  const auto start = std::chrono::steady_clock::now();
  run(repetitions);
  const auto end = std::chrono::steady_clock::now();
  stream.wait();
  return std::chrono::duration<double, std::micro>(end - start).count() / repetitions;
}

void speed(const tesseract::Component &nothing) {
  const Stream stream;
  const double direct = time(nothing, stream, 0, 0, 1000000);
  const double current = time(nothing, stream, 0, TESSERACT_CONTEXT_CURRENT, 1000000);
  const double staged = time(nothing, stream, TESSERACT_STAGED, 0, 10000);
  std::printf("%.3f us; context current %.3f us; staged, 2 x 24 kB, %.1f us", direct, current,
              staged);
}

}  // namespace

int main(int argc, char **argv) try {
  const std::map<std::string, std::function<void(const tesseract::Component &)>> commands = {
      {"order", order},     {"order-staged", order_staged},       {"no-copy", no_copy},
      {"capture", capture}, {"capture-refused", capture_refused}, {"speed", speed},
  };
  const auto command = argc >= 3 ? commands.find(argv[1]) : commands.end();
  if (command == commands.end()) return 2;
  const tesseract::Component component(argv[2], {.json = argc > 3 ? argv[3] : "{}"});
  command->second(component);
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
