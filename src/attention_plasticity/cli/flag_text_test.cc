#include "attention_plasticity/cli/flag_text.h"

#include <gtest/gtest.h>

namespace attention_plasticity {
namespace {

TEST(FlagText, TurnsFieldsIntoFlags) {
  EXPECT_EQ(with_flags("pass `rope_theta`, or `rope: none` for a model without rotation"),
            "pass --rope_theta, or --rope none for a model without rotation");
  EXPECT_EQ(with_flags("a plan needs `keep`"), "a plan needs --keep");
}

TEST(FlagText, KeepsEverythingElse) {
  for (const char* text : {"", "no field", "`attention-plasticity inspect` lists them", "one ` alone", "`unknown: 1`",
                           "`a` and ` and `b`"}) {
    EXPECT_EQ(with_flags(text), text);
  }
  EXPECT_EQ(with_flags("`inspect x` lists `layers`"), "`inspect x` lists --layers");
}

}  // namespace
}  // namespace attention_plasticity
