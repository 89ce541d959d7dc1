// Which layers a session keeps.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/numbers.h"
#include "base/sequences.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/session.h"
#include "inspect/session/places.h"

namespace heed {
namespace {

constexpr int kMostLayers = 1 << 16;

bool read_layer(std::string_view text, int& layer) {
  return read_number(text, layer) && layer >= 0 && layer < kMostLayers;
}

}  // namespace

std::vector<int> read_layers(std::string_view text) {
  std::vector<int> layers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t dash = part.find('-');
    int first = 0, last = 0;
    const bool is_read =
        dash == std::string_view::npos
            ? read_layer(part, first) && read_layer(part, last)
            : read_layer(part.substr(0, dash), first) && read_layer(part.substr(dash + 1), last);
    if (!is_read || last < first)
      fail("session", "keep_layers", fmt::format("\"{}\"", clipped(std::string(text), 64)),
           "layers as 8-12 or 0,8-12");
    for (int layer = first; layer <= last; ++layer) layers.push_back(layer);
    begin = end + 1;
  }
  sort_once(layers);
  return layers;
}

std::string layers_text(std::span<const int> layers) {
  std::vector<std::string> runs;
  for (std::size_t begin = 0; begin < layers.size();) {
    std::size_t end = begin + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    runs.push_back(end - begin == 1 ? fmt::format("{}", layers[begin])
                                    : fmt::format("{} to {}", layers[begin], layers[end - 1]));
    begin = end;
  }
  return joined(runs, ", ");
}

void check_kept(const Session& session) {
  const KeptAttention& keep = session.keep;
  if (keep.dtype != DType::kF32 && keep.dtype != DType::kF16)
    fail("session", "keep", name(keep.dtype), "f32 or f16");
  if (!keep.layers) return;
  int most = 0;
  for (const StackShape& shape : session.shapes()) most = std::max(most, shape.layers);
  const std::vector<int>& layers = *keep.layers;
  const bool is_in_order = std::ranges::adjacent_find(layers, std::greater_equal()) == layers.end();
  if (layers.empty() || !is_in_order)
    fail("session", "keep_layers", layers.empty() ? "empty" : "not in order",
         "different layers, ascending");
  if (layers.front() >= 0 && layers.back() < most) return;
  fail({.code = ErrorCode::kNotFound,
        .op = "session",
        .argument = "keep_layers",
        .found = layers.front() < 0 ? layers.front() : layers.back(),
        .expected =
            fmt::format("0 to {} ({} has {})", most - 1, session.model, number_of(most, "layer"))});
}

}  // namespace heed
