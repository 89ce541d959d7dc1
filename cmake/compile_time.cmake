# What keeps the build short. Core-seconds of one small file of `ops` on a Zen 4 (g++ 12.2): 2.3 with
# -O3 and its own headers, 1.8 with -O2, 1.2 with the headers compiled once.

# The headers that nearly every file reads, compiled once (5 core-seconds) for all targets: what lends
# them has no definitions but fmt's, since a target may have more than the lender, never fewer. With a
# shared library, which is position independent, each target compiles them itself.
set(HEED_COMMON_HEADERS <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <limits> <map>
  <memory> <optional> <span> <string> <string_view> <utility> <vector> <fmt/format.h>)
add_library(heed_headers OBJECT cmake/common_headers.cpp)
target_link_libraries(heed_headers PRIVATE ${HEED_FMT})
target_precompile_headers(heed_headers PRIVATE ${HEED_COMMON_HEADERS})
function(heed_precompile target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${HEED_FMT}>)
  if(BUILD_SHARED_LIBS)
    target_precompile_headers(${target} PRIVATE ${HEED_COMMON_HEADERS})
  else()
    target_precompile_headers(${target} REUSE_FROM heed_headers)
  endif()
endfunction()

# How a target of heed's own compiles: with the shared headers, at a level, in folders.
function(heed_compile target level)
  heed_precompile(${target})
  heed_optimise(${target} ${level})
  heed_unity(${target})
endfunction()

# -O3 stays where arithmetic is done; the level is given last, so it holds.
function(heed_optimise target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
endfunction()

# Compiles many files as one, so that their headers are read once: a build from nothing takes less than
# half of the core-seconds, the build after an edit takes longer. A folder is one file, and so are the folders
# of a line below. models took 17 core-seconds alone, and takes 18 together with nn.
# Kernels, which are compiled once for every instruction set, stay alone or go to heed_kernels_together.
# g++ collects garbage from 128 MB of heap on, which takes 6 % of the time of a unit that needs 900 MB. From 1 GiB on,
# such a unit takes 1.1 GB.
option(HEED_UNITY "Compile the files of a folder as one" OFF)
if(HEED_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=1048576)
endif()
set(HEED_TOGETHER
  "src/base" "src/(tensor|attention)(/.*)?" "src/ops(/.*)?" "src/text(/.*)?" "src/(base/formats|io|generate|ranks)"
  "src/(nn|models)" "src/(onnx|train)(/.*)?"
  "src/inspect/(heads|evidence|session)" "src/inspect/(rows|map|golden|saved|answers)"
  "src/cli(/options|/terminal|/bench|/attend)?")
set(HEED_KERNELS "/attention/(sweep/|observe/tile_sums)|/ops/kernels/")
set(HEED_PLAIN_KERNELS "/ops/kernels/(blocks|embedding|matmul|matmul_(bytes|few|panels))\\.cpp$")
function(heed_unity target)
  if(NOT HEED_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    file(RELATIVE_PATH group ${PROJECT_SOURCE_DIR} ${folder})
    if(source MATCHES "${HEED_KERNELS}" AND NOT source MATCHES "${HEED_PLAIN_KERNELS}")
      continue()
    endif()
    foreach(folders IN LISTS HEED_TOGETHER)
      if("${group}/" MATCHES "^${folders}/$")
        string(REGEX REPLACE "[^a-z]+" "_" group "${folders}")
        break()
      endif()
    endforeach()
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${group})
  endforeach()
endfunction()

# Replaces kernels of ops/kernels in the list `sources` by one file that includes them all. A small kernel
# spends most of its compile time on Highway's headers, which each file reads once per instruction set: ten
# kernels took 29 core-seconds alone and take 8 together.
function(heed_kernels_together sources name)
  if(NOT HEED_UNITY)
    return()
  endif()
  set(file ${PROJECT_BINARY_DIR}/generated/${name}.cpp)
  set(again "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"${file}\"\n")
  set(text "${again}#include \"hwy/foreach_target.h\"\n")
  set(left ${${sources}})
  foreach(kernel IN LISTS ARGN)
    string(APPEND text "#include \"ops/kernels/${kernel}.cpp\"\n")
    list(REMOVE_ITEM left ${PROJECT_SOURCE_DIR}/src/ops/kernels/${kernel}.cpp)
  endforeach()
  # Each kernel has set HWY_TARGET_INCLUDE to its own name: the last line sets it back.
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}${again}")
  set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${sources} ${left} ${file} PARENT_SCOPE)
endfunction()

# The same for tests and bindings: every `size` files are one. A name may be defined in one file of the
# target alone, unless the files have namespaces of their own; what several need goes to a header beside them.
function(heed_batches target size)
  if(HEED_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()
