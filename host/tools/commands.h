// The commands of tesseract-host.  Each prints to standard output, throws where it fails, and
// returns the exit status.
#pragma once

#include <cstdint>
#include <string>

#include "component.h"

namespace tool {

struct ConfigOptions {
  bool cflags = false;
  bool libs = false;
  bool cmakedir = false;
  bool pkgconfigdir = false;
  bool prefix = false;
  bool version = false;
};

struct InspectOptions {
  Source source;
  bool json = false;
  bool openapi = false;
};

struct ApplyOptions {
  Source source;
  std::string inputs = "-";  // a file, or "-": standard input
};

struct CheckOptions {
  Source source;
  std::string inputs = "-";
  double tolerance = 0;  // relative, against finite differences; 0: by the arrays' precision
  uint64_t seed = 1;
};

struct BenchOptions {
  Source source;
  std::string inputs = "-";
  double seconds = 1.0;
};

int config(const ConfigOptions &options);
int inspect(const InspectOptions &options);
int apply(const ApplyOptions &options);
int check_derivatives(const CheckOptions &options);
int bench(const BenchOptions &options);

}  // namespace tool
