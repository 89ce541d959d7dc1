# CTest includes this when it reads its tests. It registers one CTest test per table of cases
# (INSTANTIATE_TEST_SUITE_P, typed tests), because a process per case takes 18 ms longer than the case itself.
# A table with more than 100 cases is cut into shards. heed_tables_of is the test program.
if(NOT EXISTS "${heed_tables_of}")
  return()
endif()
if(NOT EXISTS "${heed_tables_file}" OR NOT "${heed_tables_file}" IS_NEWER_THAN "${heed_tables_of}" OR
   NOT "${heed_tables_file}" IS_NEWER_THAN "${CMAKE_CURRENT_LIST_FILE}")
  execute_process(COMMAND "${heed_tables_of}" --gtest_list_tests --gtest_filter=*/*
    OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[][;]" "_" listed "${listed}")  # values of parameters, which would cut the list
  string(REPLACE "\n" ";" listed "${listed}")
  set(suites)
  foreach(line IN LISTS listed)
    if(line MATCHES "^  ")
      math(EXPR cases_${suite} "${cases_${suite}} + 1")
    elseif(line MATCHES "^([A-Za-z0-9_/]+)\\.")
      set(suite ${CMAKE_MATCH_1})
      set(cases_${suite} 0)
      list(APPEND suites ${suite})
    endif()
  endforeach()
  set(script)
  foreach(suite IN LISTS suites)
    math(EXPR shards "(${cases_${suite}} + 99) / 100")
    set(cases "${suite}.*/*")  # not the tests of the suite that are no table
    if(suite MATCHES "/[0-9]+$")  # typed
      set(cases "${suite}.*")
    endif()
    foreach(shard RANGE 1 ${shards})
      set(name "${suite}")
      if(shards GREATER 1)
        string(APPEND name ".${shard}_of_${shards}")
      endif()
      math(EXPR index "${shard} - 1")
      string(APPEND script "add_test([==[${name}]==] \"${heed_tables_of}\" --gtest_filter=${cases})\n"
        "set_tests_properties([==[${name}]==] PROPERTIES WORKING_DIRECTORY \"${heed_tables_folder}\"\n"
        "  SKIP_REGULAR_EXPRESSION \"PASSED  . 0 tests\"\n"
        "  ENVIRONMENT \"GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}\")\n")
    endforeach()
  endforeach()
  file(WRITE "${heed_tables_file}" "${script}")
endif()
include("${heed_tables_file}")
