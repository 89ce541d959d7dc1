#include "models/initial_parameters.h"

#include "base/philox.h"

namespace heed {

void initialise(std::span<Parameter* const> parameters, const InitialParameters& how) {
  for (Parameter* parameter : parameters) {
    std::uint32_t stream = 2166136261U;  // FNV-1a of the name
    for (const char letter : parameter->name)
      stream = (stream ^ static_cast<unsigned char>(letter)) * 16777619U;
    const bool bias = parameter->name.ends_with("bias");
    const bool matrix = parameter->value.rank() == 2 && !bias;
    const float constant = bias ? 0.0F : how.norm;
    const double deviation = matrix ? how.deviation(parameter->name) : 0;
    Random random(how.seed, stream);
    auto* value = parameter->value.data<float>();
    for (std::int64_t i = 0; i < parameter->value.element_count(); ++i)
      value[i] = matrix ? static_cast<float>(deviation * random.normal()) : constant;
  }
}

}  // namespace heed
