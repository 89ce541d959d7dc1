// Arrays that come by DLPack.
#pragma once

#include "arrays.h"

namespace heed::python {

/// By `__dlpack__`.
Borrowed from_capsule(const char* argument, nb::handle object);

/// By the table of functions that a type may offer, which spares the calls through Python (PyTorch
/// from 2.10 on: 0.4 us in place of 3 us).
struct DlExchange;
const DlExchange* exchange_of(const char* argument, nb::handle object);  // null: it has none
Borrowed from_exchange(const char* argument, nb::handle object, const DlExchange& exchange,
                       Hold hold);

}  // namespace heed::python
