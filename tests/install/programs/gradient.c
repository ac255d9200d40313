/* Opens each source given and prints y and dy/dx of its component at x = (1, 2, 3), a = 2. */
#include <stdio.h>
#include <tesseract_host/host.h>

static int failed(tesseract_error *error) {
  fprintf(stderr, "%s\n", tesseract_error_message(error, NULL));
  tesseract_error_free(error);
  return 1;
}

static void print(const char *name, const DLTensor *tensor) {
  const double *values = tensor->data;
  printf("%s %g %g %g\n", name, values[0], values[1], values[2]);
}

int main(int argc, char **argv) {
  double x[3] = {1.0, 2.0, 3.0}, seed[3] = {1.0, 1.0, 1.0};
  int64_t shape[1] = {3};
  const DLTensor x_tensor = tesseract_float64(x, 1, shape);
  const DLTensor seed_tensor = tesseract_float64(seed, 1, shape);
  const tesseract_leaf given = {TESSERACT_STR("x"), &x_tensor, NULL};
  const tesseract_leaf seeds = {TESSERACT_STR("y"), &seed_tensor, NULL};
  const tesseract_leaf wanted = {TESSERACT_STR("x"), NULL, NULL};
  const tesseract_leaves inputs = {sizeof inputs, 0, 1, &given, TESSERACT_STR("{\"a\": 2.0}")};
  const tesseract_leaves cotangents = {sizeof cotangents, 0, 1, &seeds, {NULL, 0}};
  const tesseract_leaves wrt = {sizeof wrt, 0, 1, &wanted, {NULL, 0}};

  for (int i = 1; i < argc; i++) {
    tesseract_component *component = NULL;
    tesseract_result *result = NULL;
    tesseract_error *error = NULL;
    if (tesseract_open(argv[i], TESSERACT_NTS, NULL, &component, &error)) return failed(error);
    if (tesseract_apply(component, &inputs, NULL, NULL, &result, &error)) return failed(error);
    print("y", tesseract_result_tensor(result, 0));
    tesseract_result_free(result);
    if (tesseract_vjp(component, &inputs, &cotangents, &wrt, NULL, &result, &error))
      return failed(error);
    print("dy/dx", tesseract_result_tensor(result, 0));
    tesseract_result_free(result);
    tesseract_close(component);
  }
  return 0;
}
