#include "inspect/map/swept_head.h"

#include <vector>

#include "inspect/session/cancel.h"

namespace heed::server {

std::int64_t SweptHead::bytes() const {
  const auto numbers = margins.received.size() + margins.keys_in_use.size();
  return static_cast<std::int64_t>(numbers * sizeof(float)) + (coarse ? coarse->bytes() : 0);
}

SweptHead sweep_head(const LayerAttention& layer, std::int64_t head,
                     const std::function<void()>& check) {
  const std::int64_t length = layer.k.dim(2);
  const CellsRequest request = coarse_request(head, length);
  SweepStop stop(check);
  MarginsObserver margins(head);
  std::optional<CellsObserver> cells;
  std::vector<Observer*> observers = {&stop, &margins};
  if (has_coarse(length)) observers.push_back(&cells.emplace(request));
  observe(layer.args(), layer.attended(), observers);
  SweptHead swept{.margins = margins.margins(head), .coarse = {}};
  if (cells) swept.coarse.emplace(cells->gathered, request);
  return swept;
}

}  // namespace heed::server
