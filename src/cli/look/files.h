// What `heed look` writes to files: for programs, as pictures, and as the page.
#pragma once

#include <optional>
#include <string>

#include "cli/look/memory.h"
#include "cli/look/view.h"
#include "cli/terminal/output.h"
#include "heed/inspect/look.h"
#include "heed/models/registry.h"

namespace heed::cli {

/// As a field of TSV: tabs, line ends and backslashes as \t, \n, \\.
std::string escaped(const std::string& bytes);

/// The object that docs describe; rows are written one after the other.
void write_json(Output& output, const Look& look);

/// A header line, then one line a weight: layer, head, query, query_token, key, key_token, weight;
/// tabs, line ends and backslashes in tokens as \t, \n, \\. Of a pair query_text and key_text, A or
/// B, stand behind them.
void write_tsv(Output& output, const Look& look);

/// f32 [layers that are kept, heads, Tq, Tk]; a chosen layer or head leaves an extent of 1.
void write_weights_npy(Output& output, const Session& session, Stack stack,
                       std::optional<int> layer, std::optional<int> head);

/// f32 [T, vocabulary] or [T, width].
void write_array_npy(Output& output, const Tensor& array);

struct LookFileOptions {
  std::string format;  // svg, png or html
  std::string text;
  std::optional<std::string> pair = {};
  std::optional<std::string> target = {};
  ViewOptions view;
  MemoryOptions memory = {};
  int width = 1440;
  bool dark = false;
  std::optional<std::string> panel = {};  // of svg and png: this part of the view alone
};

/// The file's content. html needs nothing; svg and png are drawn by the page in a browser without a
/// window (kNotFound where there is none).
std::string look_file(const LoadedModel& model, const LookFileOptions& options);

}  // namespace heed::cli
