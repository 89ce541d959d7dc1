#include "tensor/overlap.h"

#include <algorithm>
#include <cstdlib>
#include <span>
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

// Adds the steps that an index of `view` can contribute, times `sign`; equal steps are one term.
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

// Is there a choice of all terms whose sum lies strictly within `width` of `wanted`? `steps_left`
// bounds the search; layouts whose strides nest (all that occur) need a few steps. Where it ends
// early the answer is the careful one: they overlap.
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
  // Only n with wanted - n * step in (inner_least - width, inner_most + width) can do.
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
  // Two indices differ first at some axis: by 1 or more there, by anything at the inner ones.
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

}  // namespace heed
