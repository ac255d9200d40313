// The plate in the computer: two components, chained.
//
//   unknowns --tesseract_api.py--> conductivity --libheat.so--> readings
//            <------- vjp --------              <---- vjp -----
#pragma once

#include <chrono>
#include <filesystem>
#include <span>
#include <tesseract_host/tesseract.hpp>
#include <vector>

#include "observations.hpp"

/// How finely space and time are cut.
struct Resolution {
  std::int64_t cells = 128;  // along x and along y
  std::int64_t steps = 400;
};

/// Power of the heaters under the plate, by cell [y, x].
std::vector<double> heating(std::int64_t cells);

/// A prepared call with its arrays, and how often and how long it ran.
class TimedCall {
 public:
  TimedCall(const tesseract::Call &call, const tesseract::List<tesseract::Tensor> &in,
            const tesseract::List<tesseract::Destination> &out)
      : bound_(call.bind(in, out)) {}

  void run();
  int count() const { return count_; }
  double seconds() const { return time_.count(); }

 private:
  tesseract::Bound bound_;
  int count_ = 0;
  std::chrono::duration<double> time_{};
};

/// Not for several threads at once.  Functions throw tesseract::Error, and tesseract::OutOfDomain
/// where no such plate exists: a conductivity that isn't positive, or so large that the steps are
/// too long for it.
class Plate {
 public:
  /// Opens the components.  `inclusions` is the number of inclusions among the unknowns; sensors
  /// and times are those of the observations.
  Plate(const std::filesystem::path &conductivity, const std::filesystem::path &heat,
        const Observations &observations, std::size_t inclusions, Resolution resolution);
  Plate(const Plate &) = delete;
  Plate &operator=(const Plate &) = delete;

  /// Computes conductivity, readings and temperature.
  void simulate(std::span<const double> unknowns);

  /// Half the mean square of (reading - observation) / noise, about 1/2 at the truth.  Simulates.
  double misfit(std::span<const double> unknowns);

  /// The gradient of the misfit where it was computed last.
  void gradient(std::span<double> by_unknowns);

  // Of the last simulation.
  const std::vector<double> &conductivity() const { return conductivity_; }  // [y, x]
  const std::vector<double> &readings() const { return readings_; }          // [time, sensor]
  const std::vector<double> &temperature() const { return temperature_; }    // [y, x], at the end

  /// A component and what is asked of it.
  struct Stage {
    tesseract::Component component;
    tesseract::Call prepared_apply, prepared_vjp;
    TimedCall apply, vjp;
  };
  const Stage &field() const { return field_; }
  const Stage &heat() const { return heat_; }

 private:
  Stage open_field(const std::filesystem::path &source, std::size_t inclusions);
  Stage open_heat(const std::filesystem::path &source);

  Observations observations_;
  Resolution resolution_;
  std::vector<double> unknowns_, conductivity_, source_, readings_, temperature_;
  std::vector<double> readings_seed_, by_conductivity_, by_unknowns_;
  Stage field_, heat_;  // bound to the arrays above
};
