// The functions that every template can call.
#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "text/jinja/functions.h"

namespace heed::jinja {
namespace {

Value range(const Arguments& given) {
  given.require(3);
  constexpr std::int64_t kMost = 100000;  // like Jinja's sandbox
  if (given.positional.empty()) refuse("range without an end", "a whole number");
  const bool has_begin = given.positional.size() > 1;
  const std::int64_t begin = has_begin ? given.integer(0, "start", 0) : 0;
  const std::int64_t end = given.integer(has_begin ? 1 : 0, "stop", 0);
  const std::int64_t step = given.integer(2, "step", 1);
  if (step == 0) refuse("range with a step of 0", "another step");
  List all;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    all.items.emplace_back(i);
    if (std::ssize(all.items) > kMost) refuse("a range of more than 100000 numbers", "fewer");
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return all;
}

template <Kind kind>
Value with_members(const Arguments& given) {
  Mapping made = {.kind = kind};
  if (given.positional.size() > 1)
    refuse(fmt::format("{} arguments", given.positional.size()), "at most 1");
  if (!given.positional.empty()) {
    const Mapping* from = given.positional[0].dict();
    if (from == nullptr)
      refuse(fmt::format("dict of {}", given.positional[0].type()), "of a dictionary");
    made.members = from->members;
  }
  for (const auto& [name, value] : given.named) {
    if (kind == Kind::kNamespace && value.nesting().has_object)
      refuse("a namespace in a namespace", "another value");
    if (kind == Kind::kNamespace && name.starts_with('_'))
      refuse(fmt::format("a namespace's member '{}'", name), "a name that begins with a letter");
    set(made.members, name, value);
  }
  return made;
}

Value raise_exception(const Arguments& given) {
  const Value* message = given.find(0, "message");
  fail({.code = ErrorCode::kInvalidArgument,
        .found = fmt::format("the template refuses the messages: {}",
                             message == nullptr ? "" : as_text(*message))});
}

Value strftime_now(const Arguments& given) {
  given.require(1, "format");
  const std::string format = given.text(0, "format");
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  std::string text(1024, '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &local));
  if (text.empty() && !format.empty()) refuse("a long time format", "a shorter one");
  return text;
}

}  // namespace

Value global(const std::string& name) {
  constexpr std::pair<std::string_view, Value (*)(const Arguments&)> kGlobals[] = {
      {"range", range},
      {"dict", with_members<Kind::kDict>},
      {"namespace", with_members<Kind::kNamespace>},
      {"raise_exception", raise_exception},
      {"strftime_now", strftime_now}};
  for (const auto& [known, call] : kGlobals)
    if (name == known) return Function{name, call};
  for (const std::string_view other : {"lipsum", "cycler", "joiner"})
    if (name == other) not_served("a function", name);
  return Undefined{name};
}

}  // namespace heed::jinja
