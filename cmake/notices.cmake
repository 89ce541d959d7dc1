# THIRD_PARTY.md in the program, for `heed --licences`.
set(notices ${PROJECT_SOURCE_DIR}/THIRD_PARTY.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${notices})
file(READ ${notices} NOTICES)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/notices.cpp CONTENT
  "#include \"cli/program.h\"\n\nstd::string_view heed::cli::notices() { return R\"notices(@NOTICES@)notices\"; }\n" @ONLY)
target_sources(heed_cli PRIVATE ${PROJECT_BINARY_DIR}/generated/notices.cpp)
