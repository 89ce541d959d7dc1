// The state of a pass: saved activations, lengths of rows, names of stacks, taps.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "heed/error.h"
#include "heed/model.h"

namespace heed {

Tensor Saved::take() {
  if (tensors_.empty())
    fail("backward", "run.saved", "empty", "what the forward pass of the same run kept");
  Tensor top = std::move(tensors_.back());
  tensors_.pop_back();
  return top;
}

std::int64_t Saved::bytes() const {
  std::int64_t sum = 0;
  for (const Tensor& tensor : tensors_)
    sum += tensor.element_count() * static_cast<std::int64_t>(size_bytes(tensor.dtype()));
  return sum;
}

std::vector<std::int64_t> Run::row_lengths(std::int64_t batch, std::int64_t length) const {
  const std::vector<std::int64_t>& given = extents.query_length;
  const auto rows = static_cast<std::size_t>(batch);
  if (given.size() > 1 && given.size() != rows)
    fail("run", "extents.query_length", fmt::format("a list of {}", given.size()),
         fmt::format("none, one or {} entries (the batch)", batch));
  for (const std::int64_t tokens : given)
    if (tokens < 0 || tokens > length)
      fail("run", "extents.query_length", tokens, fmt::format("0 to {}, the tokens given", length));
  if (given.size() == rows) return given;
  return std::vector<std::int64_t>(rows, given.empty() ? length : given[0]);
}

namespace {

constexpr std::array<std::string_view, 4> kStackNames = {"self", "encoder", "decoder", "cross"};

}  // namespace

std::string_view stack_name(Stack stack) { return kStackNames[static_cast<std::size_t>(stack)]; }

std::optional<Stack> stack_of(std::string_view name) {
  const auto found = std::ranges::find(kStackNames, name);
  if (found == kStackNames.end()) return {};
  return static_cast<Stack>(found - kStackNames.begin());
}

void Tap::at(const TapName& /*name*/, View /*value*/) {}
void Tap::attended(const TapName& /*name*/, const AttentionArgs& /*args*/,
                   const AttendedConstView& /*attended*/) {}
Mask Tap::mask(Stack /*stack*/, int /*layer*/) { return {}; }

}  // namespace heed
