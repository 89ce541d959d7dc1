#include "ranks/travelling.h"

#include <algorithm>
#include <utility>

#include "ranks/sums.h"
#include "tensor/strided_copy.h"

namespace heed {
namespace {

constexpr int kKeysChannel = 2;
constexpr int kGradientsChannel = 3;
constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void fill_zero(std::span<std::byte> bytes) { std::ranges::fill(bytes, std::byte{0}); }

}  // namespace

Message::Message(const ConstView& first_like, const ConstView& second_like, DType first,
                 DType second)
    : parts_{{first, first_like.dim(0), first_like.dim(1), first_like.dim(3)},
             {second, second_like.dim(0), second_like.dim(1), second_like.dim(3)}} {}

std::size_t Message::size_of(int which) const {
  const Part& part = parts_[which];
  return static_cast<std::size_t>(part.batch * part.heads * tokens_ * part.width) *
         size_bytes(part.dtype);
}

void Message::resize(std::int64_t tokens) {
  tokens_ = tokens;
  const auto wanted = static_cast<std::int64_t>(aligned(size_of(0)) + size_of(1));
  if (!memory_.given() || memory_.element_count() < wanted)
    memory_ = Tensor::empty({wanted}, DType::kU8);
}

std::span<std::byte> Message::bytes() {
  return {static_cast<std::byte*>(memory_.view().raw()), aligned(size_of(0)) + size_of(1)};
}

View Message::view(int which) {
  const Part& part = parts_[which];
  std::byte* const at = bytes().data() + (which == 0 ? 0 : aligned(size_of(0)));
  return {at, part.dtype, {part.batch, part.heads, tokens_, part.width}};
}

TravellingKeys::TravellingKeys(Ranks& ranks, const Ring& ring, const Keys& own)
    : ranks_(ranks),
      ring_(ring),
      here_(own.k, own.v, own.k.dtype(), own.v.dtype()),
      next_(own.k, own.v, own.k.dtype(), own.v.dtype()) {
  here_.resize(own.k.dim(2));
  copy_elements(own.k, here_.first());
  copy_elements(own.v, here_.second());
}

Keys TravellingKeys::here() { return {.k = here_.first(), .v = here_.second()}; }

void TravellingKeys::depart(int step) {
  next_.resize(ring_.tokens(ring_.holder(step + 1)));
  transfer_ = pass_on(ranks_, here_.bytes(), next_.bytes(), kKeysChannel);
}

void TravellingKeys::arrive() {
  transfer_->wait();
  transfer_.reset();
  std::swap(here_, next_);
}

TravellingGradients::TravellingGradients(Ranks& ranks, const Ring& ring, const Keys& own)
    : ranks_(ranks),
      ring_(ring),
      here_(own.k, own.v, sum_type(own.k), sum_type(own.v)),
      next_(own.k, own.v, sum_type(own.k), sum_type(own.v)) {
  here_.resize(own.k.dim(2));
  fill_zero(here_.bytes());
}

void TravellingGradients::add(int step, const View& dk, const View& dv) {
  if (transfer_) {
    transfer_->wait();
    transfer_.reset();
    std::swap(here_, next_);
  }
  add_part(here_.first(), dk);
  add_part(here_.second(), dv);
  pass_on_after(step);
}

void TravellingGradients::pass_on_after(int step) {
  if (ring_.count() == 1) return;
  next_.resize(ring_.tokens(ring_.holder(step + 1)));
  transfer_ = pass_on(ranks_, here_.bytes(), next_.bytes(), kGradientsChannel);
  if (step + 1 < ring_.count()) return;
  transfer_->wait();  // the own ones come home
  transfer_.reset();
  std::swap(here_, next_);
}

}  // namespace heed
