// The scores of heads as docs/api.md defines them, in plain loops and doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heed::test {

using PlainWeights = std::vector<double>;  // NaN where masked

struct PlainHead {
  std::vector<PlainWeights> weights;
  std::vector<std::string> tokens;
  std::vector<double> lengths;  // of values

  bool sees(std::int64_t i, std::int64_t j) const { return !std::isnan(weights[i][j]); }
  double weight(std::int64_t i, std::int64_t j) const { return sees(i, j) ? weights[i][j] : 0; }
  std::int64_t size() const { return std::ssize(weights); }
};

// The value of a row, and that of its part after the first token, times the share of that part.
struct PlainRow {
  std::optional<double> raw, rest;
};

using Plain = std::function<PlainRow(const PlainHead&, std::int64_t row)>;

// Whether the row sees more than one key.
inline bool chooses(const PlainHead& head, std::int64_t i) {
  std::int64_t keys = 0;
  for (std::int64_t j = 0; j < head.size(); ++j) keys += head.sees(i, j) ? 1 : 0;
  return keys > 1;
}

inline std::optional<double> only(bool holds, double value) {
  return holds ? std::optional(value) : std::nullopt;
}

// One key, where the row has it.
inline Plain one_key(const std::function<std::int64_t(std::int64_t)>& key, bool from_second) {
  return [=](const PlainHead& head, std::int64_t i) -> PlainRow {
    const std::int64_t j = key(i);
    if ((from_second && i == 0) || j < 0 || j >= head.size()) return {};
    return {head.weight(i, j), only(j > 0, head.weight(i, j))};
  };
}

inline PlainRow sum_over(const PlainHead& head, std::int64_t i,
                         const std::function<bool(std::int64_t j)>& counts) {
  double all = 0, rest = 0;
  bool sees = false, sees_rest = false;
  for (std::int64_t j = 0; j < head.size(); ++j) {
    if (!head.sees(i, j) || j == i || !counts(j)) continue;
    all += head.weight(i, j);
    sees = true;
    if (j == 0) continue;
    rest += head.weight(i, j);
    sees_rest = true;
  }
  return {only(sees, all), only(sees_rest, rest)};
}

inline double entropy_of(const PlainWeights& parts) {
  double sum = 0, entropy = 0;
  for (const double part : parts) sum += part;
  for (const double part : parts)
    if (part > 0) entropy -= part / sum * std::log(part / sum);
  return entropy;
}

// Over the log of the number of keys where `normalised`.
inline PlainRow entropies(const PlainHead& head, std::int64_t i, bool normalised) {
  PlainWeights all, rest;
  double left = 0;
  for (std::int64_t j = 0; j < head.size(); ++j) {
    if (!head.sees(i, j)) continue;
    all.push_back(head.weight(i, j));
    if (j == 0) continue;
    rest.push_back(head.weight(i, j));
    left += head.weight(i, j);
  }
  const auto over = [&](const PlainWeights& parts) {
    return normalised ? std::log(static_cast<double>(parts.size())) : 1;
  };
  const std::size_t least = normalised ? 2 : 1;
  return {only(all.size() >= least, entropy_of(all) / over(all)),
          only(rest.size() >= least, left > 0 ? left * entropy_of(rest) / over(rest) : 0)};
}

inline PlainRow largest(const PlainHead& head, std::int64_t i,
                        const std::function<bool(std::int64_t j)>& counts) {
  double most = 0, rest = 0;
  bool sees = false;
  for (std::int64_t j = 0; j < head.size(); ++j) {
    if (!head.sees(i, j) || !counts(j)) continue;
    sees = true;
    most = std::max(most, head.weight(i, j));
    if (j > 0) rest = std::max(rest, head.weight(i, j));
  }
  return {only(sees, most), only(sees, rest)};
}

inline PlainRow weighed(const PlainHead& head, std::int64_t i,
                        const std::function<double(std::int64_t j)>& by, bool every_row) {
  double all = 0, rest = 0;
  for (std::int64_t j = 0; j < head.size(); ++j) {
    all += head.weight(i, j) * by(j);
    if (j > 0) rest += head.weight(i, j) * by(j);
  }
  return {all, only(every_row || i > 0, rest)};
}

inline bool follows_its_like(const PlainHead& head, std::int64_t i, std::int64_t j) {
  return j > 0 && j != i + 1 && head.tokens[j - 1] == head.tokens[i];
}

inline PlainRow local(const PlainHead& head, std::int64_t i) {
  double near = 0, rest = 0;
  bool sees_far = false, sees_far_rest = false;
  for (std::int64_t j = 0; j < head.size(); ++j) {
    if (!head.sees(i, j)) continue;
    const bool is_near = std::abs(i - j) <= 4;
    near += is_near ? head.weight(i, j) : 0;
    rest += is_near && j > 0 ? head.weight(i, j) : 0;
    sees_far = sees_far || !is_near;
    sees_far_rest = sees_far_rest || (!is_near && j > 0);
  }
  return {only(sees_far, near), only(sees_far_rest, rest)};
}

inline const std::map<std::string, Plain>& scores_by_place() {
  static const std::map<std::string, Plain> kAll = {
      {"previous", one_key([](std::int64_t i) { return i - 1; }, true)},
      {"next", one_key([](std::int64_t i) { return i + 1; }, false)},
      {"current",
       [](const PlainHead& head, std::int64_t i) -> PlainRow {
         return {only(chooses(head, i), head.weight(i, i)),
                 only(chooses(head, i) && i > 0, head.weight(i, i))};
       }},
      {"distance",
       [](const PlainHead& head, std::int64_t i) {
         return weighed(head, i, [&](std::int64_t j) { return std::abs(double(i - j)); }, true);
       }},
      {"entropy", [](const PlainHead& head, std::int64_t i) { return entropies(head, i, false); }},
      {"normalised_entropy",
       [](const PlainHead& head, std::int64_t i) { return entropies(head, i, true); }},
      {"elsewhere",
       [](const PlainHead& head, std::int64_t i) {
         return largest(head, i, [&](std::int64_t j) { return j > 0 && (j < i - 1 || j > i + 1); });
       }},
      {"confidence",
       [](const PlainHead& head, std::int64_t i) -> PlainRow {
         return chooses(head, i) ? largest(head, i, [](std::int64_t) { return true; }) : PlainRow{};
       }},
      {"local", local}};
  return kAll;
}

inline const std::map<std::string, Plain>& scores_by_token() {
  static const std::map<std::string, Plain> kAll = {
      {"duplicate",
       [](const PlainHead& head, std::int64_t i) {
         return sum_over(head, i, [&](std::int64_t j) { return head.tokens[j] == head.tokens[i]; });
       }},
      {"induction",
       [](const PlainHead& head, std::int64_t i) {
         return sum_over(head, i, [&](std::int64_t j) { return follows_its_like(head, i, j); });
       }},
      {"delimiter",
       [](const PlainHead& head, std::int64_t i) {
         return sum_over(head, i, [&](std::int64_t j) { return j > 0 && head.tokens[j] == " ."; });
       }},
      {"value_weighted", [](const PlainHead& head, std::int64_t i) {
         return weighed(head, i, [&](std::int64_t j) { return head.lengths[j]; }, false);
       }}};
  return kAll;
}

// As docs/api.md defines them.
inline const std::map<std::string, Plain>& score_definitions() {
  static const std::map<std::string, Plain> kAll = [] {
    std::map<std::string, Plain> all = scores_by_place();
    all.insert(scores_by_token().begin(), scores_by_token().end());
    return all;
  }();
  return kAll;
}

struct Forms {
  double raw = 0, adjusted = 0;
};

inline Forms plain_score(const PlainHead& head, const Plain& of) {
  double raw = 0, rows = 0, rest = 0, left = 0;
  for (std::int64_t i = 0; i < head.size(); ++i) {
    const PlainRow row = of(head, i);
    if (row.raw) raw += *row.raw, ++rows;
    if (row.rest) rest += *row.rest, left += 1 - head.weight(i, 0);
  }
  return {rows > 0 ? raw / rows : 0, left > 0 ? rest / left : 0};
}

}  // namespace heed::test
