#include "call.h"

#include "derive.h"
#include "request.h"

namespace host {

CallReference share(const tesseract_call *call) {
  auto *shared = const_cast<tesseract_call *>(call);
  shared->references.fetch_add(1, std::memory_order_relaxed);
  return CallReference(shared);
}

void CallDeleter::operator()(tesseract_call *call) const {
  if (call->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete call;
}

}  // namespace host

tesseract_call::tesseract_call() = default;

tesseract_call::~tesseract_call() {
  // A derived call is its own plan, which the component never saw.
  if (derived)
    derived.reset();
  else if (plan && component->plugin->forget)
    host::quietly([this] {
      component->run([this] { component->plugin->forget(component->instance, plan); });
    });
  host::ComponentReference::release(component);
}

int32_t tesseract_prepare(tesseract_component *component, const tesseract_signature *signature,
                          tesseract_call **call, tesseract_error **error) {
  host::Place place = component ? component->place() : host::Place{};
  return host::guarded(error, place, [&] {
    host::require(component, "component");
    host::require(signature, "signature");
    host::require(call, "call");
    const host::RunningCall running;
    host::require_open(*component);
    const tesseract_signature asked =
        host::read_request(signature, TESSERACT_NO_COPY | TESSERACT_STAGED, "the signature");
    place.endpoint = host::endpoint_name(asked.endpoint);
    *call = host::prepare_call(component, asked).release();
    return TESSERACT_OK;
  });
}

const tesseract_signature *tesseract_call_signature(const tesseract_call *call) {
  return call ? &call->resolved.signature : nullptr;
}

void tesseract_call_free(tesseract_call *call) {
  if (call) host::CallDeleter()(call);
}
