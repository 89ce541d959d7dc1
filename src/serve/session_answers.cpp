// What is asked of a session as a whole: its tokens, statistics, next words.
#include <nlohmann/json.hpp>

#include "inspect/answers/json_text.h"
#include "inspect/answers/session_json.h"
#include "inspect/session/shorten.h"
#include "serve/about_json.h"
#include "serve/api.h"

namespace heed::server {
namespace {

struct Posted {
  std::string text;
  std::int64_t layer = 0;
  Keep keep = Keep::kAll;
};

Keep keep_of(const nlohmann::json& body) {
  const auto keep = body.find("keep");
  if (keep == body.end()) return Keep::kAll;
  if (*keep == "first") return Keep::kFirst;
  if (*keep == "last") return Keep::kLast;
  refuse(400, "bad_request", "body: \"keep\" is neither \"first\" nor \"last\"");
}

Posted posted(const std::string& body) {
  const nlohmann::json json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    refuse(400, "bad_request", "body: not JSON in UTF-8, expected {{\"text\": \"...\"}}");
  const auto text = json.find("text");
  if (!json.is_object() || text == json.end() || !text->is_string())
    refuse(400, "bad_request", "body: expected an object whose \"text\" is a string");
  Posted found{.text = text->get<std::string>(), .keep = keep_of(json)};
  const auto layer = json.find("layer");
  if (layer == json.end()) return found;
  if (!layer->is_number_integer()) refuse(400, "bad_request", "body: \"layer\" is no whole number");
  found.layer = layer->get<std::int64_t>();
  return found;
}

}  // namespace

void get_models(Api& api, const Parameters& parameters, httplib::Response& response) {
  get_model(api, parameters, response);
}

void get_model(Api& api, const Parameters&, httplib::Response& response) {
  const std::string text = api.options.text ? json_string(*api.options.text) : "null";
  const std::optional<PictureOrder>& order = api.options.picture;
  const std::string picture =
      order ? fmt::format(R"(,"picture":{{"format":"{}","width":{}}})", order->format, order->width)
            : "";
  send_json(response, 200, about_json(api.model, api.options.limits, text, picture));
}

void post_session(Api& api, const Parameters& parameters, httplib::Response& response) {
  const Posted wanted = posted(parameters.request().body);
  const ModelInfo& info = api.model.model->info();
  if (wanted.layer < 0 || wanted.layer >= info.layers)
    refuse(404, "not_found", "layer {} does not exist, the model has layers 0 to {}", wanted.layer,
           info.layers - 1);
  const bool may_be_cut = std::ssize(wanted.text) <= api.options.limits.text_bytes &&
                          find_invalid_utf8(wanted.text) < 0;  // else it is refused as it is
  const std::string text = may_be_cut ? shorten(api.model, wanted.text, wanted.keep) : wanted.text;
  const auto [session, fresh] = api.sessions.post(text, static_cast<int>(wanted.layer));
  send_json(response, fresh ? 201 : 200, session_json(api.model.name, *session));
}

void get_session(Api& api, const Parameters& parameters, httplib::Response& response) {
  send_json(response, 200, session_json(api.model.name, *find_session(api, parameters)));
}

void delete_session(Api& api, const Parameters& parameters, httplib::Response& response) {
  api.sessions.drop(parameters.path("id"));
  response.status = 204;
}

void get_heads(Api& api, const Parameters& parameters, httplib::Response& response) {
  const SessionPointer session = find_session(api, parameters);
  const LiveSession::Progress progress = session->progress();
  const bool all = !parameters.request().has_param("layer");
  const std::int64_t only = parameters.number("layer", 0, INT64_MIN, INT64_MAX);
  if (!all) session->layer_in_view = check_layer(*session, only);
  const auto layer = [&](int index) {
    return layer_json(*session, progress.layers[static_cast<std::size_t>(index)], index) + "}";
  };
  std::vector<int> there = progress.order;
  if (!all) std::erase_if(there, [&](int index) { return index != only; });
  send_json(response, 200,
            fmt::format(R"({{"stack":"self","done":{},"of":{},"layers":{}}})",
                        progress.order.size(), progress.layers.size(), json_list(there, layer)));
}

void get_next(Api& api, const Parameters& parameters, httplib::Response& response) {
  const SessionPointer session = find_session(api, parameters);
  const std::int64_t position =
      parameters.number("position", session->length() - 1, INT64_MIN, INT64_MAX);
  const std::int64_t top = parameters.number("top", 6, 1, 16);
  send_json(response, 200, next_json(*session, check_token(*session, "position", position), top));
}

}  // namespace heed::server
