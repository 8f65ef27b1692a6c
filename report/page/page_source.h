// The report page's source (web/), which the build turns into strings (cmake/EmbedPage.cmake).
#ifndef ONNX_MEM_REPORT_PAGE_PAGE_SOURCE_H_
#define ONNX_MEM_REPORT_PAGE_PAGE_SOURCE_H_

#include <string>
#include <string_view>

namespace onnx_mem {

extern const std::string_view kPageTemplate;  // {{name}} stands for what the program fills in
extern const std::string_view kPageStyle;
extern const std::string_view kPageStyleSha256;  // hexadecimal
extern const std::string_view kPageScriptSha256;
std::string PageScript();

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PAGE_PAGE_SOURCE_H_
