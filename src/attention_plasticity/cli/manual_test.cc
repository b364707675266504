#include "attention_plasticity/cli/manual.h"

#include <gtest/gtest.h>

namespace attention_plasticity {
namespace {

TEST(ManualPage, EscapesWhatRoffWouldRead) {
  const Field flag{"out_put", ValueType::text, "FILE", ".hidden\\name -x\n'quoted", "", {}};
  const Command command{"plan", "", "Plan.", {flag}, {{"plan --out_put 'a b'", ".An example."}}};
  const std::string page = manual_page(std::vector{command}, "1.2.3");
  EXPECT_TRUE(
      page.starts_with(".TH ATTENTION\\-PLASTICITY 1 \"\" \"attention\\-plasticity 1.2.3\" \"User Commands\"\n"));
  EXPECT_NE(page.find(".TP\n\\fB\\-\\-out_put\\fR \\fIFILE\\fR\n\\&.hidden\\ename \\-x\n\\&'quoted\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find(".PP\n\\&.An example.\n.PP\n.nf\n.RS 4\nplan \\-\\-out_put 'a b'\n.RE\n.fi\n"), std::string::npos)
      << page;
  for (const char* section : {".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH SUBCOMMANDS", ".SH EXIT STATUS",
                              ".SH EXAMPLES", ".SH ENVIRONMENT"}) {
    EXPECT_NE(page.find(std::string("\n") + section + "\n"), std::string::npos) << section;
  }
}

}  // namespace
}  // namespace attention_plasticity
