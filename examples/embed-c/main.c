/* Opens a component that computes forces, asks for a gradient, and calls it in a time loop. */
#include <stdio.h>
#include <tesseract_host/host.h>

enum { bodies = 3 };

static int failed(tesseract_error *error) {
  fprintf(stderr, "%s\n", tesseract_error_message(error, NULL));
  tesseract_error_free(error);
  return 1;
}

static void print(const char *name, const double *values) {
  printf("%s: %.4f %.4f %.4f\n", name, values[0], values[1], values[2]);
}

/* Prepares the call once; its runs write to `force` and neither allocate nor copy. */
static int slow_down(tesseract_component *drag, double *v) {
  double force[bodies];
  int64_t shape[] = {bodies};
  DLTensor v_tensor = tesseract_float64(v, 1, shape);
  DLTensor force_tensor = tesseract_float64(force, 1, shape);
  const DLTensor *in[] = {&v_tensor};
  DLTensor *out[] = {&force_tensor};

  tesseract_leaf given[] = {{TESSERACT_STR("v"), &v_tensor, NULL}};
  tesseract_leaves inputs = {sizeof inputs, 0, 1, given, {NULL, 0}};
  tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
  signature.endpoint = TESSERACT_ENDPOINT_APPLY;
  signature.inputs = &inputs;

  tesseract_call *call = NULL;
  tesseract_error *error = NULL;
  if (tesseract_prepare(drag, &signature, &call, &error)) return failed(error);
  for (int step = 0; step < 100; step++) {
    if (tesseract_call_run(call, in, out, NULL, NULL, &error)) return failed(error);
    for (int i = 0; i < bodies; i++) v[i] += 0.01 * force[i];
  }
  tesseract_call_free(call);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s COMPONENT\n", argv[0]);
    return 2;
  }
  tesseract_component *drag = NULL;
  tesseract_result *result = NULL;
  tesseract_error *error = NULL;
  if (tesseract_open(argv[1], TESSERACT_NTS, NULL, &drag, &error)) return failed(error);

  double v[bodies] = {1.0, 2.0, 3.0}, c = 0.5, ones[bodies] = {1.0, 1.0, 1.0};
  int64_t shape[] = {bodies};
  DLTensor v_tensor = tesseract_float64(v, 1, shape);
  DLTensor c_tensor = tesseract_float64(&c, 0, NULL);
  DLTensor seed_tensor = tesseract_float64(ones, 1, shape);
  tesseract_leaf given[] = {{TESSERACT_STR("v"), &v_tensor, NULL},
                            {TESSERACT_STR("c"), &c_tensor, NULL}};
  tesseract_leaf seeds[] = {{TESSERACT_STR("force"), &seed_tensor, NULL}};
  tesseract_leaves inputs = {sizeof inputs, 0, 2, given, {NULL, 0}};
  tesseract_leaves cotangents = {sizeof cotangents, 0, 1, seeds, {NULL, 0}};

  /* What is wanted is null here and below: every output, every differentiable input. */
  if (tesseract_apply(drag, &inputs, NULL, NULL, &result, &error)) return failed(error);
  print("force", tesseract_result_tensor(result, 0)->data);
  tesseract_result_free(result);

  if (tesseract_vjp(drag, &inputs, &cotangents, NULL, NULL, &result, &error)) return failed(error);
  print("d sum(force) / dv", tesseract_result_tensor(result, 0)->data);
  const double *by_c = tesseract_result_tensor(result, 1)->data;
  printf("d sum(force) / dc: %.4f\n", *by_c);
  tesseract_result_free(result);

  if (slow_down(drag, v)) return 1;
  print("velocities after 1 s", v);

  /* Errors are values: a status to branch on, and a message for people. */
  c = -1.0;
  if (tesseract_apply(drag, &inputs, NULL, NULL, &result, &error)) {
    printf("refused: a negative drag factor\n");
    failed(error);
  }
  tesseract_close(drag);
  return 0;
}
