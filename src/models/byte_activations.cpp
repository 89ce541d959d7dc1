#include "models/byte_activations.h"

#include <fmt/format.h>

#include <memory>

#include "heed/error.h"
#include "ops/packed_matrix.h"

namespace heed {

void round_activations(const LoadedModel& loaded) {
  bool any = false;
  for (Parameter* const parameter : loaded.model->parameters())
    if (parameter->packed != nullptr && parameter->packed->blocks() != nullptr) {
      parameter->packed =
          std::make_shared<const PackedMatrix>(parameter->packed->multiplied_by_bytes());
      any = true;
    }
  if (!any)
    fail({.code = ErrorCode::kUnsupported,
          .argument = "activations",
          .found = "q8",
          .expected = fmt::format("f32: no weight of {} is quantised in blocks", loaded.name)});
}

}  // namespace heed
