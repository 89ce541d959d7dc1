#include "tensor/views.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace heed {
namespace {

// n * step bytes for an integer n in [least, most]; step > 0.
struct Term {
  std::int64_t step = 0;
  std::int64_t least = 0;
  std::int64_t most = 0;
};

std::int64_t size_of(const ConstView& view) {
  return static_cast<std::int64_t>(size_bytes(view.dtype()));
}

// Adds the steps that an index of `view` can contribute, times `sign`; equal steps become one term.
void add_terms(const ConstView& view, int sign, std::vector<Term>& terms) {
  for (int axis = 0; axis < view.rank(); ++axis) {
    const std::int64_t step = view.stride(axis) * size_of(view) * sign;
    const std::int64_t last = view.dim(axis) - 1;
    if (step == 0 || last == 0) continue;
    const Term term = step > 0 ? Term{step, 0, last} : Term{-step, -last, 0};
    const auto same = std::ranges::find(terms, term.step, &Term::step);
    if (same == terms.end()) {
      terms.push_back(term);
    } else {
      same->least += term.least;
      same->most += term.most;
    }
  }
}

// Is there a choice of all terms whose sum is strictly within `width` of `wanted`? `steps_left`
// bounds the search; layouts whose strides nest (all that occur in practice) need a few steps. If
// the search ends early, the answer is the safe one: they overlap.
bool reaches(std::span<const Term> terms, std::int64_t wanted, std::int64_t width,
             int& steps_left) {
  if (terms.empty()) return std::abs(wanted) < width;
  std::int64_t inner_least = 0;
  std::int64_t inner_most = 0;
  for (const Term& term : terms.subspan(1)) {
    inner_least += term.least * term.step;
    inner_most += term.most * term.step;
  }
  const Term& outer = terms.front();
  // Only n with wanted - n * step in (inner_least - width, inner_most + width) can succeed.
  const std::int64_t from = (wanted - inner_most - width) / outer.step - 1;
  const std::int64_t to = (wanted - inner_least + width) / outer.step + 1;
  for (std::int64_t n = std::max(from, outer.least); n <= std::min(to, outer.most); ++n) {
    if (--steps_left <= 0) return true;
    if (reaches(terms.subspan(1), wanted - n * outer.step, width, steps_left)) return true;
  }
  return false;
}

constexpr int kSearchSteps = 100'000;

std::vector<Term> sorted(std::vector<Term> terms) {
  std::ranges::sort(terms, std::greater<>(), &Term::step);
  return terms;
}

}  // namespace

bool overlaps_itself(const ConstView& view) {
  if (view.element_count() <= 1) return false;
  std::vector<Term> terms;
  for (int axis = 0; axis < view.rank(); ++axis)
    if (view.dim(axis) > 1) {
      if (view.stride(axis) == 0) return true;
      terms.push_back({std::abs(view.stride(axis)), 0, view.dim(axis) - 1});
    }
  terms = sorted(std::move(terms));
  // Two indices differ first at some axis: by at least 1 there, and by anything on inner axes.
  for (std::size_t first = 0; first < terms.size(); ++first) {
    std::vector<Term> differences(terms.begin() + static_cast<std::ptrdiff_t>(first), terms.end());
    for (Term& term : differences) term.least = -term.most;
    differences.front().least = 1;
    int steps_left = kSearchSteps;
    if (reaches(differences, 0, 1, steps_left)) return true;
  }
  return false;
}

bool overlap(const ConstView& a, const ConstView& b) {
  if (a.element_count() == 0 || b.element_count() == 0) return false;
  std::vector<Term> terms;
  add_terms(a, 1, terms);
  add_terms(b, -1, terms);
  const auto distance = static_cast<const char*>(b.raw()) - static_cast<const char*>(a.raw());
  int steps_left = kSearchSteps;
  return reaches(sorted(std::move(terms)), distance, std::max(size_of(a), size_of(b)), steps_left);
}

KeptView kept(const ConstView& view) {
  if (!view.given()) return {};
  std::int64_t first = 0, last = 0;  // elements reached by the view, relative to its first one
  for (int axis = 0; axis < view.rank(); ++axis) {
    const std::int64_t reach = (view.dim(axis) - 1) * view.stride(axis);
    first += std::min<std::int64_t>(reach, 0);
    last += std::max<std::int64_t>(reach, 0);
  }
  const std::int64_t count = last - first + 1;
  if (count >= view.element_count()) {
    Tensor memory = Tensor::copy_of(view);
    const ConstView copy = memory;
    return {.memory = std::move(memory), .view = copy};
  }
  const auto size = static_cast<std::int64_t>(size_bytes(view.dtype()));
  Tensor memory = Tensor::empty({count}, view.dtype());
  auto* to = static_cast<char*>(memory.view().raw());
  std::memcpy(to, static_cast<const char*>(view.raw()) + first * size,
              static_cast<std::size_t>(count * size));
  const ConstView copy(to - first * size, view.dtype(), view.shape(), view.strides());
  return {.memory = std::move(memory), .view = copy};
}

namespace {

// The elements of one type along the last axis, at any stride.
struct Line {
  std::int64_t count;
  std::size_t bytes;
  std::int64_t from_step;  // in bytes
  std::int64_t to_step;
};

void copy_line(const std::byte* from, std::byte* to, const Line& line) {
  const auto bytes = static_cast<std::int64_t>(line.bytes);
  if (line.from_step == bytes && line.to_step == bytes) {
    std::memcpy(to, from, line.bytes * static_cast<std::size_t>(line.count));
    return;
  }
  for (std::int64_t i = 0; i < line.count; ++i, from += line.from_step, to += line.to_step)
    std::memcpy(to, from, line.bytes);
}

}  // namespace

void copy_elements(const ConstView& from, const View& to) {
  if (from.element_count() == 0) return;
  const int last = from.rank() - 1;
  const auto bytes = static_cast<std::int64_t>(size_bytes(from.dtype()));
  const Line line = {last < 0 ? 1 : from.shape()[last], size_bytes(from.dtype()),
                     last < 0 ? bytes : from.strides()[last] * bytes,
                     last < 0 ? bytes : to.strides()[last] * bytes};
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(to.raw());
  std::array<std::int64_t, kMaxRank> index = {};
  for (std::int64_t left = from.element_count() / line.count; left > 0; --left) {
    std::int64_t read = 0;
    std::int64_t written = 0;
    for (int axis = 0; axis < last; ++axis) {
      read += index[static_cast<std::size_t>(axis)] * from.strides()[axis];
      written += index[static_cast<std::size_t>(axis)] * to.strides()[axis];
    }
    copy_line(source + read * bytes, target + written * bytes, line);
    for (int axis = last - 1; axis >= 0; --axis) {  // advances the odometer
      auto& digit = index[static_cast<std::size_t>(axis)];
      if (++digit < from.shape()[axis]) break;
      digit = 0;
    }
  }
}

}  // namespace heed
