#include "bench/ring_bench.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "bench/attention_cases.h"
#include "bench/measure.h"
#include "heed/mask.h"
#include "tensor/views.h"

namespace heed {
namespace {

// A rank's tokens, and its results for them.
struct Held {
  Tensor q, k, v, dout;
  Attended attended = {};
  AttentionGrads gradients = {};

  AttentionArgs args() const { return {.q = q, .keys = {k, v}, .mask = Mask::causal()}; }
};

Held some_tokens(std::int64_t tokens, int rank) {
  const auto tensor = [&](int which) {
    return normal({1, kRingHeads, tokens, kRingHeadDim}, DType::kF32, 1,
                  static_cast<std::uint32_t>(4 * rank + which));
  };
  return {.q = tensor(0), .k = tensor(1), .v = tensor(2), .dout = tensor(3)};
}

std::vector<double> gathered(Ranks& ranks, double own) {
  std::vector<double> all(static_cast<std::size_t>(ranks.count()));
  gather(ranks, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

// The whole text's tensor, from every rank's, which hold equally many tokens.
Tensor whole_of(Ranks& ranks, RingSplit split, const Tensor& own) {
  Shape shape = own.shape();
  shape[2] *= ranks.count();
  const auto size = static_cast<std::size_t>(own.element_count());
  std::vector<float> all(size * static_cast<std::size_t>(ranks.count()));
  gather(ranks, std::as_bytes(std::span(own.data<float>(), size)),
         std::as_writable_bytes(std::span(all)));
  Tensor whole = Tensor::empty(shape);
  for (int rank = 0; rank < ranks.count(); ++rank) {
    const ConstView held(all.data() + size * static_cast<std::size_t>(rank), DType::kF32,
                         own.shape());
    std::int64_t at = 0;
    for (const RingPart& part : ring_parts(split, shape[2], rank, ranks.count())) {
      const std::int64_t end = at + part.end - part.begin;
      copy_elements(held.slice(2, at, end), whole.view().slice(2, part.begin, part.end));
      at = end;
    }
  }
  return whole;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.element_count(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a.data<float>()[i]) -
                                         static_cast<double>(b.data<float>()[i])));
  return largest;
}

Held whole_text(Ranks& ranks, RingSplit split, const Held& own) {
  Held whole = {.q = whole_of(ranks, split, own.q),
                .k = whole_of(ranks, split, own.k),
                .v = whole_of(ranks, split, own.v),
                .dout = whole_of(ranks, split, own.dout)};
  whole.attended.out = whole_of(ranks, split, own.attended.out);
  whole.gradients.dq = whole_of(ranks, split, own.gradients.dq);
  whole.gradients.dk = whole_of(ranks, split, own.gradients.dk);
  whole.gradients.dv = whole_of(ranks, split, own.gradients.dv);
  return whole;
}

void compare_with_one_process(const Held& ring, RingTiming& timing) {
  Attended attended;
  AttentionGrads gradients;
  timing.one_peak_bytes = peak_bytes_of([&] {
    timing.one_forward_seconds = seconds_of([&] { attended = attention(ring.args()); });
    timing.one_backward_seconds =
        seconds_of([&] { gradients = attention_backward(ring.args(), attended, ring.dout); });
  });
  timing.largest_difference = std::max({largest_difference(ring.attended.out, attended.out),
                                        largest_difference(ring.gradients.dq, gradients.dq),
                                        largest_difference(ring.gradients.dk, gradients.dk),
                                        largest_difference(ring.gradients.dv, gradients.dv)});
}

}  // namespace

RingTiming time_ring(Ranks& ranks, std::int64_t tokens, RingSplit split) {
  const std::int64_t here = tokens / ranks.count();
  Held own = some_tokens(here, ranks.rank());
  double forward = 0, backward = 0;
  const std::int64_t peak = peak_bytes_of([&] {
    const RingAttentionArgs args = {.local = own.args(), .length = tokens, .split = split};
    forward = seconds_of([&] { own.attended = ring_attention(ranks, args); });
    backward = seconds_of(
        [&] { own.gradients = ring_attention_backward(ranks, args, own.attended, own.dout); });
  });
  const auto most = [&](double value) { return std::ranges::max(gathered(ranks, value)); };
  RingTiming timing = {.tokens = tokens,
                       .ranks = ranks.count(),
                       .forward_seconds = most(forward),
                       .backward_seconds = most(backward),
                       .peak_bytes = static_cast<std::int64_t>(most(static_cast<double>(peak)))};
  const Held whole = whole_text(ranks, split, own);
  if (ranks.rank() == 0) compare_with_one_process(whole, timing);
  return timing;
}

}  // namespace heed
