#include <fmt/format.h>

#include <memory>
#include <vector>

#include "attention/api/checked.h"
#include "c/given.h"
#include "c/guard.h"
#include "c/observation.h"
#include "c/problem.h"
#include "heed/c.h"

namespace heed::c {
namespace {

constexpr std::string_view kOp = "observe";
constexpr std::int64_t kMostObservations = 4096;

std::vector<std::unique_ptr<Observation>> read(const heed_observation* const* given,
                                               std::int64_t count) {
  if (count < 0 || count > kMostObservations)
    fail(kOp, "count", count, fmt::format("0 to {}", kMostObservations));
  if (count > 0) require_pointer(kOp, "observations", given);
  std::vector<std::unique_ptr<Observation>> observations;
  for (std::int64_t i = 0; i < count; ++i)
    observations.push_back(
        std::make_unique<Observation>(fmt::format("observations[{}]", i), given[i]));
  return observations;
}

void run(const AttentionArgs& args, const AttendedConstView& attended,
         const std::vector<std::unique_ptr<Observation>>& observations) {
  std::vector<Operand> taken = inputs(args);
  taken.push_back({"attended.lse", attended.lse});
  taken.push_back({"attended.lse_low", attended.lse_low});
  std::vector<Observer*> observers;
  for (const auto& observation : observations) {
    observation->check(taken);
    observers.push_back(observation.get());
  }
  observe(args, attended, observers);
}

}  // namespace
}  // namespace heed::c

heed_status heed_observe(const heed_attention_args* args, const heed_attended* attended,
                         const heed_observation* const* observations, int64_t count) {
  using namespace heed::c;
  return guarded([&] {
    const heed::AttentionArgs problem = attention_args(kOp, args);
    const heed::AttendedConstView left = attended_const_view(kOp, attended);
    run(problem, left, read(observations, count));
  });
}
