// The masks of `attend` and `explain`.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/sequences.h"
#include "base/wording.h"
#include "cli/attend/attention_options.h"
#include "heed/error.h"
#include "heed/mask.h"
#include "heed/tensor.h"

namespace heed::cli {
namespace {

// The length of the longest sequence, which is the mask's width.
std::int64_t length_of(const ConstView& operand, const std::vector<std::int64_t>& starts) {
  if (starts.empty()) return operand.dim(-2);
  std::int64_t longest = 0;
  for (std::size_t n = 1; n < starts.size(); ++n)
    longest = std::max(longest, starts[n] - starts[n - 1]);
  return longest;
}

// Pages may have more slots than there are keys.
std::int64_t key_count(const AttentionArgs& args) {
  const ConstView& table = args.keys.page_table;
  if (!table.given()) return length_of(args.keys.k, args.extents.key_starts);
  const std::vector<std::int64_t>& lengths = args.extents.key_length;
  return lengths.empty() ? table.dim(-1) * args.keys.k.dim(-2) : std::ranges::max(lengths);
}

Mask band_of(const AttentionOptions& options) {
  Mask mask;
  if (!options.causal.empty()) mask = mask & Mask::causal();
  if (!options.window.empty())
    mask = mask & Mask::band({.left = options.window[0], .right = options.window[1]});
  return mask;
}

// Every query sees the prefix; other keys follow the band, or are causal without one.
Mask with_prefix(const AttentionOptions& options, const Mask& band) {
  if (options.prefix.empty()) return band;
  const bool given = !options.causal.empty() || !options.window.empty();
  return (given ? band : Mask::causal()) | Mask::prefix(read_integers(options.prefix));
}

Mask segments_of(const AttentionOptions& options) {
  const Tensor queries = read_npy(options.segments.front());
  return options.segments.size() == 1 ? Mask::segments(queries)
                                      : Mask::segments(queries, read_npy(options.segments.back()));
}

Mask blocks_of(const AttentionOptions& options, AttentionProblemData& problem) {
  problem.blocks = read_npy(options.blocks);
  const Tensor& layout = problem.blocks;
  if (!options.block_size.empty())
    return Mask::blocks(layout, {.rows = options.block_size[0], .keys = options.block_size[1]});
  if (layout.rank() < 2 || layout.dim(-2) == 0 || layout.dim(-1) == 0)
    fail_in(options.blocks, "shape", to_string(layout.shape()),
            "blocks of queries by blocks of keys", ErrorCode::kInvalidArgument);
  const AttentionArgs& args = problem.args;
  const auto size = [](std::int64_t length, std::int64_t count) {
    return std::max<std::int64_t>((length + count - 1) / count, 1);
  };
  return Mask::blocks(layout,
                      {.rows = size(length_of(args.q, args.extents.query_starts), layout.dim(-2)),
                       .keys = size(key_count(args), layout.dim(-1))});
}

ConstView list_of(const std::vector<std::int64_t>& values) {
  return {values.data(), DType::kI64, Shape{std::ssize(values)}};
}

// [E, 2] pairs of query and key, sorted and without duplicates.
std::vector<std::pair<std::int64_t, std::int64_t>> read_pairs(const std::string& path) {
  const Tensor array = read_npy(path);
  if (array.rank() != 2 || array.dim(1) != 2 ||
      (array.dtype() != DType::kI64 && array.dtype() != DType::kI32))
    fail_in(path, "the array",
            fmt::format("{} of {}", to_string(array.shape()), name(array.dtype())),
            "[edges, 2] of i64 or i32: query and key (or two files: row starts, "
            "columns)",
            ErrorCode::kInvalidArgument);
  const auto number = [&](std::int64_t at) {
    return array.dtype() == DType::kI64 ? array.data<std::int64_t>()[at]
                                        : std::int64_t{array.data<std::int32_t>()[at]};
  };
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::int64_t e = 0; e < array.dim(0); ++e)
    pairs.emplace_back(number(2 * e), number(2 * e + 1));
  sort_once(pairs);
  return pairs;
}

Mask edges_of_pairs(const std::string& path, std::int64_t queries) {
  std::vector<std::int64_t> starts(static_cast<std::size_t>(queries + 1));
  std::vector<std::int64_t> columns;
  for (const auto& [query, key] : read_pairs(path)) {
    if (query < 0 || query >= queries)
      fail_in(path, "a query", query, fmt::format("0 to {}", queries - 1),
              ErrorCode::kInvalidArgument);
    ++starts[static_cast<std::size_t>(query + 1)];
    columns.push_back(key);
  }
  for (std::size_t row = 1; row < starts.size(); ++row) starts[row] += starts[row - 1];
  return Mask::edges(list_of(starts), list_of(columns));
}

Mask edges_of(const AttentionOptions& options, const AttentionArgs& args) {
  if (options.edges.size() == 1)
    return edges_of_pairs(options.edges.front(), length_of(args.q, args.extents.query_starts));
  const Tensor starts = read_npy(options.edges.front());
  const Tensor columns = read_npy(options.edges.back());
  return Mask::edges(starts, columns);
}

}  // namespace

void add_mask_options(OptionList& list, AttentionOptions& options) {
  add(list,
      {{.name = "--causal",
        .to = &options.causal,
        .help = "a query sees no later key: bottom-right (the last query sees every key; default) "
                "or top-left (the first query sees the first key)",
        .words = {"top-left", "bottom-right"},
        .means = "--causal=bottom-right"},
       {.name = "--window",
        .to = &options.window,
        .type = "L,R",
        .help =
            "how many keys to the left and right of its own a query sees; -1: no limit; the "
            "last query's own key is the last one, unless --causal or --q-offset says otherwise",
        .count = {2, 2}},
       {"--keep", &options.keep, "FILE.npy",
        "true where a query may attend; broadcast to [B, H, Tq, Tk], keys counted from "
        "each batch's --key-begin"},
       {.name = "--segments",
        .to = &options.segments,
        .type = "FILE.npy",
        .help = "ids of documents, [T] or [B, T]: a query sees only its own document; two files, "
                "as in Q.npy,K.npy, where queries and keys differ",
        .count = {1, 2}},
       {"--prefix", &options.prefix, "FILE.npy",
        "number of first keys that every query sees; the others follow --causal and "
        "--window, and are causal without them"},
       {"--blocks", &options.blocks, "FILE.npy",
        "true where a block of queries may attend to a block of keys; broadcast over "
        "batch and heads"},
       {.name = "--block-size",
        .to = &options.block_size,
        .type = "R,K",
        .help = "queries and keys of a block (default: as the layout divides the lengths)",
        .count = {2, 2},
        .needs = "--blocks"},
       {.name = "--edges",
        .to = &options.edges,
        .type = "FILE.npy",
        .help = "a graph: [E, 2] pairs of query and key, or two files, row starts and columns, as "
                "in STARTS.npy,COLUMNS.npy",
        .count = {1, 2}}});
}

Mask read_mask(const AttentionOptions& options, AttentionProblemData& problem) {
  Mask mask = with_prefix(options, band_of(options));
  if (!options.keep.empty()) {
    problem.keep = read_npy(options.keep);
    mask = mask & Mask::keep(problem.keep);
  }
  if (!options.segments.empty()) mask = mask & segments_of(options);
  if (!options.blocks.empty()) mask = mask & blocks_of(options, problem);
  if (!options.edges.empty()) mask = mask & edges_of(options, problem.args);
  return mask;
}

}  // namespace heed::cli
