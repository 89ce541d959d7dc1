// A number as a sum of named terms, with what is left over: always said, never hidden.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace heed {

struct Term {
  std::string name;
  double value = 0;
};

struct Sum {
  std::vector<Term> terms = {};
  double sum = 0;
  double residual = 0;  // the number itself less `sum`
};

inline Sum sum_to(double number, std::vector<Term> terms) {
  Sum sum{.terms = std::move(terms)};
  for (const Term& term : sum.terms) sum.sum += term.value;
  sum.residual = number - sum.sum;
  return sum;
}

}  // namespace heed
