#include <utility>

#include "ranks/ring.h"
#include "tensor/views.h"

namespace heed {
namespace {

constexpr int kKeysChannel = 2;
constexpr int kGradientsChannel = 3;

Tensor like(const ConstView& one, std::int64_t tokens) {
  return Tensor::empty({one.dim(0), one.dim(1), tokens, one.dim(3)}, one.dtype());
}

TensorPair like(const ConstView& first, const ConstView& second, std::int64_t tokens) {
  return {.first = like(first, tokens), .second = like(second, tokens)};
}

// Sends both to the next rank, and receives those of the previous rank into `next`.
std::unique_ptr<Transfer> pass_on(Ranks& ranks, const ConstView& first, const ConstView& second,
                                  TensorPair& next, int channel) {
  const int to = (ranks.rank() + 1) % ranks.count();
  const int from = (ranks.rank() + ranks.count() - 1) % ranks.count();
  const Outgoing out[] = {{to, bytes_of(first)}, {to, bytes_of(second)}};
  const Incoming in[] = {{from, writable_bytes_of(next.first)},
                         {from, writable_bytes_of(next.second)}};
  return ranks.start(out, in, channel);
}

}  // namespace

TravellingKeys::TravellingKeys(Ranks& ranks, const Ring& ring, const Keys& own)
    : ranks_(ranks), ring_(ring), here_(own) {
  if (!own.k.is_contiguous()) here_.k = copied_.first = Tensor::copy_of(own.k);
  if (!own.v.is_contiguous()) here_.v = copied_.second = Tensor::copy_of(own.v);
}

void TravellingKeys::depart(int step) {
  next_ = like(here_.k, here_.v, ring_.tokens(ring_.holder(step + 1)));
  transfer_ = pass_on(ranks_, here_.k, here_.v, next_, kKeysChannel);
}

void TravellingKeys::arrive() {
  transfer_->wait();
  transfer_.reset();
  copied_ = std::exchange(next_, {});  // frees what was sent
  here_ = {.k = copied_.first, .v = copied_.second};
}

TravellingGradients::TravellingGradients(Ranks& ranks, const Ring& ring, const Keys& own)
    : ranks_(ranks),
      ring_(ring),
      here_{.first = Tensor::zeros(own.k.shape(), sum_type(own.k)),
            .second = Tensor::zeros(own.v.shape(), sum_type(own.v))} {}

TensorPair& TravellingGradients::here() {
  if (transfer_) {
    transfer_->wait();
    transfer_.reset();
    here_ = std::exchange(next_, {});
  }
  return here_;
}

void TravellingGradients::depart(int step) {
  here();  // also if nothing was added
  if (ring_.count() == 1) return;
  next_ = like(here_.first, here_.second, ring_.tokens(ring_.holder(step + 1)));
  transfer_ = pass_on(ranks_, here_.first, here_.second, next_, kGradientsChannel);
  if (step + 1 == ring_.count()) here();  // the rank's own ones have returned
}

}  // namespace heed
