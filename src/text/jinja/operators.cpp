// Arithmetic of values, as Python does it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/jinja/functions.h"

namespace heed::jinja {
namespace {

[[noreturn]] void refuse_overflow() { refuse("a number of more than 63 bits", "a smaller one"); }

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (a == std::numeric_limits<std::int64_t>::min() && b == -1) refuse_overflow();
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  if (base >= -1 && base <= 1)
    return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : exponent == 0 ? 1 : base;
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(result, base, &result)) refuse_overflow();
  return result;
}

Value of_integers(std::string_view sign, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  if (sign == "+") overflows = __builtin_add_overflow(a, b, &result);
  if (sign == "-") overflows = __builtin_sub_overflow(a, b, &result);
  if (sign == "*") overflows = __builtin_mul_overflow(a, b, &result);
  if (overflows) refuse_overflow();
  if (sign == "//") return floor_quotient(a, b);
  if (sign == "%") return b == -1 ? 0 : a - b * floor_quotient(a, b);
  if (sign == "**") return power(a, b);
  return result;
}

double floor_remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Value of_numbers(std::string_view sign, const Value& a, const Value& b) {
  const double x = a.number(), y = b.number();
  if (y == 0 && (sign == "/" || sign == "//" || sign == "%"))
    refuse("a division by 0", "by another number");
  const bool stays_whole = sign != "/" && !(sign == "**" && y < 0);
  if (a.is_integer() && b.is_integer() && stays_whole)
    return of_integers(sign, a.integer(), b.integer());
  if (sign == "+") return x + y;
  if (sign == "-") return x - y;
  if (sign == "*") return x * y;
  if (sign == "/") return x / y;
  if (sign == "//") return std::floor((x - floor_remainder(x, y)) / y);
  if (sign == "%") return floor_remainder(x, y);
  if (x == 0 && y < 0) refuse("0 to a power below 0", "another number");
  if (x < 0 && y != std::floor(y)) refuse("a power that is no real number", "another one");
  return std::pow(x, y);
}

Value repeated(const Value& value, std::int64_t times) {
  times = std::max<std::int64_t>(times, 0);
  const std::int64_t each = value.nesting().size;
  if (times > 0 && each > (std::int64_t{1} << 40) / times) require_size(std::int64_t{1} << 40);
  require_size(each * times);
  if (const std::string* text = value.text()) {
    if (text->size() == 1) return std::string(static_cast<std::size_t>(times), text->front());
    std::string out;
    for (std::int64_t i = 0; i < times; ++i) out += *text;
    return out;
  }
  List out = {.kind = value.list()->kind};
  for (std::int64_t i = 0; i < times; ++i)
    out.items.insert(out.items.end(), value.list()->items.begin(), value.list()->items.end());
  return out;
}

bool is_sequence(const Value& value) {
  const List* list = value.list();
  return value.text() != nullptr || (list != nullptr && list->kind != Sequence::kGenerator);
}

Value joined(const Value& a, const Value& b) {
  if (a.text() != nullptr) return *a.text() + *b.text();
  List all = *a.list();
  all.nesting = {};
  all.items.insert(all.items.end(), b.list()->items.begin(), b.list()->items.end());
  return all;
}

}  // namespace

Value computed(std::string_view sign, const Value& a, const Value& b) {
  if (sign == "~") return as_text(a) + as_text(b);
  for (const Value* side : {&a, &b})
    if (side->is_undefined()) refuse_undefined(*side->undefined());
  if (sign == "%" && a.text() != nullptr) not_served("an operator", "text % values");
  if (a.is_number() && b.is_number()) return of_numbers(sign, a, b);
  if (sign == "+" && is_sequence(a) && a.type() == b.type()) return joined(a, b);
  if (sign == "*" && is_sequence(a) && b.is_integer()) return repeated(a, b.integer());
  if (sign == "*" && is_sequence(b) && a.is_integer()) return repeated(b, a.integer());
  refuse(fmt::format("{} {} {}", a.type(), sign, b.type()), "two numbers or two texts");
}

Value negated(const Value& value) {
  if (value.is_undefined()) refuse_undefined(*value.undefined());
  if (value.is_float()) return -value.number();
  if (!value.is_integer()) refuse(fmt::format("- {}", value.type()), "a number");
  return of_integers("-", 0, value.integer());
}

}  // namespace heed::jinja
