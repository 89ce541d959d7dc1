#include "inspect/session/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/numbers.h"
#include "base/sequences.h"
#include "base/wording.h"
#include "heed/error.h"

namespace heed {
namespace {

std::string names(std::span<const StackShape> shapes) {
  std::vector<std::string_view> all;
  for (const StackShape& shape : shapes) all.push_back(stack_name(shape.stack));
  return joined(all, ", ");
}

void check_number(std::string_view op, std::string_view model, const char* what,
                  std::int64_t number, std::int64_t count) {
  if (number >= 0 && number < count) return;
  fail(op, what, number,
       fmt::format("0 to {} ({} has {})", count - 1, model, number_of(count, what)),
       ErrorCode::kNotFound);
}

constexpr int kMostLayers = 1 << 16;

bool read_layer(std::string_view text, int& layer) {
  return read_number(text, layer) && layer >= 0 && layer < kMostLayers;
}

}  // namespace

const StackShape& find_stack(std::string_view op, std::string_view model,
                             std::span<const StackShape> shapes, Stack stack) {
  const auto found = std::ranges::find(shapes, stack, &StackShape::stack);
  if (found == shapes.end())
    fail(op, "stack", stack_name(stack), fmt::format("{} ({} has no other)", names(shapes), model),
         ErrorCode::kNotFound);
  return *found;
}

void check_layer(std::string_view op, std::string_view model, const StackShape& shape,
                 std::int64_t layer) {
  check_number(op, model, "layer", layer, shape.layers);
  if (shape.has(static_cast<int>(layer))) return;
  fail(op, "layer", layer,
       fmt::format("{}: the layers of {} that have attention", layers_text(shape.attending), model),
       ErrorCode::kNotFound);
}

void check_head(std::string_view op, std::string_view model, const StackShape& shape,
                std::int64_t head) {
  check_number(op, model, "head", head, shape.heads);
}

void check_token(std::string_view op, std::string_view name, std::int64_t token,
                 std::int64_t count) {
  if (token < 0 || token >= count)
    fail(op, name, token, fmt::format("0 to {}, a token of the text", count - 1),
         ErrorCode::kNotFound);
}

MatrixSize Session::size(Stack stack) const {
  return {std::ssize(queries(stack)), std::ssize(keys(stack))};
}

void Session::require_kept(std::string_view op, const StackShape& shape, int layer) const {
  if (keep.has(layer)) return;
  std::vector<int> own = keep.layers.value_or(std::vector<int>());
  std::erase_if(own, [&](int each) { return each >= shape.layers; });
  fail(op, "layer", layer,
       own.empty() ? std::string("none: no layer of this stack was kept")
                   : layers_text(own) + ": the layers that were kept",
       ErrorCode::kNotFound);
}

double Session::score_error() const {
  double largest = 0;
  for (const SessionStack& stack : stacks)
    for (const LayerAttention& layer : stack.layers) largest = std::max(largest, layer.score_error);
  return largest;
}

std::vector<StackShape> Session::shapes() const {
  std::vector<StackShape> all;
  for (const SessionStack& stack : stacks) all.push_back(stack.shape);
  return all;
}

const SessionStack& Session::at(Stack stack) const {
  const std::vector<StackShape> all = shapes();
  const auto index = &find_stack("session", model, all, stack) - all.data();
  return stacks[static_cast<std::size_t>(index)];
}

const LayerAttention& Session::at(const Place& place) const {
  const SessionStack& stack = at(place.stack);
  check_layer("session", model, stack.shape, place.layer);
  check_head("session", model, stack.shape, place.head);
  require_kept("session", stack.shape, place.layer);
  return stack.layers.at(static_cast<std::size_t>(place.layer));
}

// The encoder's queries are the keys of the cross-attention.
std::span<const SessionToken> Session::queries(Stack stack) const {
  return stack == Stack::kEncoder && !key_tokens.empty() ? key_tokens : tokens;
}

std::span<const SessionToken> Session::keys(Stack stack) const {
  return stack == Stack::kDecoder || key_tokens.empty() ? tokens : key_tokens;
}

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

std::string heads_text(const StackShape& shape) {
  const std::string some =
      shape.attending.empty() ? "" : fmt::format(", {} with attention,", shape.attention_layers());
  return fmt::format("{}{} x {}", number_of(shape.layers, "layer"), some,
                     number_of(shape.heads, "head"));
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
