// Estimates the inclusions of a plate from temperatures measured on it.
//
// Exit status: 0 when the gradient is right and the search converged to a plate that explains the
// observations, else 1; another when the estimation could not be made.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "command_line.hpp"
#include "figure.hpp"
#include "gradient_check.hpp"
#include "lbfgs.hpp"
#include "unknowns.hpp"

namespace {

using Vector = std::vector<double>;

struct Options : PlateOptions {
  std::string output = ".";
  LbfgsOptions search;
};

// The misfit as the optimiser sees it: unknowns in units of their scales.
class ScaledMisfit {
 public:
  ScaledMisfit(Plate &plate, const Unknowns &unknowns) : plate_(plate), scale_(unknowns.scale) {}

  Vector scaled(std::span<const double> unknowns) const {
    Vector point(unknowns.begin(), unknowns.end());
    for (std::size_t i = 0; i < point.size(); ++i) point[i] /= scale_[i];
    return point;
  }

  Vector unscaled(std::span<const double> point) const {
    Vector unknowns(point.begin(), point.end());
    for (std::size_t i = 0; i < unknowns.size(); ++i) unknowns[i] *= scale_[i];
    return unknowns;
  }

  // Throws tesseract::OutOfDomain where there is no such plate.
  double value(std::span<const double> point) const { return plate_.misfit(unscaled(point)); }

  void gradient(std::span<double> by_point) const {
    plate_.gradient(by_point);
    for (std::size_t i = 0; i < by_point.size(); ++i) by_point[i] *= scale_[i];
  }

  Objective objective() const {
    const auto value_or_nothing = [this](std::span<const double> point) -> std::optional<double> {
      try {
        return value(point);
      } catch (const tesseract::OutOfDomain &) {
        return std::nullopt;  // the line search takes a shorter step
      }
    };
    return {value_or_nothing, [this](std::span<double> by_point) { gradient(by_point); }};
  }

 private:
  Plate &plate_;
  const Vector &scale_;
};

bool report_gradient(const ScaledMisfit &misfit, const Vector &point,
                     const std::vector<std::string> &names) {
  constexpr double tolerance = 1e-5, step = 1e-5;
  Vector gradient(point.size());
  misfit.value(point);
  misfit.gradient(gradient);
  const auto entries = check_gradient([&](std::span<const double> at) { return misfit.value(at); },
                                      point, gradient, Vector(point.size(), step));
  std::printf("\nGradient at the first guess, by scaled unknowns\n");
  std::printf("  %-12s %14s %14s %10s\n", "unknown", "adjoint", "differences", "error");
  double worst = 0.0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto &[by_adjoint, by_differences, error] = entries[i];
    std::printf("  %-12s %14.6g %14.6g %10.1e\n", names[i].c_str(), by_adjoint, by_differences,
                error);
    worst = std::max(worst, error);
  }
  const bool passed = worst < tolerance;
  std::printf("  gradient check %s: largest error %.1e, allowed %.0e\n",
              passed ? "passed" : "FAILED", worst, tolerance);
  return passed;
}

// Shows the first iterations, every fifth, and those that met the edge of the domain.
Minimum search(const ScaledMisfit &misfit, const Vector &start, const LbfgsOptions &options) {
  std::printf("\nL-BFGS\n  %9s %12s %12s %10s %7s %8s %8s\n", "iteration", "misfit", "|gradient|",
              "step", "trials", "outside", "seconds");
  const auto begin = std::chrono::steady_clock::now();
  const auto report = [begin](const Iteration &iteration) {
    if (iteration.number > 10 && iteration.number % 5 != 0 && iteration.outside == 0) return;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    std::printf("  %9d %12.6g %12.3e %10.3g %7d %8d %8.1f\n", iteration.number, iteration.value,
                iteration.gradient_norm, iteration.step, iteration.trials, iteration.outside,
                time.count());
  };
  return minimise_lbfgs(misfit.objective(), start, options, report);
}

void report_estimate(const Unknowns &unknowns, const Vector &estimate) {
  std::printf("\nUnknowns\n  %-12s %10s %10s %10s %10s\n", "", "guess", "estimate", "truth",
              "error");
  for (std::size_t i = 0; i < estimate.size(); ++i) {
    std::printf("  %-12s %10.4f %10.4f %10.4f %10.4f\n", unknowns.names[i].c_str(),
                unknowns.guess[i], estimate[i], unknowns.truth[i], estimate[i] - unknowns.truth[i]);
  }
}

void report_calls(const Plate &plate) {
  std::printf("\nCalls into the components\n");
  const auto report = [](const char *name, const TimedCall &call) {
    std::printf("  %-20s %5d calls, %8.3f ms each\n", name, call.count(),
                1e3 * call.seconds() / std::max(1, call.count()));
  };
  report("conductivity apply", plate.field().apply);
  report("conductivity vjp", plate.field().vjp);
  report("heat apply", plate.heat().apply);
  report("heat vjp", plate.heat().vjp);
}

void write_history(const std::filesystem::path &path, std::span<const Iteration> history) {
  std::ofstream file(path);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  file.precision(12);
  file << "# iteration,misfit,gradient norm,step,trials,outside\n";
  for (const auto &[number, value, norm, step, trials, outside] : history) {
    file << number << ',' << value << ',' << norm << ',' << step << ',' << trials << ',' << outside
         << '\n';
  }
}

Vector conductivity_of(Plate &plate, const Vector &unknowns) {
  plate.simulate(unknowns);
  return plate.conductivity();
}

bool estimate(const Options &options) {
  constexpr double explained = 0.6;  // the misfit of noise alone is about 0.5
  const auto observations = read_observations(options.data + "/observations.csv");
  const auto unknowns = read_unknowns(options.data + "/unknowns.csv");
  const std::filesystem::path output = options.output;
  std::filesystem::create_directories(output);

  Plate plate(options.conductivity, options.heat, observations, unknowns.inclusions(),
              options.resolution);
  std::printf("Plate of %lld x %lld cells, %lld steps; %zu readings; %zu unknowns\n",
              static_cast<long long>(options.resolution.cells),
              static_cast<long long>(options.resolution.cells),
              static_cast<long long>(options.resolution.steps), observations.readings.size(),
              unknowns.names.size());

  const ScaledMisfit misfit(plate, unknowns);
  const Vector start = misfit.scaled(unknowns.guess);
  const bool gradient_passed = report_gradient(misfit, start, unknowns.names);
  const auto minimum = search(misfit, start, options.search);
  const Vector found = misfit.unscaled(minimum.point);
  report_estimate(unknowns, found);
  report_calls(plate);

  Figure figure{conductivity_of(plate, unknowns.truth),
                conductivity_of(plate, unknowns.guess),
                conductivity_of(plate, found),
                plate.temperature(),
                observations,
                minimum.history};
  draw_figure(figure, output / "heat-inversion.png");
  write_history(output / "convergence.csv", minimum.history);

  const auto &first = minimum.history.front(), &last = minimum.history.back();
  const bool passed = gradient_passed && minimum.converged && last.value < explained;
  std::printf("\n%s after %d iterations: misfit %.4g to %.4g, where noise alone gives about 0.5\n",
              minimum.converged ? "Converged" : "NOT CONVERGED", last.number, first.value,
              last.value);
  std::printf("Wrote %s and convergence.csv\n", (output / "heat-inversion.png").c_str());
  return passed;
}

}  // namespace

int main(int argc, char **argv) {
  CLI::App app{"Estimates the conductivity of a plate from temperatures measured on it."};
  Options options;
  options.add_to(app);
  app.add_option("--iterations", options.search.iterations, "at most")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--output-dir", options.output, "folder for the picture and convergence.csv");
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return estimate(options) ? 0 : 1;
  } catch (const tesseract::Error &error) {
    std::cerr << "heat-inversion: " << error.what() << '\n' << error.traceback();
  } catch (const std::exception &error) {
    std::cerr << "heat-inversion: " << error.what() << '\n';
  }
  return 2;
}
