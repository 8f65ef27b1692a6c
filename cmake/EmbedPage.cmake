# Writes OUTPUT, a .cc with the report page's source: the template, the style, and the scripts as one. Run as a script:
#
#   cmake -DSOURCE=web -DOUTPUT=page_source.cc -P EmbedPage.cmake
#
# The scripts are ES modules, so that tests import them one by one. In the page they are one script: `import` lines
# and `export ` are removed, and a function around it all keeps names from the window. Comments and indents are left out of
# script and style: a page carries them each time. The page's content security policy allows this style and this script
# alone, by their SHA-256.
cmake_minimum_required(VERSION 3.25)

set(scripts format data series search fragment raster squarify lifetimes_layout dom legend stack steps step_detail timeline
            overview find lifetimes treemap compare tables plans view render main)

set(script "(function () {\n\"use strict\";\n")
foreach(name IN LISTS scripts)
  file(READ ${SOURCE}/${name}.mjs text)
  string(REGEX REPLACE "(^|\n)import [^\n]*" "\\1" text "${text}")
  string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
  string(REGEX REPLACE "\n *//[^\n]*" "" text "\n${text}")
  string(REGEX REPLACE "  +//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\n[\n ]+" "\n" text "${text}")
  string(REGEX REPLACE "([;{,(])\n" "\\1" text "${text}")
  string(APPEND script "${text}")
endforeach()
string(APPEND script "})();\n")
file(READ ${SOURCE}/page.css style)
string(REGEX REPLACE "/\\*[^*]*\\*/" "" style "${style}")
string(REGEX REPLACE "\n[\n ]+" "\n" style "${style}")
string(REGEX REPLACE " *([{};,]) *" "\\1" style "${style}")
file(READ ${SOURCE}/index.html template)
string(SHA256 script_hash "${script}")
string(SHA256 style_hash "${style}")

set(code "// Generated from web/ by cmake/EmbedPage.cmake.\n#include \"report/page/page_source.h\"\n\nnamespace onnx_mem {\n\n")
foreach(name template style script)
  if("${${name}}" MATCHES "\\)page\"")
    message(FATAL_ERROR "web/: )page\" ends a string of the generated source")
  endif()
endforeach()
foreach(name template style)
  string(APPEND code "const std::string_view kPage_${name} = R\"page(${${name}})page\";\n")
endforeach()
string(APPEND code "const std::string_view kPage_style_sha256 = \"${style_hash}\";\n")
string(APPEND code "const std::string_view kPage_script_sha256 = \"${script_hash}\";\n\n")
# No compiler has to take a literal of more than 65,536 bytes, and MSVC takes 16,380.
string(APPEND code "std::string PageScript() {\n  std::string script;\n")
while(NOT script STREQUAL "")
  string(SUBSTRING "${script}" 0 16000 piece)
  string(FIND "${piece}" "\n" end REVERSE)
  math(EXPR end "${end} + 1")
  string(SUBSTRING "${script}" 0 ${end} piece)
  string(SUBSTRING "${script}" ${end} -1 script)
  string(APPEND code "  script += R\"page(${piece})page\";\n")
endwhile()
string(APPEND code "  return script;\n}\n\n}  // namespace onnx_mem\n")
foreach(pair template=Template style_sha256=StyleSha256 script_sha256=ScriptSha256 style=Style)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 from)
  list(GET pair 1 to)
  string(REPLACE "kPage_${from} " "kPage${to} " code "${code}")
endforeach()
file(WRITE ${OUTPUT} "${code}")
