/* c = a + b on float32 vectors, with both products; with {"noop": true} y = x that does nothing. */
#include <stdint.h>
#include <string.h>
#include <tesseract_host/plugin.h>

static const char noop_text[] =
    "{\"name\": \"noop\", \"threads\": \"concurrent\", \"overlap\": true,"
    " \"inputs\": [{\"path\": \"x\", \"dtype\": \"float32\", \"shape\": [\"n\"]}],"
    " \"outputs\": [{\"path\": \"y\", \"dtype\": \"float32\", \"shape\": [\"n\"]}]}";

static const char add_text[] =
    "{\"name\": \"vectoradd\", \"threads\": \"concurrent\", \"inputs\": ["
    "{\"path\": \"a\", \"dtype\": \"float32\", \"shape\": [\"n\"], \"differentiable\": true},"
    "{\"path\": \"b\", \"dtype\": \"float32\", \"shape\": [\"n\"], \"differentiable\": true}],"
    " \"outputs\": ["
    "{\"path\": \"c\", \"dtype\": \"float32\", \"shape\": [\"n\"], \"differentiable\": true}]}";

static int32_t create(const char *options, uint64_t length, void **out, tesseract_frame *frame) {
  (void)length, (void)frame;
  *out = (void *)(strstr(options, "\"noop\"") ? noop_text : add_text);
  return TESSERACT_OK;
}

static void destroy(void *self) {
  (void)self;
}

static int32_t describe(void *self, const char **text, uint64_t *length, tesseract_frame *frame) {
  (void)frame;
  *text = self;
  *length = strlen(self);
  return TESSERACT_OK;
}

static int32_t apply(void *self, void *plan, tesseract_frame *frame) {
  (void)plan;
  if (self == noop_text || !frame->outputs[0]) return TESSERACT_OK;
  const float *a = frame->inputs[0]->data, *b = frame->inputs[1]->data;
  float *c = frame->outputs[0]->data;
  for (int64_t i = 0; i < frame->inputs[0]->shape[0]; i++) c[i] = a[i] + b[i];
  return TESSERACT_OK;
}

static int32_t vjp(void *self, void *plan, tesseract_frame *frame) {
  (void)self, (void)plan;
  const DLTensor *seed = frame->seeds[0];
  const size_t bytes = (size_t)seed->shape[0] * sizeof(float);
  for (uint64_t i = 0; i < frame->n_outputs; i++)
    if (frame->outputs[i] && bytes) memcpy(frame->outputs[i]->data, seed->data, bytes);
  return TESSERACT_OK;
}

static const tesseract_plugin_table plugin = {
    .size = sizeof plugin,
    .abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX},
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .apply = apply,
    .vjp = vjp,
};

int32_t tesseract_plugin_v1(const tesseract_host_table *host, const tesseract_plugin_table **out) {
  (void)host;
  *out = &plugin;
  return TESSERACT_OK;
}
