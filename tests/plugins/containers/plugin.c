/* Containers of any size through `prepare`: `xs` is a list of vectors, `params` a dictionary of
 * numbers, factor the sum of params, and
 *
 *   total = factor * (sum over all elements of all xs),    ys.[i] = factor * xs.[i]  */
#include <stdlib.h>
#include <string.h>

#include "../component.h"

DESCRIBE({
  "name": "containers",
  "threads": "concurrent",
  "inputs": [
    {"path": "xs.[]", "dtype": "float64", "shape": ["n"], "differentiable": true},
    {"path": "params.{}", "dtype": "float64", "shape": [], "differentiable": true}
  ],
  "outputs": [
    {"path": "total", "dtype": "float64", "shape": [], "differentiable": true},
    {"path": "ys.[]", "dtype": "float64", "shape": ["n"]}
  ]
})

/* What stands at each position of the signature: of an input 1 for xs, 0 for params; of an output
 * the element of xs, -1 for total. */
typedef struct container_plan {
  int64_t n_inputs;
  int64_t n_of;
  int64_t *source; /* [n_of], the position of an output's xs */
  char is_x[];     /* [n_inputs] */
} container_plan;

static int starts(tesseract_string text, const char *with) {
  return text.length >= strlen(with) && strncmp(text.data, with, strlen(with)) == 0;
}

static int64_t element(tesseract_string path) {
  return strtoll(path.data + 4, NULL, 10);
}

static int64_t position(const tesseract_leaves *inputs, int64_t wanted) {
  for (int64_t i = 0; i < inputs->count; i++)
    if (starts(inputs->items[i].path, "xs.[") && element(inputs->items[i].path) == wanted) return i;
  return -2;
}

static void forget(void *instance, void *plan) {
  (void)instance;
  free(((container_plan *)plan)->source);
  free(plan);
}

static int32_t prepare(void *instance, const tesseract_signature *signature, void **plan,
                       tesseract_frame *frame) {
  const tesseract_leaves *inputs = signature->inputs, *of = signature->of;
  container_plan *made = malloc(sizeof *made + (size_t)inputs->count);
  int64_t *source = malloc(((size_t)of->count + 1) * sizeof *source);
  if (!made || !source) {
    free(made);
    free(source);
    return TESSERACT_ERROR_OUT_OF_MEMORY;
  }
  made->n_inputs = inputs->count;
  made->n_of = of->count;
  made->source = source;
  for (int64_t i = 0; i < inputs->count; i++)
    made->is_x[i] = starts(inputs->items[i].path, "xs.") ? 1 : 0;
  for (int64_t i = 0; i < of->count; i++) {
    const tesseract_string path = of->items[i].path;
    source[i] = starts(path, "total") ? -1 : position(inputs, element(path));
    if (source[i] == -2) {
      forget(instance, made);
      return frame->host->error_set(frame, TESSERACT_ERROR_SCHEMA, path.data, path.length,
                                    "no such element", TESSERACT_NTS);
    }
  }
  *plan = made;
  return TESSERACT_OK;
}

static double sum_of(const DLTensor *tensor) {
  const double *values = tensor->data;
  double sum = 0.0;
  for (int64_t i = 0; i < elements(tensor); i++) sum += values[i];
  return sum;
}

static double sum_where(const container_plan *plan, const tesseract_frame *frame, char is_x) {
  double sum = 0.0;
  for (int64_t i = 0; i < plan->n_inputs; i++)
    if (plan->is_x[i] == is_x) sum += sum_of(frame->inputs[i]);
  return sum;
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  const container_plan *made = plan;
  const double factor = sum_where(made, frame, 0);
  (void)instance;
  for (int64_t k = 0; k < made->n_of; k++) {
    double *out = data_or_null(frame->outputs[k]);
    if (!out) continue;
    if (made->source[k] < 0) {
      *out = factor * sum_where(made, frame, 1);
    } else {
      const DLTensor *x = frame->inputs[made->source[k]];
      for (int64_t i = 0; i < elements(x); i++) out[i] = factor * ((const double *)x->data)[i];
    }
  }
  return TESSERACT_OK;
}

/* Of total only.  Outputs stand where the signature's wrt do. */
static int32_t vjp(void *instance, void *plan, tesseract_frame *frame) {
  const container_plan *made = plan;
  const double seed = frame->seeds[0] ? *(const double *)frame->seeds[0]->data : 0.0;
  (void)instance;
  for (uint64_t k = 0; k < frame->n_outputs; k++) {
    const int is_x = starts(frame->signature->wrt->items[k].path, "xs.");
    double *out = data_or_null(frame->outputs[k]);
    for (int64_t i = 0; out && i < elements(frame->outputs[k]); i++)
      out[i] = seed * sum_where(made, frame, is_x ? 0 : 1);
  }
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.prepare = prepare, .forget = forget, .apply = apply, .vjp = vjp)
