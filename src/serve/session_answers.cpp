// Questions about a whole session: its tokens, statistics, next words.
#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/threads.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/fields.h"
#include "inspect/answers/questions.h"
#include "inspect/answers/view.h"
#include "inspect/answers/view_parts.h"
#include "inspect/saved/saved_page.h"
#include "serve/api.h"
#include "serve/body.h"
#include "serve/page_sources.h"

namespace heed::serve {
namespace {

Keep keep_of(const Json& body) {
  if (!body.has("keep")) return Keep::kAll;
  const std::string* keep = body["keep"].as_text();
  if (keep != nullptr && *keep == "first") return Keep::kFirst;
  if (keep != nullptr && *keep == "last") return Keep::kLast;
  fail("body", "keep", body["keep"].brief(), "\"first\" or \"last\"");
}

std::vector<TokenId> ids_of(const Json& body) {
  std::vector<TokenId> ids;
  for (const Json& item : body["ids"].items()) {
    const std::optional<std::int64_t> id = item.as_integer();
    if (!id || *id < INT32_MIN || *id > INT32_MAX) fail("body", "ids", item.brief(), "token ids");
    ids.push_back(static_cast<TokenId>(*id));
  }
  if (ids.empty()) fail("body", "ids", body["ids"].brief(), "a list of token ids");
  return ids;
}

std::optional<std::string> optional_text_of(const Json& body, const char* name) {
  return body[name].is_null() ? std::nullopt : std::optional(text_of(body[name], name));
}

void check_inputs(const Json& body) {
  check_fields(body, "",
               {"text", "source", "messages", "ids", "pair", "target", "model", "stack", "layer",
                "keep", "replaces", "edits"});
  int inputs = 0;
  for (const char* name : {"text", "source", "messages", "ids"}) inputs += body.has(name) ? 1 : 0;
  if (inputs != 1)
    fail("body", "text", inputs == 0 ? "missing" : "given beside another one",
         "one of \"text\", \"source\" (the same of an encoder-decoder), \"messages\" "
         "and \"ids\"");
}

std::vector<ChatMessage> messages_of(const Json& body) {
  std::vector<ChatMessage> messages;
  for (const Json& item : body["messages"].items()) {
    for (const auto& [name, value] : item.members())
      if ((name != "role" && name != "content") || !value.is_text())
        fail("body", "messages",
             fmt::format("\"{}\": {}", clipped(name, kMostShown), value.brief()),
             "\"role\" and \"content\", which are texts");
    if (!item.has("role") || !item.has("content"))
      fail("body", "messages", item.brief(),
           "messages as {\"role\": \"user\", \"content\": \"...\"}");
    messages.push_back({*item["role"].as_text(), *item["content"].as_text()});
  }
  if (messages.empty())
    fail("body", "messages", body["messages"].brief(), "a list of at least one message");
  return messages;
}

// The chat of which the input's text is the last message; empty if the model reads a text as it is.
std::vector<ChatMessage> chat_of(const Json& body, const ServerOptions& options) {
  if (body.has("messages")) return messages_of(body);
  return body.has("text") ? options.chat_of(text_of(body["text"], "text"))
                          : std::vector<ChatMessage>();
}

void refuse_second_text(const Json& body, std::string_view first) {
  for (const char* beside : {"pair", "target"})
    if (body.has(beside))
      fail("body", beside, "given", fmt::format("none beside {}: it goes with \"text\"", first),
           ErrorCode::kUnsupported);
}

SessionInput input_of(const Json& body, const std::vector<ChatMessage>& chat) {
  SessionInput input{.pair = optional_text_of(body, "pair"),
                     .target = optional_text_of(body, "target")};
  if (!chat.empty()) {
    refuse_second_text(body, "a chat");
    input.text = chat.back().content;
  } else if (body.has("ids")) {
    refuse_second_text(body, "\"ids\"");
    input.ids = ids_of(body);
  } else {
    const char* const name = body.has("source") ? "source" : "text";
    input.text = text_of(body[name], name);
  }
  return input;
}

PostedInput posted(const Json& body, const ServerOptions& options) {
  if (!body.is_object())
    fail({.op = "body", .found = body.brief(), .expected = "an object as {\"text\": \"...\"}"});
  check_inputs(body);
  PostedInput posted{.chat = chat_of(body, options), .keep = keep_of(body)};
  posted.input = input_of(body, posted.chat);
  posted.model = optional_text_of(body, "model").value_or("");
  posted.stack = optional_text_of(body, "stack").value_or("");
  posted.replaces = optional_text_of(body, "replaces").value_or("");
  if (body.has("layer")) posted.layer = whole_number(body["layer"], "layer");
  return posted;
}

LimitsAnswer limits_of(const ServerLimits& limits, std::int64_t positions) {
  return {.text_bytes = limits.text_bytes,
          .body_bytes = limits.body_bytes,
          .tokens = positions,
          .sessions = limits.sessions,
          .session_bytes = limits.session_bytes,
          .streams = limits.streams};
}

// The served model, or the other model that is asked for.
ModelsAnswer answer_served(const Api& api, const LoadedModel* loaded) {
  const SessionPointer& shown = api.options.session;
  const bool is_other = loaded != api.model;
  ModelAnswer model = loaded != nullptr ? answer_model(*loaded) : answer_model(shown->session());
  if (shown && !is_other) model.runs = shown->model() != nullptr;
  const ModelInfo& info = model.info;
  std::optional<std::string> text;
  if (!is_other) text = shown ? shown->input.text : api.options.text;
  ModelsAnswer answer{
      .version = std::string(version()),
      .models = {model},
      .text = text,
      .stack = is_other ? std::nullopt : api.options.stack,
      .chats = api.options.chat ? std::optional(true) : std::nullopt,
      .limits = limits_of(api.options.limits,
                          info.reads_source() ? info.source_positions : info.positions),
      .scores = answer_scores(loaded != nullptr ? info.stacks : shown->shapes())};
  if (is_other) return answer;
  answer.pair = shown ? shown->input.pair : api.options.pair;
  answer.target = shown ? shown->input.target : api.options.target;
  return answer;
}

}  // namespace

void get_models(const Call& call) {
  const ModelPointer chosen = call.api.shelf.find(call.text("model", ""));
  ModelsAnswer answer = answer_served(call.api, chosen ? chosen->model.get() : nullptr);
  answer.steps = call.api.shelf.steps();
  if (const std::optional<PictureOrder>& order = call.api.options.picture)
    answer.picture = PictureAnswer{order->format, order->width, order->panel};
  send_json(call.response, 200, to_json(answer));
}

void get_found_models(const Call& call) {
  FoundModelsAnswer answer;
  if (call.api.model != nullptr) answer.models.push_back(answer_model(*call.api.model));
  const ClientWatch client(call.api.stopping);
  for (const FoundModel& found : models_to_choose(client)) {
    client.check();
    if (call.api.model == nullptr || found.name == call.api.model->name) continue;
    if (const std::optional<ModelSummary> summary = describe_model(found.folder))
      answer.models.push_back(answer_model(found.name, found.built_in, summary->info));
  }
  send_json(call.response, 200, to_json(answer));
}

void post_session(const Call& call) {
  const JsonText json = parse_body(call.request().body);
  PostedInput input = posted(json.root(), call.api.options);
  if (json.root().has("edits"))
    input.edits = [&](const Session& session) { return edits_of(json.root()["edits"], session); };
  const auto [session, fresh] = call.api.sessions.post(input);
  send_json(call.response, fresh ? 201 : 200, to_json(answer_session(*session)));
}

void get_session(const Call& call) {
  send_json(call.response, 200, to_json(answer_session(*find_session(call))));
}

void delete_session(const Call& call) {
  call.api.sessions.drop(call.path("id"));
  call.response.status = 204;
}

void get_heads(const Call& call) {
  const SessionPointer session = find_session(call);
  const StackShape& stack = find_stack(*session, call);
  std::optional<int> only;
  if (call.request().has_param("layer"))
    only = layer_in_view(*session, stack, call.number("layer", 0, INT64_MIN, INT64_MAX));
  send_json(call.response, 200, to_json(answer_heads(*session, stack.stack, only)));
}

namespace {

constexpr auto kExportPatience = std::chrono::milliseconds(100);  // between checks whether to stop

ViewAddress view_of(const Parameters& parameters, const LiveSession& session) {
  const std::string text = parameters.required("view", "an address, as look/L2.H4");
  const ViewAddress view =
      reworded([&] { return parse_view(text, ViewHeads::kOptional); },
               [&](ErrorParts& parts) {  // not of one part of the address
                 if (!parts.argument.empty() && !parts.found.empty()) return;
                 parts.op = {};
                 parts.argument = "view";
                 parts.found = json_string(parts.found.empty() ? text : parts.found.text());
               });
  check_view(with_some_head(view, session.session()), session.session());
  return view;
}

// A file contains the scores of all heads.
void wait_for_scores(const LiveSession& session, Cancel& cancel) {
  LiveSession::Progress seen = session.progress();
  while (!seen.scored && !seen.failed) {
    cancel.check();
    seen = session.wait(seen.version, kExportPatience);
  }
}

}  // namespace

void get_export(const Call& call) {
  const SessionPointer session = find_session(call);
  call.choice("format", {"html"});
  const ViewAddress view = view_of(call, *session);
  require_ready(*session);
  const auto edits = compared_edits(view);
  const auto run = compared_run(view);
  check_other_side(view, edits || run);
  const SessionPointer edited = edits ? call.api.sessions.derive(session, *edits).session
                                : run ? call.api.sessions.find(run_id(*run))
                                      : nullptr;
  call.response.set_header("Content-Disposition", "attachment; filename=\"heed.html\"");
  send_long(call, {.session = session,
                   .type = "text/html; charset=utf-8",
                   .compute =
                       [session, edited, view](Cancel& cancel) {
                         wait_for_scores(*session, cancel);
                         if (edited) wait_for_scores(*edited, cancel);
                         const auto [shown, chosen] = with_chosen_head(
                             session->session(), [&] { return session->scores(); }, view);
                         return saved_page(page_sources(), *session, shown, kSavedBytes,
                                           edited.get(), chosen);
                       },
                   .urgent = false,
                   .named = false});
}

void post_picture(const Call& call) {
  const std::optional<PictureOrder>& order = call.api.options.picture;
  if (!order || call.api.pictured.exchange(true))
    refuse(404, "not_found",
           {.found = "no picture is awaited", .hint = "heed look --format svg does"});
  const bool failed = call.number("failed", 0, 0, 1) == 1;
  const bool refused = call.number("refused", 0, 0, 1) == 1;
  order->take(refused  ? PictureEnd::kRefused
              : failed ? PictureEnd::kFailed
                       : PictureEnd::kDrawn,
              call.request().body);
  call.response.status = 204;
}

}  // namespace heed::serve
