# Everything that heed takes from Debian, found once. The installed package reads this file too:
# a static library needs its dependencies again where it is linked.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # a project that adds heed as a folder links them too
find_package(fmt 9 REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HEED_UTF8PROC REQUIRED QUIET IMPORTED_TARGET GLOBAL libutf8proc)

if(NOT TARGET heed_utf8proc)
  add_library(heed_utf8proc INTERFACE IMPORTED GLOBAL)
  target_link_libraries(heed_utf8proc INTERFACE PkgConfig::HEED_UTF8PROC)
endif()
