# Installing: headers, library and program.
install(DIRECTORY include/heed DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS heed ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET heed_program)
  install(TARGETS heed_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY models DESTINATION ${CMAKE_INSTALL_DATADIR}/heed)
