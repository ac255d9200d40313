// One explicit step of heat diffusion on a grid of cells, and its adjoint.  Each class computes one
// cell of what it is named after, on the GPU and on the CPU alike: what is tested on one machine is
// the code that runs on the other.
//
//   next = temperature + dt (source + div(diffusivity grad temperature))
//
// Between two cells flows the mean of their diffusivities times the difference of their
// temperatures; nothing flows through the edges of the grid.
#ifndef DIFFUSION_STEP_HPP
#define DIFFUSION_STEP_HPP

#include <cstdint>

#if defined(__CUDACC__)
#define ON_BOTH __host__ __device__
#else
#define ON_BOTH
#endif

namespace diffusion {

struct Grid {
  std::int64_t rows, columns;

  ON_BOTH std::int64_t size() const { return rows * columns; }

  // Calls `visit` with each of the up to four neighbours of a cell.
  template <class Visit>
  ON_BOTH void neighbours(std::int64_t cell, const Visit &visit) const {
    const std::int64_t row = cell / columns, column = cell % columns;
    if (row > 0) visit(cell - columns);
    if (row < rows - 1) visit(cell + columns);
    if (column > 0) visit(cell - 1);
    if (column < columns - 1) visit(cell + 1);
  }
};

// A number that the caller has on the host, which goes with the kernel, or on the GPU, where the
// kernel reads it: nobody waits for it.
struct Number {
  const double *address;  // null: it is `value`
  double value;

  ON_BOTH double get() const { return address != nullptr ? *address : value; }
};

// What every endpoint is given.
struct Inputs {
  Grid grid;
  const double *temperature, *diffusivity, *source;
  Number dt, spacing;

  ON_BOTH double rate() const { return dt.get() / (spacing.get() * spacing.get()); }
};

// What flows into a cell of `field`, times the square of the spacing.
ON_BOTH inline double inflow(const Inputs &in, const double *field, std::int64_t cell) {
  double sum = 0;
  in.grid.neighbours(cell, [&](std::int64_t other) {
    sum += 0.5 * (in.diffusivity[cell] + in.diffusivity[other]) * (field[other] - field[cell]);
  });
  return sum;
}

struct Next {
  Inputs in;
  double *next;

  ON_BOTH void operator()(std::int64_t cell) const {
    next[cell] = in.temperature[cell] + in.dt.get() * in.source[cell] +
                 in.rate() * inflow(in, in.temperature, cell);
  }
};

// The gradients, from the cotangent of `next`.  The flow between two cells is symmetric, so that
// each gradient is gathered from the neighbours as the step is: no atomic operations, and the same
// bits each time.
struct Gradients {
  Inputs in;
  const double *seed;
  double *temperature, *diffusivity, *source;  // null where not wanted

  ON_BOTH void operator()(std::int64_t cell) const {
    if (temperature != nullptr) temperature[cell] = seed[cell] + in.rate() * inflow(in, seed, cell);
    if (source != nullptr) source[cell] = in.dt.get() * seed[cell];
    if (diffusivity != nullptr) {
      double sum = 0;
      in.grid.neighbours(cell, [&](std::int64_t other) {
        sum += 0.5 * (in.temperature[other] - in.temperature[cell]) * (seed[cell] - seed[other]);
      });
      diffusivity[cell] = in.rate() * sum;
    }
  }
};

// The same where the cotangent is zero.
struct NoGradients {
  double *temperature, *diffusivity, *source;

  ON_BOTH void operator()(std::int64_t cell) const {
    if (temperature != nullptr) temperature[cell] = 0;
    if (source != nullptr) source[cell] = 0;
    if (diffusivity != nullptr) diffusivity[cell] = 0;
  }
};

}  // namespace diffusion

#undef ON_BOTH

#endif
