#include "json_place.h"

namespace host {

const Json *find(const Json &root, const Path &path) {
  const Json *at = &root;
  for (const Segment &segment : path) {
    if (segment.kind == Segment::Kind::index) {
      if (!at->is_array() || segment.index >= at->size()) return nullptr;
      at = &(*at)[segment.index];
    } else {
      if (!at->is_object()) return nullptr;
      const auto member = at->find(segment.text);
      if (member == at->end()) return nullptr;
      at = &*member;
    }
  }
  return at;
}

Json &place(Json &root, const Path &path) {
  Json *at = &root;
  for (const Segment &segment : path) {
    if (segment.kind == Segment::Kind::index) {
      if (!at->is_array()) *at = Json::array();
      while (at->size() <= segment.index) at->push_back(nullptr);
      at = &(*at)[segment.index];
    } else {
      if (!at->is_object()) *at = Json::object();
      at = &(*at)[segment.text];
    }
  }
  return *at;
}

}  // namespace host
