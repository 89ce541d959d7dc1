// Work that ends the same way on all ranks.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <vector>

#include "heed/error.h"
#include "heed/ranks.h"

namespace heed {
namespace {

enum class End : std::uint8_t { kDone, kLeft, kFailed };

struct Ended {
  End how = End::kDone;
  std::exception_ptr thrown = {};
};

Ended end_of(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    const bool left = error.code() == ErrorCode::kInterrupted;
    return {left ? End::kLeft : End::kFailed, std::current_exception()};
  } catch (...) {
    return {End::kFailed, std::current_exception()};
  }
}

}  // namespace

void run_together(Ranks& ranks, const std::function<void()>& work) {
  const Ended own = end_of(work);
  std::vector<End> all(static_cast<std::size_t>(ranks.count()));
  gather(ranks, std::as_bytes(std::span(&own.how, 1)), std::as_writable_bytes(std::span(all)));
  const auto first = std::ranges::find(all, End::kFailed) - all.begin();
  if (first == ranks.rank()) std::rethrow_exception(own.thrown);
  if (first < ranks.count()) throw AnotherRankFailed();
  if (own.how == End::kLeft) std::rethrow_exception(own.thrown);
  if (std::ranges::find(all, End::kLeft) != all.end())
    fail({.code = ErrorCode::kInterrupted, .op = "ranks", .found = "another rank was interrupted"});
}

}  // namespace heed
