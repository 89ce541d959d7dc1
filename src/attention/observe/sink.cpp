#include <algorithm>
#include <array>

#include "attention/observe/row_numbers.h"
#include "heed/observers.h"

namespace heed {

void SinkObserver::begin(const ObservedShape& shape) { share = row_answer(shape); }

void SinkObserver::merge(State&, const ObservedRows& rows) {
  std::array<double, kMaskRows> weights = {};
  std::copy_n(rows.sink, rows.row_end - rows.row_begin, weights.begin());
  store_row_numbers(weights, rows, share);
}

}  // namespace heed
