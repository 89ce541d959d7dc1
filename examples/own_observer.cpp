// A custom observer: the share of its attention that each head gives to the query itself.
#include <cstdio>
#include <memory>
#include <vector>

#include "heed/heed.h"  // IWYU pragma: keep

struct SelfShare : heed::Observer {
  struct Sum : State {
    double value = 0;
  };
  std::string_view name() const override { return "self_share"; }
  void begin(const heed::ObservedShape& shape) override { share.assign(shape.heads, 0); }
  heed::TileParts parts() const override { return {}; }  // weights alone
  std::unique_ptr<State> rows(const heed::ObservedRows&) const override {
    return std::make_unique<Sum>();
  }
  void tile(State& state, const heed::ObservedRows& at,
            const heed::ObservedTile& tile) const override {
    for (auto i = at.row_begin; i < at.row_end; ++i) {
      const auto j = at.q_offset + i - at.key_offset - tile.key_begin;  // the key at i's position
      if (0 <= j && j < tile.key_end - tile.key_begin)
        static_cast<Sum&>(state).value += tile.weights[j * heed::kMaskRows + i - at.row_begin];
    }
  }
  void merge(State& state, const heed::ObservedRows& at) override {
    share[at.head] += static_cast<Sum&>(state).value / static_cast<double>(at.key_length);
  }
  std::vector<double> share;
};

int main() {
  const heed::Tensor x = heed::Tensor::zeros({1, 2, 100, 16});  // so weights are even
  const heed::AttentionArgs args = {.q = x, .keys = {x, x}, .mask = heed::Mask::causal()};
  SelfShare self;
  heed::Observer* const observers[] = {&self};
  heed::observe(args, heed::attention(args), observers);
  for (const double share : self.share)
    std::printf("%.4f\n", share);  // (1 + 1/2 + ... 1/100) / 100
}
