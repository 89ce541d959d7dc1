#include "heed/ranks.h"

#include <algorithm>
#include <string>
#include <vector>

#include "heed/error.h"

namespace heed {
namespace {

constexpr int kSumChannel = 0;
constexpr int kGatherChannel = 1;
constexpr int kBroadcastChannel = 2;

// Part `index` of this many values.
template <typename T>
std::span<T> share_of(std::span<T> values, int index, int count) {
  const auto begin = [&](int at) {
    return values.size() * static_cast<std::size_t>(at) / static_cast<std::size_t>(count);
  };
  return values.subspan(begin(index), begin(index + 1) - begin(index));
}

}  // namespace

void gather(Ranks& ranks, std::span<const std::byte> own, std::span<std::byte> all) {
  const auto count = static_cast<std::size_t>(ranks.count());
  if (all.size() != count * own.size())
    fail("gather", "all", std::to_string(all.size()) + " bytes",
         std::to_string(count * own.size()) + ", those of every rank");
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int peer = 0; peer < ranks.count(); ++peer) {
    const auto place = all.subspan(static_cast<std::size_t>(peer) * own.size(), own.size());
    if (peer == ranks.rank()) {
      std::ranges::copy(own, place.begin());
    } else {
      out.push_back({peer, own});
      in.push_back({peer, place});
    }
  }
  ranks.start(out, in, kGatherChannel)->wait();
}

void broadcast(Ranks& ranks, std::span<std::byte> bytes) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int peer = 1; peer < ranks.count() && ranks.rank() == 0; ++peer)
    out.push_back({peer, bytes});
  if (ranks.rank() > 0) in.push_back({0, bytes});
  ranks.start(out, in, kBroadcastChannel)->wait();
}

namespace {

// Each rank's terms for one share, on the rank that adds them.
using Terms = std::vector<std::vector<float>>;

Terms exchange_shares(Ranks& ranks, std::span<float> values) {
  const int self = ranks.rank();
  Terms given(static_cast<std::size_t>(ranks.count()));
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int peer = 0; peer < ranks.count(); ++peer) {
    auto& terms = given[static_cast<std::size_t>(peer)];
    const std::span<float> own = share_of(values, self, ranks.count());
    terms.assign(own.begin(), own.end());
    if (peer == self) continue;
    out.push_back({peer, std::as_bytes(share_of(values, peer, ranks.count()))});
    in.push_back({peer, std::as_writable_bytes(std::span(terms))});
  }
  ranks.start(out, in, kSumChannel)->wait();
  return given;
}

void spread_shares(Ranks& ranks, std::span<float> values) {
  const int self = ranks.rank();
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int peer = 0; peer < ranks.count(); ++peer) {
    if (peer == self) continue;
    out.push_back({peer, std::as_bytes(share_of(values, self, ranks.count()))});
    in.push_back({peer, std::as_writable_bytes(share_of(values, peer, ranks.count()))});
  }
  ranks.start(out, in, kSumChannel)->wait();
}

}  // namespace

void sum(Ranks& ranks, std::span<float> values) {
  if (ranks.count() == 1) return;
  const Terms given = exchange_shares(ranks, values);
  const std::span<float> own = share_of(values, ranks.rank(), ranks.count());
  for (std::size_t i = 0; i < own.size(); ++i) {
    double total = 0;
    for (const std::vector<float>& terms : given) total += static_cast<double>(terms[i]);
    own[i] = static_cast<float>(total);
  }
  spread_shares(ranks, values);
}

}  // namespace heed
