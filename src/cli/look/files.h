// `heed look` for programs: JSON, tab-separated values, NumPy arrays.
#pragma once

#include <optional>
#include <string>

#include "cli/terminal/output.h"
#include "heed/inspect/look.h"

namespace heed::cli {

/// As a field of TSV: tabs, line ends and backslashes as \t, \n, \\.
std::string escaped(const std::string& bytes);

/// The object that docs describe; rows are written one after the other.
void write_json(Output& output, const Look& look);

/// A header line, then one line a weight: layer, head, query, query_token, key, key_token, weight;
/// tabs, line ends and backslashes in tokens as \t, \n, \\. Of a pair query_text and key_text, A or
/// B, stand behind them.
void write_tsv(Output& output, const Look& look);

/// f32 [layers, heads, Tq, Tk]; a chosen layer or head leaves an extent of 1.
void write_weights_npy(Output& output, const SessionStack& stack, std::optional<int> layer,
                       std::optional<int> head);

/// f32 [T, vocabulary] or [T, width].
void write_array_npy(Output& output, const Tensor& array);

}  // namespace heed::cli
