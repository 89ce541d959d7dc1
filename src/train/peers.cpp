#include "train/peers.h"

namespace heed {
namespace {

constexpr std::size_t kBucket = std::size_t{1} << 20;  // in floats

}  // namespace

Peers::Part Peers::part_of(std::int64_t count, int rank) const {
  return {count * rank / this->count(), count * (rank + 1) / this->count()};
}

void Peers::together(const std::function<void()>& work) const {
  if (ranks_ == nullptr) return work();
  run_together(*ranks_, work);
}

bool Peers::any(bool here) const {
  return std::ranges::any_of(gathered(std::uint8_t{here}),
                             [](std::uint8_t said) { return said != 0; });
}

void Peers::take_from_first(std::span<std::byte> bytes) const {
  if (ranks_ != nullptr) broadcast(*ranks_, bytes);
}

std::string Peers::text_of_first(std::string text) const {
  std::uint64_t size = text.size();
  take_from_first(std::as_writable_bytes(std::span(&size, 1)));
  text.resize(size);
  take_from_first(std::as_writable_bytes(std::span(text)));
  return text;
}

void Peers::add_up(std::span<Parameter* const> parameters, Gradients& gradients) {
  if (ranks_ == nullptr) return;
  std::vector<std::span<float>> places;  // of the bucket's contents
  std::size_t held = 0;
  const auto pass = [&] {
    sum(*ranks_, std::span(bucket_).first(held));
    const float* from = bucket_.data();
    for (const std::span<float> place : places) {
      std::copy_n(from, place.size(), place.data());
      from += place.size();
    }
    places.clear();
    held = 0;
  };
  bucket_.resize(kBucket);
  for (const Parameter* parameter : parameters) {
    Tensor& gradient = gradients.of(*parameter);
    std::span<float> left(gradient.data<float>(),
                          static_cast<std::size_t>(gradient.element_count()));
    while (!left.empty()) {
      const std::span<float> some = left.first(std::min(left.size(), kBucket - held));
      std::ranges::copy(some, bucket_.begin() + static_cast<std::ptrdiff_t>(held));
      places.push_back(some);
      held += some.size();
      left = left.subspan(some.size());
      if (held == kBucket) pass();
    }
  }
  if (held > 0) pass();
}

}  // namespace heed
