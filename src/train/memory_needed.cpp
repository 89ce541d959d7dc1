#include "train/memory_needed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/memory_there.h"
#include "heed/error.h"

namespace heed {
namespace {

// The weights of a layer are at least 4 C^2 in attention; of a model that the configuration does
// not change further, 8 C^2 more in the MLP.
double weights_of(const TrainConfig& c, double vocabulary) {
  const auto width = static_cast<double>(c.width);
  const double a_layer = (c.model == "{}" ? 12 : 4) * width * width;
  return static_cast<double>(c.layers) * a_layer +
         (vocabulary + static_cast<double>(c.block)) * width;
}

struct Extent {
  std::string_view key;
  std::int64_t TrainConfig::* member;
};
constexpr std::array<Extent, 3> kExtents = {{{"layers", &TrainConfig::layers},
                                             {"width", &TrainConfig::width},
                                             {"block", &TrainConfig::block}}};

std::string gigabytes(double bytes) {
  return fmt::format("{:.{}f} GB", bytes * 1e-9, bytes < 1e10 ? 1 : 0);
}

}  // namespace

double least_bytes(const TrainConfig& c, std::int64_t vocabulary) {
  const auto words = static_cast<double>(vocabulary);
  // Of each token of a sequence and layer the stream, q, k, v and what attention wrote, or what its
  // two branches begin with; the logits.
  const double of_layer = c.recompute == "block" ? 2 : 5;
  const double kept =
      static_cast<double>(c.block) *
      (of_layer * static_cast<double>(c.layers) * static_cast<double>(c.width) + words);
  return sizeof(float) * (4 * weights_of(c, words) + kept);
}

void check_memory(const TrainConfig& config, std::int64_t vocabulary, double there_are) {
  const double needed = least_bytes(config, vocabulary);
  if (needed <= there_are) return;
  // To blame is what, were it 1, would leave the least.
  const auto left = [&](const Extent& extent) {
    TrainConfig smaller = config;
    smaller.*extent.member = 1;
    return least_bytes(smaller, vocabulary);
  };
  const Extent& worst = *std::ranges::min_element(kExtents, {}, left);
  fail({.op = "train",
        .argument = worst.key,
        .found = config.*worst.member,
        .expected = fmt::format("less: the run would take {} of memory, and this machine has {}",
                                gigabytes(needed), gigabytes(there_are))});
}

void check_memory(const TrainConfig& config, std::int64_t vocabulary) {
  check_memory(config, vocabulary, memory_there());
}

}  // namespace heed
