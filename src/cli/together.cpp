#include "cli/together.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include "cli/terminal/output.h"
#include "heed/error.h"

namespace heed::cli {

int together(StartedRanks& ranks, const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    tell("heed: rank {} of {}: {}\n", ranks.rank(), ranks.count(), error.what());
    std::fflush(stderr);
    ranks.end_all(1);
    throw;
  }
}

namespace {

[[noreturn]] void end_all(StartedRanks& ranks, const std::string& line, int status) {
  tell("{}\n", line);
  std::fflush(stderr);
  ranks.end_all(status);
  std::abort();  // not reached
}

}  // namespace

int together(StartedRanks& ranks, const Given& given, std::string_view command,
             const std::function<int()>& work) {
  try {
    return work();
  } catch (const AnotherRankFailed&) {
    std::this_thread::sleep_for(std::chrono::seconds(30));  // that rank ends this one
    return 1;
  } catch (const Error& error) {
    end_all(ranks, error_line(command, in_options(given, command, error).what()),
            exit_status(error.code()));
  } catch (const std::exception& error) {
    end_all(ranks, error_line(command, error.what()), exit_status(ErrorCode::kFailed));
  }
}

}  // namespace heed::cli
