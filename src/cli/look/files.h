// The files that `heed look` writes: data for programs, pictures, and the page.
#pragma once

#include <optional>
#include <string>

#include "cli/look/look_options.h"
#include "cli/terminal/output.h"
#include "heed/look.h"
#include "heed/model.h"

namespace heed::cli {

/// Escaped for a TSV field: tabs, line ends and backslashes as \t, \n, \\.
std::string escaped(const std::string& bytes);

/// The JSON object described in the docs, written row by row.
void write_json(Output& output, const Look& look);

/// A header line, then one line per weight: layer, head, query, query_token, key, key_token,
/// weight; tabs, line ends and backslashes in tokens as \t, \n, \\. For a pair, followed by
/// query_text and key_text, A or B.
void write_tsv(Output& output, const Look& look);

/// f32 [layers that are kept, heads, Tq, Tk]; a chosen layer or head leaves an extent of 1.
void write_weights_npy(Output& output, const Session& session, Stack stack,
                       std::optional<int> layer, std::optional<int> head);

/// f32 [T, vocabulary] or [T, width].
void write_array_npy(Output& output, const Tensor& array);

/// The content of a svg, png or html file. html needs nothing; svg and png are drawn by the page in
/// a headless browser (kNotFound if there is none).
std::string look_file(const LoadedModel& model, const LookOptions& options);

}  // namespace heed::cli
