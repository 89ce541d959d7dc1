#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "attention/api/checked.h"
#include "heed/error.h"

namespace heed {
namespace {

// A list of Extents: one entry per batch, one for all, or none.
struct ExtentList {
  std::string_view name;
  const std::vector<std::int64_t>& values;
  std::string_view owner = "extents";

  void check_count(std::int64_t batch) const {
    if (values.size() > 1 && std::ssize(values) != batch)
      fail("attention", fmt::format("{}.{}", owner, name),
           fmt::format("a list of {}", values.size()),
           fmt::format("none, one or {} entries (the batch)", batch));
  }

  std::int64_t at(std::int64_t b, std::int64_t otherwise) const {
    if (values.empty()) return otherwise;
    return values[values.size() == 1 ? 0 : static_cast<std::size_t>(b)];
  }

  std::int64_t length_at(std::int64_t b, std::int64_t room) const {
    const std::int64_t value = at(b, room);
    if (value < 0 || value > room)
      fail("attention", fmt::format("{}.{}[{}]", owner, name, b), value,
           fmt::format("0 to {}", room));
    return value;
  }

  std::int64_t position_at(std::int64_t b, std::int64_t otherwise) const {
    constexpr std::int64_t kFarthest = std::int64_t{1} << 60;  // the sum of two cannot overflow
    const std::int64_t value = at(b, otherwise);
    if (value < -kFarthest || value > kFarthest)
      fail("attention", fmt::format("extents.{}[{}]", name, b), value,
           "a position within 2^60 of 0");
    return value;
  }
};

// Checks the offsets of packed sequences: ascending from 0 to the number of rows.
void check_starts(std::string_view name, const std::vector<std::int64_t>& starts,
                  std::int64_t rows) {
  for (std::size_t n = 0; n < starts.size(); ++n) {
    const std::int64_t least = n == 0 ? 0 : starts[n - 1];
    const std::int64_t most = n == 0 ? 0 : rows;
    if (starts[n] < least || starts[n] > most)
      fail("attention", fmt::format("extents.{}[{}]", name, n), starts[n],
           fmt::format("{} to {}", least, most));
  }
  if (starts.back() != rows)
    fail("attention", fmt::format("extents.{}[{}]", name, starts.size() - 1), starts.back(),
         fmt::format("{}, the end of the last sequence", rows));
}

void check_no_lengths(std::string_view starts, const ExtentList& list) {
  if (!list.values.empty())
    fail("attention", fmt::format("extents.{}", list.name),
         fmt::format("given beside extents.{}", starts), "one of them");
}

// Position and length of each sequence of a batch in q and k.
struct Places {
  const AttentionArgs& args;
  ExtentList ring_begin = {"ring_begin", args.keys.ring_begin, "keys"};
  ExtentList query_length = {"query_length", args.extents.query_length};
  ExtentList key_begin = {"key_begin", args.extents.key_begin};
  ExtentList key_length = {"key_length", args.extents.key_length};

  void check(std::int64_t batch) const {
    for (const ExtentList& list : {query_length, key_begin, key_length, ring_begin})
      list.check_count(batch);
    if (is_packed(args.q)) {
      check_no_lengths("query_starts", query_length);
      check_starts("query_starts", args.extents.query_starts, args.q.dim(1));
    }
    if (is_packed(args.keys.k)) {
      check_no_lengths("key_starts", key_begin);
      check_no_lengths("key_starts", key_length);
      check_starts("key_starts", args.extents.key_starts, args.keys.k.dim(1));
    }
  }

  void place(std::int64_t b, kernels::Sequence& sequence) const {
    const auto at = static_cast<std::size_t>(b);
    if (is_packed(args.q)) {
      const std::vector<std::int64_t>& starts = args.extents.query_starts;
      sequence.query_begin = starts[at];
      sequence.query_length = starts[at + 1] - starts[at];
    } else {
      sequence.query_length = query_length.length_at(b, args.q.dim(2));
    }
    if (is_packed(args.keys.k)) {
      const std::vector<std::int64_t>& starts = args.extents.key_starts;
      sequence.key_begin = starts[at];
      sequence.key_length = starts[at + 1] - starts[at];
    } else {
      const std::int64_t slots = key_room(args.keys);
      const ExtentList& begin = is_ring(args.keys) ? ring_begin : key_begin;
      const std::int64_t last = is_ring(args.keys) ? std::max<std::int64_t>(slots - 1, 0) : slots;
      sequence.key_begin = begin.values.empty() ? 0 : begin.length_at(b, last);
      const std::int64_t skipped = is_ring(args.keys) ? 0 : sequence.key_begin;
      sequence.key_length = key_length.length_at(b, slots - skipped);
    }
  }
};

}  // namespace

std::vector<kernels::Sequence> resolved_sequences(const AttentionArgs& args) {
  const std::int64_t batch = batch_of(args);
  const Places places = {args};
  const ExtentList q_offset = {"q_offset", args.extents.q_offset};
  const ExtentList key_offset = {"key_offset", args.extents.key_offset};
  places.check(batch);
  q_offset.check_count(batch);
  key_offset.check_count(batch);
  std::vector<kernels::Sequence> sequences(static_cast<std::size_t>(batch));
  for (std::int64_t b = 0; b < batch; ++b) {
    kernels::Sequence& sequence = sequences[static_cast<std::size_t>(b)];
    places.place(b, sequence);
    sequence.key_offset = key_offset.position_at(b, 0);
    sequence.q_offset =
        q_offset.position_at(b, sequence.key_length - sequence.query_length + sequence.key_offset);
  }
  return sequences;
}

}  // namespace heed
