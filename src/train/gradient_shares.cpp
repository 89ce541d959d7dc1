#include "train/gradient_shares.h"

#include <algorithm>

#include "heed/threads.h"
#include "ops/kernels/elementwise.h"

namespace heed {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
constexpr std::int64_t kShareElements = 32768;  // two arrays of this size fit in a 512 KiB cache

}  // namespace

std::int64_t share_count(std::span<Parameter* const> parameters, std::int64_t rows) {
  const std::int64_t threads = thread_count();
  std::int64_t bytes = 0;
  for (const Parameter* parameter : parameters)
    bytes += parameter->value.element_count() * std::int64_t{sizeof(float)};
  const std::int64_t longest = (rows + threads - 1) / threads;  // rows in the largest share
  const bool idle = 4 * rows < 3 * longest * threads;
  return idle || (threads - 1) * bytes > kMostBytes ? 1 : threads;
}

GradientShares::GradientShares(std::span<Parameter* const> parameters, Gradients& whole,
                               std::int64_t count)
    : whole_(whole),
      others_(static_cast<std::size_t>(count - 1)),
      values_(static_cast<std::size_t>(count - 1)) {
  for (std::size_t index = 0; index < parameters.size(); ++index) {
    float* const sum = whole.of(*parameters[index]).data<float>();
    for (std::size_t share = 0; share < others_.size(); ++share)
      values_[share].push_back(others_[share].of(*parameters[index]).data<float>());
    const std::int64_t elements = parameters[index]->value.element_count();
    for (std::int64_t begin = 0; begin < elements; begin += kShareElements)
      pieces_.push_back({sum + begin, begin, std::min(kShareElements, elements - begin), index});
  }
}

Gradients& GradientShares::of(std::int64_t share) {
  return share == 0 ? whole_ : others_[static_cast<std::size_t>(share - 1)];
}

void GradientShares::add_up() const {
  if (others_.empty()) return;
  parallel_for(std::ssize(pieces_), [this](std::int64_t index, int /*thread*/) {
    const Piece& piece = pieces_[static_cast<std::size_t>(index)];
    for (const std::vector<const float*>& values : values_)
      kernels::cpu::add_to(piece.whole, values[piece.parameter] + piece.begin, piece.count);
  });
}

}  // namespace heed
