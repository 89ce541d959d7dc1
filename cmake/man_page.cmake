# The manual page, of what the program says of itself: cmake -DHEED=heed -DVERSION=0.2.0 -DDATE=2026-11-23
# -DOUT=heed.1.gz -P man_page.cmake
function(said output)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env COLUMNS=80 NO_COLOR=1 LC_ALL=C.UTF-8 ${HEED} ${ARGN} --help
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")  # else a request of roff
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

said(help)
string(REGEX MATCHALL "\n  [a-z]+  " rows "${help}")
set(page ".TH HEED 1 \"${DATE}\" \"heed ${VERSION}\" \"User Commands\"\n.SH NAME\nheed \\- exact attention that can be seen through\n.SH SYNOPSIS\n.B heed\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n.SH DESCRIPTION\n.nf\n${help}.fi\n")
foreach(row IN LISTS rows)
  string(STRIP "${row}" command)
  said(help ${command})
  string(TOUPPER "heed ${command}" title)
  string(APPEND page ".SH ${title}\n.nf\n${help}.fi\n")
endforeach()
file(WRITE ${OUT}.roff "${page}")
execute_process(COMMAND gzip -9 -n -c ${OUT}.roff OUTPUT_FILE ${OUT} COMMAND_ERROR_IS_FATAL ANY)
