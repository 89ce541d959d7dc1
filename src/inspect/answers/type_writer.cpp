#include "inspect/answers/type_writer.h"

#include "inspect/answers/cells.h"
#include "inspect/answers/evidence.h"
#include "inspect/answers/flow.h"
#include "inspect/answers/heads.h"
#include "inspect/answers/models.h"
#include "inspect/answers/rows.h"
#include "inspect/answers/session.h"
#include "inspect/answers/why.h"
#include "inspect/answers/words.h"

namespace heed {

namespace {

void declare_models(TypeWriter& types) {
  types.declare<ModelsAnswer>();
  types.declare<FoundModelsAnswer>();
}

void declare_words(TypeWriter& types) {
  types.declare<NextAnswer>();
  types.declare<WordsAnswer>();
  types.declare<LensAnswer>();
  types.declare<BranchTokenAnswer>();
  types.declare<BranchEndAnswer>();
  types.declare<BeamsAnswer>();
}

}  // namespace

std::string answer_types() {
  TypeWriter types;
  declare_models(types);
  types.declare<SessionAnswer>();
  types.declare<RowAnswer>();
  types.declare<ColumnAnswer>();
  types.declare<EdgesAnswer>();
  types.declare<CellAnswer>();
  types.declare<SweepAnswer>();
  types.declare<WhyAnswer>();
  types.declare<OriginsAnswer>();
  types.declare<Effect>();
  types.declare<TrialAnswer>();
  types.declare<Anatomy>();
  types.declare<Dimensions>();
  types.declare<Geometry>();
  types.declare<MarginalsAnswer>();
  types.declare<HeadsAnswer>();
  types.declare<LateScoresAnswer>();
  types.declare<EvidenceAnswer>();
  types.declare<SimilarAnswer>();
  types.declare<AlignmentAnswer>();
  types.declare<ChangesAnswer>();
  types.declare<ChosenAnswer>();
  declare_words(types);
  types.declare<FlowProgressAnswer>();
  types.declare<FlowAnswer>();
  types.declare<FlowTestAnswer>();
  return "// The types of /api/v1, written from src/inspect/answers by the test TypeWriter.\n\n" +
         types.text();
}

}  // namespace heed
