// `heed look` for programs: JSON, tab-separated values, NumPy arrays.
#pragma once

#include <optional>

#include "cli/terminal/output.h"
#include "heed/inspect/look.h"

namespace heed::cli {

/// The object that docs describe; rows are written one after the other.
void write_json(Output& output, const Look& look);

/// A header line, then one line a weight: layer, head, query, query_token, key, key_token, weight;
/// tabs, line ends and backslashes in tokens as \t, \n, \\.
void write_tsv(Output& output, const Look& look);

/// f32 [layers, heads, Tq, Tk]; a chosen layer or head leaves an extent of 1.
void write_weights_npy(Output& output, const SessionStack& stack, std::optional<int> layer,
                       std::optional<int> head);

/// f32 [T, vocabulary] or [T, width].
void write_array_npy(Output& output, const Tensor& array);

}  // namespace heed::cli
