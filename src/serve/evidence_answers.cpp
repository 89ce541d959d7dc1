// Questions about one weight, and sessions derived from others.
#include <array>
#include <optional>

#include "base/formats/json.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "inspect/evidence/edited_run.h"
#include "serve/api.h"
#include "serve/edits_body.h"

namespace heed::serve {
namespace {

std::int64_t query_of(const HeadRequest& at, const Parameters& parameters) {
  return check_token("query", parameters.path_number("query"), at.size.queries);
}

// The client's key, which a row's answer lists besides the largest ones.
std::optional<std::int64_t> asked_key(const HeadRequest& at, const Parameters& parameters) {
  if (!parameters.request().has_param("key")) return {};
  return check_token("key", parameters.number("key", 0, INT64_MIN, INT64_MAX), at.size.keys);
}

WhyRequest cell_of(const HeadRequest& at, const Parameters& parameters) {
  return {.place = at.place,
          .query = query_of(at, parameters),
          .key = check_token("key", parameters.path_number("key"), at.size.keys)};
}

// The list that contains the key: the first stack's queries, the source's tokens, ...
EditedToken key_token(const HeadRequest& at, std::int64_t key) {
  const Session& session = at.session->session();
  const bool own = session.keys(at.place.stack).data() == session.tokens.data();
  return {own ? TokenSide::kTokens : TokenSide::kKeyTokens, key};
}

// One edit, in the form of a cell's test.
Edits tested(const HeadRequest& at, const WhyRequest& cell, const Parameters& parameters) {
  switch (parameters.choice("edit", {"remove", "ablate", "swap"})) {
    case 0:
      return {.remove = {{cell.place, cell.query, cell.key}}};
    case 1:
      return {.ablate = {cell.place}};
    default:
      break;
  }
  const EditedToken token = key_token(at, cell.key);
  if (parameters.request().has_param("text"))
    return {.swap = {{token,
                      one_token(at.session->session(), token.side, parameters.text("text", ""))}}};
  if (!parameters.request().has_param("id"))
    refuse(400, "bad_request",
           {.argument = "id", .found = "missing", .expected = "id or text of the other token"});
  const std::int64_t id = parameters.number("id", 0, 0, INT32_MAX);
  return {.swap = {{token, static_cast<std::int32_t>(id)}}};
}

}  // namespace

void get_why(Api& api, const Parameters& parameters, httplib::Response& response) {
  const HeadRequest at = head_request(api, parameters);
  const WhyRequest cell = cell_of(at, parameters);
  send_long(api, parameters, response, long_answer(at.session, [at, cell](Cancel&) {
              return to_json(answer_why(*at.session, cell));
            }));
}

void get_origins(Api& api, const Parameters& parameters, httplib::Response& response) {
  const HeadRequest at = head_request(api, parameters);
  const WhyRequest cell = cell_of(at, parameters);
  at.session->require_model();
  OriginsRequest request{cell.place, cell.query, cell.key};
  constexpr std::array kAgainst = {Against::kMean, Against::kRaw, Against::kRunner};
  request.against = kAgainst.at(parameters.choice("against", {"mean", "raw", "runner_up"}));
  if (parameters.request().has_param("split")) request.split = parameters.text("split", "");
  send_long(api, parameters, response, long_answer(at.session, [at, request](Cancel&) {
              return to_json(answer_origins(*at.session, request));
            }));
}

void get_effect(Api& api, const Parameters& parameters, httplib::Response& response) {
  const HeadRequest at = head_request(api, parameters);
  const WhyRequest cell = cell_of(at, parameters);
  at.session->require_model();
  const std::int64_t top = parameters.number("top", 4, 1, 64);
  send_long(api, parameters, response, long_answer(at.session, [at, cell, top](Cancel&) {
              return to_json(answer_effect(*at.session, cell, top));
            }));
}

void get_test(Api& api, const Parameters& parameters, httplib::Response& response) {
  const HeadRequest at = head_request(api, parameters);
  const WhyRequest cell = cell_of(at, parameters);
  at.session->require_model();
  const Edits edits = tested(at, cell, parameters);
  check_edits("test", at.session->session(), edits);
  const std::int64_t top = parameters.number("top", 5, 1, 64);
  send_long(api, parameters, response, long_answer(at.session, [at, edits, cell, top](Cancel&) {
              return to_json(answer_trial(*at.session, edits, cell, top));
            }));
}

void get_anatomy(Api& api, const Parameters& parameters, httplib::Response& response) {
  const HeadRequest at = head_request(api, parameters);
  const auto begin_of = [&](const char* name, std::int64_t count) {
    return check_token(name, parameters.number(name, 0, INT64_MIN, INT64_MAX), count);
  };
  const WhyRequest window = {at.place, begin_of("query", at.size.queries),
                             begin_of("key", at.size.keys)};
  send_long(api, parameters, response, long_answer(at.session, [at, window](Cancel&) {
              return to_json(answer_anatomy(*at.session, window));
            }));
}

void get_dimensions(Api& api, const Parameters& parameters, httplib::Response& response) {
  const HeadRequest at = head_request(api, parameters);
  const DimensionsRequest request = {at.place, query_of(at, parameters), asked_key(at, parameters),
                                     parameters.number("most", 16, 1, 64)};
  send_long(api, parameters, response, long_answer(at.session, [at, request](Cancel& cancel) {
              return to_json(answer_dimensions(*at.session, request, cancel));
            }));
}

void get_geometry(Api& api, const Parameters& parameters, httplib::Response& response) {
  const HeadRequest at = head_request(api, parameters);
  const GeometryRequest request = {at.place, query_of(at, parameters), asked_key(at, parameters),
                                   parameters.choice("rotation", {"after", "before"}) == 1};
  send_long(api, parameters, response, long_answer(at.session, [at, request](Cancel& cancel) {
              return to_json(answer_geometry(*at.session, request, cancel));
            }));
}

void post_derive(Api& api, const Parameters& parameters, httplib::Response& response) {
  const SessionPointer base = find_session(api, parameters);
  require_ready(*base);
  base->require_model();
  const JsonText json =
      JsonText::parse(parameters.request().body, {.file = "body", .unique_keys = true});
  const auto [session, fresh] = api.sessions.derive(base, edits_of(json.root(), base->session()));
  send_json(response, fresh ? 201 : 200, to_json(answer_session(*session)));
}

}  // namespace heed::serve
