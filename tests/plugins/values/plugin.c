/* Inputs and outputs that are no arrays: the JSON it was given leaves it as the output `seen`. */
#include <stdlib.h>
#include <string.h>

#include "../component.h"

DESCRIBE({
  "name": "values",
  "threads": "concurrent",
  "inputs": [
    {"path": "x", "dtype": "float64", "shape": ["n"], "required": false},
    {"path": "method", "type": "string", "enum": ["euler", "heun"], "default": "euler"},
    {"path": "solver.steps", "type": "integer", "required": false},
    {"path": "anything", "type": "any", "required": false}
  ],
  "outputs": [
    {"path": "sum", "dtype": "float64", "shape": []},
    {"path": "seen", "type": "any"}
  ]
})

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  static const char head[] = "{\"seen\": ", tail[] = "}";
  const tesseract_string json = frame->signature->inputs->json;
  const uint64_t length = sizeof head - 1 + json.length + sizeof tail - 1;
  char *text = malloc(length + 1);
  int32_t status;
  (void)instance, (void)plan;
  if (!text) return TESSERACT_ERROR_OUT_OF_MEMORY;
  if (frame->outputs[0]) {
    double sum = 0.0;
    for (int64_t i = 0; frame->inputs[0] && i < elements(frame->inputs[0]); i++)
      sum += ((const double *)frame->inputs[0]->data)[i];
    *(double *)frame->outputs[0]->data = sum;
  }
  memcpy(text, head, sizeof head - 1);
  memcpy(text + sizeof head - 1, json.data, json.length);
  memcpy(text + sizeof head - 1 + json.length, tail, sizeof tail);
  status = frame->host->output_json(frame, text, length);
  free(text);
  return status;
}

EXPORT_COMPONENT(.apply = apply)
