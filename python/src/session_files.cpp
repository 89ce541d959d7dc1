// The page of a session as one file, and pictures of it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/wording.h"
#include "cli/look/browser.h"
#include "cli/look/view.h"
#include "computing.h"
#include "heed/error.h"
#include "inspect/saved/saved_page.h"
#include "inspect/session/visible_keys.h"
#include "io/atomic_file.h"
#include "serve/page_sources.h"
#include "session.h"

namespace heed::python {
namespace {

// The page's initial view.
struct Viewed {
  std::optional<std::string> view;  // an address; empty: from the other fields
  cli::ViewOptions options;
};

void score(LiveSession& live) {
  Overviews none_kept(0);  // a file makes its own
  while (live.work(interpreter_ends, none_kept)) {
  }
  if (const std::exception_ptr failed = live.progress().failed) std::rethrow_exception(failed);
}

// The page's own copy of the session with every head's statistics: nobody writes to it afterwards.
SessionPointer live_of(HeldSession& held) {
  if (held.live) return held.live;
  const SessionPointer live = computing([&] {
    SessionPointer made = live_session(held, "saved");
    score(*made);
    return made;
  });
  held.live = live;
  return live;
}

// Replaces --who and similar names by keywords.
void name_keywords(ErrorParts& parts) {
  for (Phrase* const part : {&parts.op, &parts.argument})
    if (part->text().starts_with("--")) *part = part->text().substr(2);
}

ViewAddress read_view(const std::string& address, const char* argument, ViewHeads heads) {
  const auto read = [&] { return parse_view(address, heads); };
  return reworded(read, [&](ErrorParts& parts) {
    if (!parts.argument.empty() && !parts.found.empty()) return;
    parts.op = {};
    parts.argument = argument;
    parts.found = "\"" + address + "\"";
  });
}

// A link names its own model and text, which differ from this session's.
void check_address(const HeldSession& held, const std::string& address) {
  const ViewAddress view = read_view(address, "address", ViewHeads::kNamed);
  if (view.text.empty() && view.model.empty()) check_view(view, held.session);
}

ShownView view_of(const Viewed& viewed, const LiveSession& live) {
  cli::ViewOptions options = viewed.options;
  if (viewed.view) {
    const ViewAddress view = read_view(*viewed.view, "view", ViewHeads::kOptional);
    check_view(with_some_head(view, live.session()), live.session());
    if (!view.places.empty()) return {view};
    options.view = *viewed.view;  // heed chooses the head
  }
  return reworded(
      [&] { return cli::view_of(options, live.session(), [&] { return live.scores(); }); },
      name_keywords);
}

std::string html(HeldSession& held, const Viewed& viewed) {
  const SessionPointer live = live_of(held);
  return computing([&] {
    const auto [view, chosen] = view_of(viewed, *live);
    SessionPointer edited;
    if (compared_run(view)) {
      edited = live_beside(held);
      if (edited) score(*edited);
    } else if (held.model) {
      edited = edited_side(*live, *held.model, view, interpreter_ends);
    }
    return saved_page(serve::page_sources(), *live, view, kSavedBytes, edited.get(), chosen);
  });
}

nb::bytes picture(HeldSession& held, const Viewed& viewed, const std::string& format, int width,
                  bool dark) {
  const std::string program = cli::find_browser(format, "html");
  const SessionPointer live = live_of(held);
  SignalWatch watch;
  const auto check = [&] {
    if (watch()) fail({.code = ErrorCode::kInterrupted, .found = "stopped"});
  };
  return as_bytes(computing([&] {
    return cli::draw_picture(live, view_of(viewed, *live).view,
                             {.format = format,
                              .width = width,
                              .dark = dark,
                              .program = program,
                              .model = held.model.get(),
                              .beside = live_beside(held),
                              .check = check});
  }));
}

void init_viewed(Viewed* self, std::optional<std::string> view,
                 const std::optional<std::string>& stack, std::optional<int> layer,
                 std::optional<int> head, const std::string& who, const std::string& to) {
  std::optional<Stack> of;
  if (stack) of = stack_of(*stack);
  new (self) Viewed{.view = std::move(view),
                    .options = {.stack = of, .layer = layer, .head = head, .who = who, .to = to}};
}

}  // namespace

void bind_session_files(nb::module_& module) {
  nb::class_<Viewed>(module, "Viewed")
      .def("__init__", &init_viewed, nb::arg("view").none(), nb::arg("stack").none(),
           nb::arg("layer").none(), nb::arg("head").none(), nb::arg("who"), nb::arg("to"));
  module.def("check_address", &check_address, nb::arg("session"), nb::arg("address"));
  module.def("session_html", &html, nb::arg("session"), nb::arg("viewed"));
  module.def("session_picture", &picture, nb::arg("session"), nb::arg("viewed"), nb::arg("format"),
             nb::arg("width"), nb::arg("dark"));
  module.def(
      "write_file",
      [](const std::string& path, const nb::bytes& content) {
        write_file(path, {content.c_str(), content.size()});
      },
      nb::arg("path"), nb::arg("content"), "The file appears whole or not at all.");
}

}  // namespace heed::python
