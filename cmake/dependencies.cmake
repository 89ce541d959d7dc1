# Everything that heed takes from Debian, found once. The installed package reads this file too:
# a static library needs its dependencies again where it is linked.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # a project that adds heed as a folder links them too
find_package(fmt 9 REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HEED_UNICODE REQUIRED QUIET IMPORTED_TARGET GLOBAL libutf8proc libpcre2-8>=10.40)

if(NOT TARGET heed_unicode)
  add_library(heed_unicode INTERFACE IMPORTED GLOBAL)
  target_link_libraries(heed_unicode INTERFACE PkgConfig::HEED_UNICODE)
endif()
