// Derivatives against each other and against central differences of apply.
//
// For each differentiable input, with a random tangent v of it and random cotangents w of all
// outputs: J v by jvp is compared with differences, and <w, J v> with <J' w, v> by vjp.  Where the
// component refuses one side of a difference, the other side's is taken.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>

#include "../dtype.h"
#include "../element.h"
#include "commands.h"
#include "leaves.h"

namespace tool {
namespace {

using host::OwnedTensor;
using Vector = std::vector<double>;

bool is_real(const DLTensor &tensor) {
  return host::dtype_floating(tensor.dtype);
}

// Calls visit(address) on every element of a host tensor, in row-major order.
template <typename Visit>
void for_each_element(const DLTensor &tensor, Visit &&visit, int32_t axis = 0, int64_t at = 0) {
  const auto item = static_cast<int64_t>(host::dtype_size(tensor.dtype));
  if (axis == tensor.ndim) {
    visit(static_cast<char *>(host::first_element(tensor)) + at * item);
    return;
  }
  for (int64_t i = 0; i < tensor.shape[axis]; i++)
    for_each_element(tensor, visit, axis + 1, at + i * tensor.strides[axis]);
}

void append_elements(const DLTensor &tensor, Vector &values) {
  for_each_element(tensor, [&](const void *at) {
    values.push_back(host::read_element(tensor.dtype, at).value.real());
  });
}

// Writes values[from…] into the tensor; returns the position behind the last one read.
size_t write_elements(const Vector &values, size_t from, const DLTensor &tensor) {
  for_each_element(tensor, [&](void *at) {
    const host::Wide wide{host::Wide::Kind::real, 0, 0, values[from++]};
    if (!host::write_element(tensor.dtype, at, wide))
      throw std::runtime_error("a perturbed value does not fit " + host::dtype_name(tensor.dtype));
  });
  return from;
}

Vector elements(const DLTensor &tensor) {
  Vector values;
  append_elements(tensor, values);
  return values;
}

Vector elements(const tesseract::Result &result) {
  Vector values;
  for (int64_t i = 0; i < result.size(); i++) append_elements(result.tensor(i), values);
  return values;
}

OwnedTensor like(const DLTensor &tensor) {
  return host::make_tensor(tensor.dtype, tensor.ndim, tensor.shape);
}

double dot(const Vector &a, const Vector &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
  return sum;
}

double norm(const Vector &a) {
  return std::sqrt(dot(a, a));
}

// (a - b) / width, by element.
Vector quotient(const Vector &a, const Vector &b, double width) {
  if (a.size() != b.size())
    throw std::runtime_error("the number of output elements changed between calls");
  Vector gap(a.size());
  for (size_t i = 0; i < a.size(); i++) gap[i] = (a[i] - b[i]) / width;
  return gap;
}

// |a - b| relative to the larger; 0 where both are 0.
double difference(const Vector &a, const Vector &b) {
  const double gap = norm(quotient(a, b, 1.0)), scale = std::max(norm(a), norm(b));
  return scale > 0 ? gap / scale : gap;
}

// The same of two scalar products, whose sums may cancel: `size` is that of their terms.
double difference(double a, double b, double size) {
  const double scale = std::max({std::abs(a), std::abs(b), 1e-3 * size});
  return scale > 0 ? std::abs(a - b) / scale : std::abs(a - b);
}

// An error of the derivatives at one input; none where an endpoint is missing.
struct Row {
  std::string path;
  std::optional<double> jvp_differences, vjp_jvp, vjp_differences;
  std::string refused;  // why there are no differences; empty where there are
};

// Slopes by differences for several steps, and what the first failing call said.
struct Differences {
  std::vector<Vector> slopes;
  std::string refused;
};

class Check {
 public:
  Check(const tesseract::Component &component, Inputs inputs,
        const std::vector<LeafPattern> &outputs, uint64_t seed)
      : component_(component), inputs_(std::move(inputs)), random_(seed) {
    const tesseract::Result all = component_.apply(inputs_.leaves());
    for (int64_t i = 0; i < all.size(); i++) {
      const std::string path(all.path(i));
      const DLTensor &tensor = all.tensor(i);
      if (!is_real(tensor) || !differentiable(outputs, path)) continue;
      note_precision(tensor);
      cotangents_.push_back({path, like(tensor), true});
      Vector values = random_vector(elements(tensor).size(), 1.0);
      write_elements(values, 0, cotangents_.back().tensor->dl_tensor);
      append_elements(cotangents_.back().tensor->dl_tensor, w_);
    }
    if (cotangents_.empty())
      throw std::runtime_error("the component has no differentiable real output");
  }

  std::vector<Row> rows() {
    std::vector<Row> rows;
    for (Array &array : inputs_.arrays) {
      if (!array.differentiable || !is_real(array.tensor->dl_tensor)) continue;
      note_precision(array.tensor->dl_tensor);
      rows.push_back(row(array));
    }
    if (rows.empty())
      throw std::runtime_error(
          "the inputs hold no differentiable real array: give one, defaults don't count");
    return rows;
  }

  bool double_precision() const { return double_precision_; }

  // The differentiable inputs of which nothing is given.
  std::vector<std::string> left_out(const std::vector<LeafPattern> &patterns) const {
    std::vector<std::string> paths;
    for (const LeafPattern &pattern : patterns) {
      const bool given =
          std::any_of(inputs_.arrays.begin(), inputs_.arrays.end(), [&](const Array &array) {
            return host::matches(pattern.path, host::parse_path(array.path));
          });
      if (pattern.differentiable && !given) paths.push_back(host::format_path(pattern.path));
    }
    return paths;
  }

 private:
  static bool differentiable(const std::vector<LeafPattern> &patterns, const std::string &path) {
    const host::Path concrete = host::parse_path(path);
    return std::any_of(patterns.begin(), patterns.end(), [&](const LeafPattern &pattern) {
      return pattern.differentiable && host::matches(pattern.path, concrete);
    });
  }

  void note_precision(const DLTensor &tensor) {
    double_precision_ = double_precision_ && tensor.dtype.bits == 64;
  }

  Vector random_vector(size_t count, double scale) {
    std::normal_distribution<double> normal(0.0, scale);
    Vector values(count);
    for (double &value : values) value = normal(random_);
    return values;
  }

  std::vector<tesseract::Want> wanted() const {
    std::vector<tesseract::Want> list;
    for (const Array &array : cotangents_) list.emplace_back(array.path);
    return list;
  }

  // The elements of the differentiable outputs at x.
  Vector outputs_at(Array &array, const Vector &x) {
    write_elements(x, 0, array.tensor->dl_tensor);
    return elements(component_.apply(inputs_.leaves(), wanted()));
  }

  // The elements of what `call` returns; none where the component has no such endpoint.
  template <typename Function>
  static std::optional<Vector> if_offered(Function &&call) {
    try {
      return elements(call());
    } catch (const tesseract::Error &error) {
      if (error.status() != TESSERACT_ERROR_UNSUPPORTED) throw;
      return std::nullopt;
    }
  }

  std::optional<Vector> jvp(const Array &array, const DLTensor &tangent) {
    return if_offered(
        [&] { return component_.jvp(inputs_.leaves(), {{array.path, tangent}}, wanted()); });
  }

  std::optional<Vector> vjp(const Array &array) {
    std::vector<tesseract::Leaf> seeds;
    for (const Array &cotangent : cotangents_)
      seeds.emplace_back(cotangent.path, cotangent.tensor->dl_tensor);
    return if_offered([&] { return component_.vjp(inputs_.leaves(), seeds, {array.path}); });
  }

  // The outputs at x + step v; none where the component fails there; the first such failure
  // is noted in `refused`.
  std::optional<Vector> outputs_beside(Array &array, const Vector &x, const Vector &v, double step,
                                       std::string &refused) {
    Vector point = x;
    double largest = 0;
    for (size_t i = 0; i < x.size(); i++) {
      point[i] += step * v[i];
      largest = std::max(largest, std::abs(step * v[i]));
    }
    try {
      return outputs_at(array, point);
    } catch (const tesseract::Error &error) {
      char by[32];
      std::snprintf(by, sizeof by, "%.0e", largest);
      if (refused.empty())
        refused = "in a finite difference of \"" + array.path + "\" by " + by + ": " + error.what();
      return std::nullopt;
    }
  }

  // Along v, central where both sides can be had.  Rounding spoils the small steps, curvature the
  // large ones.
  Differences differences(Array &array, const Vector &x, const Vector &v) {
    Differences found;
    const Vector here = outputs_at(array, x);
    double step = double_precision_ ? 1e-8 : 1e-5;
    for (int decade = double_precision_ ? 6 : 3; decade > 0; decade--) {
      step *= 10;
      const std::optional<Vector> above = outputs_beside(array, x, v, step, found.refused);
      const std::optional<Vector> below = outputs_beside(array, x, v, -step, found.refused);
      if (!above && !below) continue;
      const double width = above && below ? 2 * step : step;
      found.slopes.push_back(quotient(above ? *above : here, below ? *below : here, width));
    }
    write_elements(x, 0, array.tensor->dl_tensor);
    return found;
  }

  Row row(Array &array) {
    const Vector x = elements(array.tensor->dl_tensor);
    double largest = 0;
    for (const double value : x) largest = std::max(largest, std::abs(value));
    const OwnedTensor tangent = like(array.tensor->dl_tensor);
    write_elements(random_vector(x.size(), largest > 0 ? largest : 1.0), 0, tangent->dl_tensor);
    const Vector v = elements(tangent->dl_tensor);

    const std::optional<Vector> forward = jvp(array, tangent->dl_tensor);
    const std::optional<Vector> reverse = vjp(array);
    if (!forward && !reverse) throw std::runtime_error("the component offers no derivative");
    Row row{array.path, {}, {}, {}, {}};
    const Differences found = differences(array, x, v);
    if (found.slopes.empty()) row.refused = found.refused;
    for (const Vector &slope : found.slopes) {
      const auto keep_best = [](std::optional<double> &best, double error) {
        best = std::min(best.value_or(error), error);
      };
      if (forward) keep_best(row.jvp_differences, difference(*forward, slope));
      if (reverse)
        keep_best(row.vjp_differences,
                  difference(dot(w_, slope), dot(*reverse, v), norm(w_) * norm(slope)));
    }
    if (forward && reverse)
      row.vjp_jvp = difference(dot(w_, *forward), dot(*reverse, v), norm(w_) * norm(*forward));
    return row;
  }

  const tesseract::Component &component_;
  Inputs inputs_;
  std::mt19937_64 random_;
  std::vector<Array> cotangents_;
  Vector w_;  // all elements of the cotangents
  bool double_precision_ = true;
};

std::string cell(const std::optional<double> &error, double limit) {
  if (!error) return "-";
  char text[48];
  const bool good = *error <= limit;  // false for NaN
  std::snprintf(text, sizeof text, "%.1e%s", *error, good ? "" : " WRONG");
  return text;
}

bool within(const std::optional<double> &error, double limit) {
  return !error || *error <= limit;
}

void print_left_out(const std::vector<std::string> &paths) {
  if (paths.empty()) return;
  std::string list;
  for (const std::string &path : paths) list += (list.empty() ? "" : ", ") + path;
  std::printf("\nnot checked: %s (left to %s default)\n", list.c_str(),
              paths.size() == 1 ? "its" : "their");
}

}  // namespace

int check_derivatives(const CheckOptions &options) {
  const std::string document = read_file(options.inputs);
  const tesseract::Component component = open(options.source);
  const host::Json description = description_of(component);
  Check check(component, split_inputs(description, document), leaf_patterns(description, "outputs"),
              options.seed);
  const std::vector<Row> rows = check.rows();

  const bool precise = check.double_precision();
  const double limit = options.tolerance > 0 ? options.tolerance : precise ? 1e-5 : 2e-2;
  const double exact_limit = precise ? 1e-10 : 1e-4;
  std::printf("relative errors; limits %.0e against differences, %.0e of vjp against jvp\n\n",
              limit, exact_limit);
  std::printf("%-24s %-20s %-20s %-20s\n", "input", "jvp - differences", "vjp - differences",
              "vjp - jvp");
  bool right = true, complete = true;
  for (const Row &row : rows) {
    std::printf("%-24s %-20s %-20s %s\n", row.path.c_str(),
                cell(row.jvp_differences, limit).c_str(), cell(row.vjp_differences, limit).c_str(),
                cell(row.vjp_jvp, exact_limit).c_str());
    right = right && within(row.jvp_differences, limit) && within(row.vjp_differences, limit) &&
            within(row.vjp_jvp, exact_limit);
    complete = complete && row.refused.empty();
  }
  for (const Row &row : rows)
    if (!row.refused.empty()) std::printf("\n%s\n", row.refused.c_str());
  print_left_out(check.left_out(leaf_patterns(description, "inputs")));
  std::printf("\n%s\n", !right      ? "derivatives DISAGREE"
                        : !complete ? "derivatives NOT ALL COMPARED with differences"
                                    : "derivatives agree");
  return right && complete ? 0 : 1;
}

}  // namespace tool
