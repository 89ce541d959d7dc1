// The fields that every answer about a head begins with.
#pragma once

#include <string>

#include "heed/inspect/session.h"
#include "inspect/answers/fields.h"

namespace heed {

template <typename Fields>
void describe_place(Fields& field, const Place& place) {
  field("stack", std::string(stack_name(place.stack)));
  field("layer", place.layer);
  field("head", place.head);
}

}  // namespace heed
