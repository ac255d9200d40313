/* Calls the component given: what a test of it does. */
#include <stdio.h>
#include <tesseract_host/host.h>

static int failed(tesseract_error *error) {
  fprintf(stderr, "%s\n", tesseract_error_message(error, NULL));
  tesseract_error_free(error);
  return 1;
}

int main(int argc, char **argv) {
  tesseract_component *drag = NULL;
  tesseract_result *result = NULL;
  tesseract_error *error = NULL;
  if (argc != 2) return 2;
  if (tesseract_open(argv[1], TESSERACT_NTS, NULL, &drag, &error)) return failed(error);

  double v[] = {-1.0, 2.0}, dv[] = {1.0, 0.5}, c = -1.0;
  int64_t shape[] = {2};
  DLTensor v_tensor = tesseract_float64(v, 1, shape), c_tensor = tesseract_float64(&c, 0, NULL);
  DLTensor dv_tensor = tesseract_float64(dv, 1, shape);
  tesseract_leaf given[] = {{TESSERACT_STR("v"), &v_tensor, NULL},
                            {TESSERACT_STR("c"), &c_tensor, NULL}};
  tesseract_leaf along[] = {{TESSERACT_STR("v"), &dv_tensor, NULL}};
  tesseract_leaves inputs = {sizeof inputs, 0, 1, given, {NULL, 0}};
  tesseract_leaves tangents = {sizeof tangents, 0, 1, along, {NULL, 0}};

  if (tesseract_apply(drag, &inputs, NULL, NULL, &result, &error)) return failed(error);
  const double *force = tesseract_result_tensor(result, 0)->data;
  printf("force: %.2f %.2f\n", force[0], force[1]);
  tesseract_result_free(result);

  if (tesseract_jvp(drag, &inputs, &tangents, NULL, NULL, &result, &error)) return failed(error);
  const double *tangent = tesseract_result_tensor(result, 0)->data;
  printf("its tangent: %.2f %.2f\n", tangent[0], tangent[1]);
  tesseract_result_free(result);

  inputs.count = 2; /* and a drag factor of -1 */
  if (tesseract_apply(drag, &inputs, NULL, NULL, &result, &error) ==
      TESSERACT_ERROR_OUT_OF_DOMAIN) {
    printf("out of domain: %s\n", tesseract_error_detail(error, TESSERACT_DETAIL_PATH, NULL));
    tesseract_error_free(error);
  }
  tesseract_close(drag);
  return 0;
}
