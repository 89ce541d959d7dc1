#include "inspect/map/swept_head.h"

#include <vector>

#include "inspect/session/cancel.h"

namespace heed {

std::int64_t SweptHead::bytes() const {
  const auto numbers = margins.received.size() + margins.keys_in_use.size();
  return static_cast<std::int64_t>(numbers * sizeof(float)) + (coarse ? coarse->bytes() : 0);
}

SweptHead sweep_head(const LayerAttention& layer, std::int64_t head,
                     const SweepStop::Check& check) {
  const MatrixSize size = layer.size();
  const CellsRequest request = coarse_request(head, size, Pool::kMean);
  SweepStop stop(check);
  MarginsSweep margins(head);
  std::optional<CellsObserver> cells;
  std::vector<Observer*> observers = {&stop};
  margins.add_to(observers);
  if (has_coarse(size)) observers.push_back(&cells.emplace(request));
  observe(layer.args(), layer.attended(), observers);
  SweptHead swept{.margins = margins.margins(head), .coarse = {}};
  if (cells) swept.coarse.emplace(cells->gathered, request);
  return swept;
}

}  // namespace heed
