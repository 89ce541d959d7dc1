// The layouts of keys: contiguous, packed, paged or ring.
#include "base/wording.h"
#include "cli/attend/attention_options.h"
#include "heed/error.h"
#include "heed/tensor.h"

namespace heed::cli {

void add_key_options(OptionList& list, AttentionOptions& options) {
  add(list, {{"--page-table", &options.page_table, "FILE.npy",
              "K and V are pages [pages, G, P, D]; the table [B, N] says which page holds the keys "
              "n P to n P + P - 1 of a batch; with --key-lengths"},
             {"--ring-begin", &options.ring_begin, "FILE.npy",
              "K and V are rings: the slot of each batch's oldest key"},
             {"--k-scales", &options.k_scales, "FILE.npy",
              "K is i8: an f32 scale for each 32 elements, [.., ceil(D / 32)]"},
             {"--v-scales", &options.v_scales, "FILE.npy", "V is i8: its scales"}});
}

void read_keys(const AttentionOptions& options, AttentionProblemData& problem) {
  const bool packed = !options.packed_k.empty();
  const bool paged = !options.page_table.empty();
  const int rank = packed ? 3 : problem.packed() || paged ? 4 : problem.rank;
  Keys& keys = problem.args.keys;
  const auto read = [&](const std::string& path, const std::string& dtype, Tensor& memory) {
    if (path.empty()) return ConstView();
    memory = read_array(path, rank, dtype);
    return lifted(memory, packed);
  };
  keys.k = read(options.k, options.dtype, problem.k);
  keys.v = read(options.v, options.dtype, problem.v);
  keys.k_scales = read(options.k_scales, "", problem.k_scales);
  keys.v_scales = read(options.v_scales, "", problem.v_scales);
  keys.ring_begin = read_integers(options.ring_begin);
  if (!options.ring_begin.empty() && keys.ring_begin.empty())
    fail_in(options.ring_begin, "the list", "empty", "the slot of each batch's oldest key",
            ErrorCode::kInvalidArgument);
  if (!paged) return;
  problem.page_table = read_npy(options.page_table);
  keys.page_table = problem.page_table;
}

}  // namespace heed::cli
