// Questions about one weight, and sessions derived from others.
#include <array>
#include <optional>

#include "base/formats/json.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "inspect/evidence/edited_run.h"
#include "serve/api.h"
#include "serve/body.h"

namespace heed::serve {
namespace {

std::int64_t query_of(const HeadRequest& at, const Parameters& parameters) {
  return token_of_path(parameters, "query", at.size.queries);
}

WhyRequest cell_of(const HeadRequest& at, const Parameters& parameters) {
  return {.place = at.place,
          .query = query_of(at, parameters),
          .key = token_of_path(parameters, "key", at.size.keys)};
}

// The list that contains the key: the first stack's queries, the source's tokens, ...
EditedToken key_token(const HeadRequest& at, std::int64_t key) {
  const Session& session = at.session->session();
  const bool own = session.keys(at.place.stack).data() == session.tokens.data();
  return {own ? TokenSide::kTokens : TokenSide::kKeyTokens, key};
}

// One edit, in the form of a cell's test.
Edits tested(const HeadRequest& at, const WhyRequest& cell, const Parameters& parameters) {
  const std::size_t edit = parameters.choice("edit", {"remove", "ablate", "swap"});
  if (edit == 0) return {.remove = {{cell.place, cell.query, cell.key}}};
  if (edit == 1) return {.ablate = {cell.place}};
  const EditedToken token = key_token(at, cell.key);
  if (parameters.request().has_param("text"))
    return {.swap = {{token,
                      one_token(at.session->session(), token.side, parameters.text("text", ""))}}};
  if (!parameters.request().has_param("id"))
    refuse_parameter("id", "missing", "id or text of the other token");
  const std::int64_t id = parameters.number("id", 0, 0, INT32_MAX);
  return {.swap = {{token, static_cast<std::int32_t>(id)}}};
}

}  // namespace

void get_why(const Call& call) {
  const HeadRequest at = head_request(call);
  const WhyRequest cell = cell_of(at, call);
  send_answer(call, at.session, [=](Cancel&) { return answer_why(*at.session, cell); });
}

void get_origins(const Call& call) {
  const HeadRequest at = head_request(call);
  const WhyRequest cell = cell_of(at, call);
  at.session->require_model();
  OriginsRequest request{cell.place, cell.query, cell.key};
  constexpr std::array kAgainst = {Against::kMean, Against::kRaw, Against::kRunner};
  request.against = kAgainst.at(call.choice("against", {"mean", "raw", "runner_up"}));
  if (call.request().has_param("split")) request.split = call.text("split", "");
  send_answer(call, at.session, [=](Cancel&) { return answer_origins(*at.session, request); });
}

void get_effect(const Call& call) {
  const HeadRequest at = head_request(call);
  const WhyRequest cell = cell_of(at, call);
  at.session->require_model();
  const std::int64_t top = call.number("top", 4, 1, 64);
  send_answer(call, at.session, [=](Cancel&) { return answer_effect(*at.session, cell, top); });
}

void get_test(const Call& call) {
  const HeadRequest at = head_request(call);
  const WhyRequest cell = cell_of(at, call);
  at.session->require_model();
  const Edits edits = tested(at, cell, call);
  check_edits("test", at.session->session(), edits);
  const std::int64_t top = call.number("top", 5, 1, 64);
  send_answer(call, at.session,
              [=](Cancel&) { return answer_trial(*at.session, edits, cell, top); });
}

void get_anatomy(const Call& call) {
  const HeadRequest at = head_request(call);
  const WhyRequest window = {at.place, token_asked(call, "query", 0, at.size.queries),
                             token_asked(call, "key", 0, at.size.keys)};
  send_answer(call, at.session, [=](Cancel&) { return answer_anatomy(*at.session, window); });
}

void get_dimensions(const Call& call) {
  const HeadRequest at = head_request(call);
  const DimensionsRequest request = {at.place, query_of(at, call),
                                     token_if_asked(call, "key", at.size.keys),
                                     call.number("most", 16, 1, 64)};
  send_answer(call, at.session,
              [=](Cancel& cancel) { return answer_dimensions(*at.session, request, cancel); });
}

void get_geometry(const Call& call) {
  const HeadRequest at = head_request(call);
  const GeometryRequest request = {at.place, query_of(at, call),
                                   token_if_asked(call, "key", at.size.keys),
                                   call.choice("rotation", {"after", "before"}) == 1};
  send_answer(call, at.session,
              [=](Cancel& cancel) { return answer_geometry(*at.session, request, cancel); });
}

void post_derive(const Call& call) {
  const SessionPointer base = find_session(call);
  require_ready(*base);
  base->require_model();
  const JsonText json = parse_body(call.request().body);
  const auto [session, fresh] =
      call.api.sessions.derive(base, edits_of(json.root(), base->session()));
  send_json(call.response, fresh ? 201 : 200, to_json(answer_session(*session)));
}

}  // namespace heed::serve
