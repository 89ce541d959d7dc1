#include "inspect/session/places.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/session.h"

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

}  // namespace heed
