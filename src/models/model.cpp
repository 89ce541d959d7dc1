#include "heed/models/model.h"

namespace heed {

std::vector<const Parameter*> Model::parameters() const {
  const std::vector<Parameter*> mine = const_cast<Model*>(this)->parameters();
  return {mine.begin(), mine.end()};
}

}  // namespace heed
