#include "bench/model_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/philox.h"
#include "base/wording.h"
#include "bench/choose_cases.h"
#include "bench/machine_limits.h"
#include "bench/measure.h"
#include "generate/forward.h"
#include "heed/error.h"
#include "heed/generate.h"
#include "heed/threads.h"
#include "nn/parameter.h"

namespace heed {
namespace {

constexpr std::int64_t kMostSteps = 32;

Tensor random_ids(std::int64_t count, std::int64_t vocabulary) {
  Random random(2024);
  Tensor ids = Tensor::empty({1, count}, DType::kI32);
  for (std::int64_t i = 0; i < count; ++i)
    ids.data<std::int32_t>()[i] =
        static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(vocabulary)));
  return ids;
}

Tensor feed(const Model& model, KvCache& cache, const ConstView& ids) {
  Run run;
  run.cache = &cache;
  run.last_position_only = true;
  run.in_bulk = cache.lengths()[0] == 0 && packed_type(model.parameters()) == DType::kBF16;
  return model.forward({.ids = ids}, run);
}

// The times of a model with broken weights are meaningless.
void check_numbers(const Tensor& logits) {
  reworded([&] { check_logits({logits.data<float>(), static_cast<std::size_t>(logits.dim(2))}); },
           [](ErrorParts& parts) { parts.op = "bench"; });
}

// Every parameter once except tables, of which one row is read, plus the earlier keys and values in
// f32. A table that is also the head counts.
double bytes_of_step(const Model& model, std::int64_t tokens) {
  const ModelInfo& info = model.info();
  const std::int64_t cached = 2 * tokens * info.layers * info.kv_heads * info.head_dim;
  double bytes = static_cast<double>(cached) * sizeof(float);
  for (const Parameter* parameter : model.parameters())
    if (!parameter->looked_up || parameter->linear)
      bytes += static_cast<double>(parameter->held_bytes());
  return bytes;
}

ModelTiming time_prefill(const Model& model, const ModelBenchCase& problem) {
  const Tensor prompt = random_ids(problem.tokens, model.info().vocabulary);
  std::optional<KvCache> cache;
  Tensor logits;
  const Repeated times = repeat([&] { logits = feed(model, *cache, prompt); },
                                [&] { cache.emplace(make_cache(model, 1, problem.tokens)); });
  check_numbers(logits);
  return {.problem = problem,
          .threads = thread_count(),
          .seconds = times.seconds,
          .spread = times.spread,
          .fastest = times.fastest,
          .tokens_per_second = static_cast<double>(problem.tokens) / times.seconds};
}

ModelTiming time_steps(const Model& model, const ModelBenchCase& problem) {
  const std::int64_t steps = std::min(kMostSteps, model.info().positions - problem.tokens);
  const Tensor ids = random_ids(problem.tokens + steps, model.info().vocabulary);
  std::optional<KvCache> cache;
  const Repeated times = repeat(
      [&] {
        for (std::int64_t i = 0; i < steps; ++i)
          feed(model, *cache, ids.view().slice(1, problem.tokens + i, problem.tokens + i + 1));
      },
      [&] {
        cache.emplace(make_cache(model, 1, problem.tokens + steps));
        check_numbers(feed(model, *cache, ids.view().slice(1, 0, problem.tokens)));
      });
  const double seconds = times.seconds / static_cast<double>(steps);
  return {.problem = problem,
          .threads = thread_count(),
          .seconds = seconds,
          .spread = times.spread,
          .fastest = times.fastest / static_cast<double>(steps),
          .tokens_per_second = 1 / seconds,
          .gbytes_per_second = bytes_of_step(model, problem.tokens) / seconds * 1e-9};
}

}  // namespace

std::vector<ModelBenchCase> model_bench_cases(const ModelInfo& info,
                                              const std::vector<std::string>& names) {
  std::vector<ModelBenchCase> cases;
  for (const std::int64_t tokens : {128, 512, 2048})
    if (tokens <= info.positions)
      cases.push_back({fmt::format("prefill-{}", tokens), true, tokens});
  for (const std::int64_t tokens : {10, 250, 1000, 4000})
    if (tokens < info.positions) cases.push_back({fmt::format("step-{}", tokens), false, tokens});
  return choose_cases(cases, names);
}

void time_model(const Model& model, const std::vector<ModelBenchCase>& cases,
                const std::function<void(const ModelTiming&)>& done) {
  if (!model.info().causal || !model.info().has_logits)
    fail({.op = "bench",
          .found = model.info().title + " does not predict next tokens",
          .expected = "a decoder"});
  const double read = read_gbytes_per_second(thread_count());
  for (const ModelBenchCase& problem : cases) {
    ModelTiming timing =
        problem.prefill ? time_prefill(model, problem) : time_steps(model, problem);
    timing.read_gbytes_per_second = read;
    done(timing);
  }
}

}  // namespace heed
