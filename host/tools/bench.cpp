// What a call costs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "commands.h"
#include "leaves.h"

namespace tool {
namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Times `body` in batches for about so many seconds and prints median and minimum per call.
void measure(const char *what, double seconds, const std::function<void()> &body) {
  body();
  const Clock::time_point trial = Clock::now();
  body();
  const double once = std::max(nanoseconds_since(trial), 1.0);
  const auto batch = std::max<int64_t>(1, static_cast<int64_t>(seconds * 1e9 / 50 / once));
  std::vector<double> costs;
  const Clock::time_point start = Clock::now();
  do {
    const Clock::time_point begin = Clock::now();
    for (int64_t i = 0; i < batch; i++) body();
    costs.push_back(nanoseconds_since(begin) / static_cast<double>(batch));
  } while (nanoseconds_since(start) < seconds * 1e9);
  std::sort(costs.begin(), costs.end());
  std::printf("%-18s %12.1f ns median %12.1f ns minimum\n", what, costs[costs.size() / 2],
              costs.front());
}

}  // namespace

int bench(const BenchOptions &options) {
  const std::string document = read_file(options.inputs);
  const Clock::time_point start = Clock::now();
  const tesseract::Component component = open(options.source);
  std::printf("%-18s %12.1f ns\n", "open", nanoseconds_since(start));

  const Inputs split = split_inputs(description_of(component), document);
  const std::vector<tesseract::Leaf> inputs = split.leaves();
  std::vector<const DLTensor *> in;
  for (const Array &array : split.arrays) in.push_back(&array.tensor->dl_tensor);

  const tesseract::Result first = component.apply(inputs);
  std::vector<tesseract::Want> of;
  std::vector<host::OwnedTensor> destinations;
  std::vector<DLTensor *> out;
  for (int64_t i = 0; i < first.size(); i++) {
    const DLTensor &tensor = first.tensor(i);
    of.emplace_back(first.path(i));
    destinations.push_back(host::make_tensor(tensor.dtype, tensor.ndim, tensor.shape));
    out.push_back(&destinations.back()->dl_tensor);
  }

  std::printf("%zu tensors in, %zu out\n", in.size(), out.size());
  measure("apply, one-shot", options.seconds, [&] { component.apply(inputs); });
  const tesseract::Call call = component.prepare_apply(inputs, of);
  measure("apply, prepared", options.seconds, [&] { call.run(in, out); });
  return 0;
}

}  // namespace tool
