// The plan's workspace is what a call allocates besides its results: the allocator is queried while
// tiles are computed.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "bench/attention_cases.h"
#include "heed/mask.h"
#include "heed/threads.h"
#include "support/allocated.h"
#include "support/every_kernel.h"

namespace heed::attention_workspace_test {
namespace {

// A band of 64 keys on each side, which queries the allocator at every tile, and at every row if a
// kernel only asks about pairs.
class Peak {
 public:
  Mask mask() {
    return Mask::custom({.visible =
                             [this](const MaskPlace&, std::int64_t row, std::int64_t key) {
                               if (key == 0) look();
                               return std::abs(row - key) <= 64;
                             },
                         .tile =
                             [this](const MaskPlace&, const MaskTile& tile) {
                               look();
                               const bool far = tile.key_begin > tile.row_end + 64 ||
                                                tile.row_begin > tile.key_end + 64;
                               return far ? TileClass::kEmpty : TileClass::kPartial;
                             }});
  }

  // The maximal additional memory of `call`. The first run fills the blocks kept for tensors.
  // Threads of the SIMD kernels keep their scratch between calls, so fresh threads show it.
  template <typename Call>
  std::int64_t of(std::string_view kernel, const Call& call) {
    call();
    std::int64_t more = 0;
    const auto measure = [&] {
      parallel_for(thread_count(), [](std::int64_t, int) {});
      const std::int64_t before = test::allocated_bytes();
      most_ = before;
      call();
      more = most_ - before;
    };
    if (kernel.starts_with("cpu-"))
      std::thread(measure).join();
    else
      measure();
    return more;
  }

 private:
  void look() {
    const std::int64_t now = test::allocated_bytes();
    std::int64_t most = most_;
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }

  std::atomic<std::int64_t> most_{0};
};

// The allocator's overhead, and the resolved arguments: alignment and headers of 15 tiles.
std::int64_t slack() { return 8192 * thread_count() + 4096; }

struct Kind {
  const char* name;
  AttentionCase problem;
};

// GoogleTest finds it by this name.
void PrintTo(const Kind& kind, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << kind.name;
}

class Workspace : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (!test::are_bytes_counted()) GTEST_SKIP() << "this allocator does not say what is in use";
    set_thread_count(
        2);  // a worker that has not allocated before would count what malloc keeps for it
  }
  void TearDown() override { set_thread_count(0); }
};

TEST_P(Workspace, OfTheForwardPassIsWhatItAllocates) {
  const AttentionInputs inputs(GetParam().problem);
  Peak peak;
  AttentionArgs args = inputs.args;
  args.mask = peak.mask();
  Attended attended = attention(args);
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    test::for_every_kernel(args, [&](const AttentionArgs& each) {
      const std::int64_t stated = plan_attention(each).workspace_bytes;
      const std::int64_t found = peak.of(each.kernel, [&] {
        attention(each, {attended.out.view(), attended.lse.view(), attended.lse_low.view()});
      });
      EXPECT_LE(found, stated + slack());
    });
  }
}

TEST_P(Workspace, OfTheBackwardPassIsWhatItAllocates) {
  const AttentionInputs inputs(GetParam().problem);
  Peak peak;
  AttentionArgs args = inputs.args;
  args.mask = peak.mask();
  const Attended attended = attention(args);
  AttentionGradRequest request = inputs.request();
  AttentionGrads into = attention_backward(args, attended, inputs.dout, request);
  const auto memory_of = [](Tensor& x) { return x.given() ? x.view() : View(); };
  request.dq_into = memory_of(into.dq);
  request.dk_into = memory_of(into.dk);
  request.dv_into = memory_of(into.dv);
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    for (const auto& candidate : backward_candidates()) {
      const CheckedAttention checked(args);
      if (!candidate.refusal(checked.problem).empty()) continue;
      SCOPED_TRACE(candidate.name);
      args.kernel = candidate.name;
      request.dscale = true;
      const std::int64_t stated = plan_attention_backward(args, request).workspace_bytes;
      const std::int64_t found = peak.of(
          candidate.name, [&] { attention_backward(args, attended, inputs.dout, request); });
      EXPECT_LE(found, stated + slack());
    }
  }
}

AttentionCase of(AttentionCase problem) {
  problem.heads = 4;
  problem.kv_heads = 2;
  problem.query_length = problem.key_length = 200;
  problem.head_dim = 32;
  problem.value_dim = 48;
  return problem;
}

const Kind kKinds[] = {
    {"Plain", of({})},
    {"Double", of({.dtype = DType::kF64})},
    {"Half", of({.dtype = DType::kF16})},
    {"Pages", of({.batch = 2, .extents = {.key_length = {200}}, .keys = CaseKeys::kPages})},
    {"Int8", of({.kv_dtype = DType::kI8})},
    {"Cosine", of({.scores = {.similarity = Similarity::kCosine}})},
    {"Everything",
     of({.batch = 3,
         .scores =
             {.softcap = 3, .bias = {4, 200, 200}, .alibi = true, .sink = true, .dropout = 0.2}})},
    {"BiasOfKeys", of({.batch = 2, .scores = {.bias = {200}}})},
    // 32 x 32 tiles at which 4 batches take turns: 8 KiB.
    {"LongSharedBias",
     {.batch = 4,
      .heads = 1,
      .query_length = 2048,
      .key_length = 2048,
      .head_dim = 4,
      .value_dim = 4,
      .scores = {.bias = {2048, 2048}}}},
};

INSTANTIATE_TEST_SUITE_P(Kinds, Workspace, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace heed::attention_workspace_test
