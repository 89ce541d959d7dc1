#include <array>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "c/given.h"
#include "c/guard.h"
#include "heed/c.h"
#include "heed/error.h"
#include "heed/threads.h"

using heed::c::guarded;

const char* heed_version() { return heed::version().data(); }  // a literal, so it ends with a 0

heed_status heed_thread_count(int32_t* count) {
  return guarded([&] {
    heed::c::require_pointer("thread_count", "count", count);
    *count = heed::thread_count();
  });
}

heed_status heed_set_thread_count(int32_t count) {
  return guarded([&] { heed::set_thread_count(count); });
}

namespace heed::c {
namespace {

static_assert(HEED_INVALID_ARGUMENT == static_cast<int>(ErrorCode::kInvalidArgument) + 1 &&
              HEED_INTERRUPTED == static_cast<int>(ErrorCode::kInterrupted) + 1);

constexpr heed_error kNone = {sizeof(heed_error), HEED_OK, "", "", "", "", "", ""};
constexpr heed_error kNoMemory = {
    sizeof(heed_error), HEED_FAILED, "out of memory", "", "", "out of memory", "", ""};

struct Kept {
  ErrorParts parts;
  std::string message;
  heed_error error = kNone;
};
thread_local Kept kept;

struct Renamed {
  std::string_view in_cpp;
  std::string_view in_c;
};
constexpr std::array<Renamed, 9> kRenamed = {{{"extents.", ""},
                                              {"scores.", ""},
                                              {"keys.", ""},
                                              {"dropout.", "dropout_"},
                                              {"dq_into", "dq"},
                                              {"dk_into", "dk"},
                                              {"dv_into", "dv"},
                                              {"cotangents.", ""},
                                              {"graph.", ""}}};

// Maps field names of the C++ structs to those of the C structs.
std::string field_of(const std::string& argument) {
  for (const auto& [in_cpp, in_c] : kRenamed)
    if (argument.starts_with(in_cpp)) return std::string(in_c) + argument.substr(in_cpp.size());
  return argument;
}

void keep(ErrorParts parts) {
  parts.argument = field_of(parts.argument.text());
  Kept next{.parts = std::move(parts), .message = {}};
  next.message = to_string(next.parts);
  kept = std::move(next);
  const ErrorParts& of = kept.parts;
  kept.error = {sizeof(heed_error),         static_cast<heed_status>(of.code) + 1,
                kept.message.c_str(),       of.op.text().c_str(),
                of.argument.text().c_str(), of.found.text().c_str(),
                of.expected.text().c_str(), of.hint.text().c_str()};
}

void keep_current() {
  try {
    throw;
  } catch (const Error& error) {
    keep(error.parts());
  } catch (const std::bad_alloc&) {
    kept.error = kNoMemory;
  } catch (const std::exception& error) {
    keep({.code = ErrorCode::kFailed, .found = error.what()});
  } catch (...) {
    keep({.code = ErrorCode::kFailed, .found = "an exception of an unknown kind"});
  }
}

}  // namespace

heed_status remember_exception() noexcept {
  try {
    keep_current();
  } catch (...) {  // no memory for the text
    kept.error = kNoMemory;
  }
  return kept.error.code;
}

}  // namespace heed::c

const heed_error* heed_last_error() { return &heed::c::kept.error; }
