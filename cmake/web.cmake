# The page in the program: web/dist/{index.html,app.js,app.css,notebook.js,frames.js}, bundled by Node and gzipped here.
# Without HEED_PAGE the server says that it has none. A source distribution has the bundle alone.
set(page_source ${PROJECT_BINARY_DIR}/generated/page_files.cpp)
set(web ${PROJECT_SOURCE_DIR}/web)
set(dist)
set(dist_files)
if(HEED_PAGE)
  set(dist ${web}/dist)
  set(dist_files ${dist}/index.html ${dist}/app.js ${dist}/app.css ${dist}/notebook.js ${dist}/frames.js)
endif()
if(HEED_PAGE AND EXISTS ${web}/package.json)
  find_program(HEED_NODE node REQUIRED)
  find_program(HEED_NPM npm REQUIRED)
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web}/src/*.ts ${web}/src/*.css)
  add_custom_command(OUTPUT ${web}/node_modules/.package-lock.json
    COMMAND ${HEED_NPM} ci --no-audit --no-fund --silent
    DEPENDS ${web}/package.json ${web}/package-lock.json
    WORKING_DIRECTORY ${web} COMMENT "Installing what bundles the page" VERBATIM)
  add_custom_command(OUTPUT ${dist_files}
    COMMAND ${HEED_NODE} build.mjs
    DEPENDS ${web_sources} ${web}/build.mjs ${web}/index.html ${web}/app.css
            ${web}/node_modules/.package-lock.json
    WORKING_DIRECTORY ${web} COMMENT "Bundling the page" VERBATIM)
endif()
add_custom_command(OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -DDIST=${dist} -DOUT=${page_source} -P ${PROJECT_SOURCE_DIR}/cmake/page.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/page.cmake ${dist_files}
  COMMENT "Putting the page into the program" VERBATIM)
target_sources(heed_serve PRIVATE ${page_source})
