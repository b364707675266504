#include "attention_plasticity/base/address_secrets.h"

#include <gtest/gtest.h>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

TEST(AddressSecrets, AreTakenOutOfASentence) {
  EXPECT_EQ(without_address_secrets("s3://KEY:SE/CRET@bucket/dump?region=eu&token=abc/run.json: does not exist"),
            "s3://bucket/dump?region=eu&token=***: does not exist");
  EXPECT_EQ(without_address_secrets("cannot read 's3://KEY:SECRET@b' and `gs://KEY@c/d`; why?"),
            "cannot read 's3://b' and `gs://c/d`; why?");
  EXPECT_EQ(without_address_secrets("https://me:word@host/a@b?c=d"), "https://host/a@b?c=d");
}

TEST(AddressSecrets, GoWhereAPathHasLostASlash) {
  EXPECT_EQ(without_address_secrets("s3:/KEY:SECRET@bucket/run.json"), "s3:/bucket/run.json");
}

TEST(AddressSecrets, LeaveTheNameOfAContainerOrUser) {
  EXPECT_EQ(without_address_secrets("abfs://box:pass@account.net/d"), "abfs://box@account.net/d");
  EXPECT_EQ(without_address_secrets("hdfs://me@host:8020/d"), "hdfs://me@host:8020/d");
}

TEST(AddressSecrets, GoWhereTheirSignIsMissing) {
  EXPECT_EQ(without_address_secrets("abfs://box:c2VjcmV0c2Vjcm"), "abfs://box:***");
}

TEST(AddressSecrets, OtherTextIsUnchanged) {
  for (const char* text :
       {"", "addresses begin with s3://, gs://, or file://", "s3://bucket/dump: no heads", "hdfs://host:8020/d: no",
        "s3://b/d?endpoint_override=127.0.0.1:9000&scheme=http", "file:///data/a:b@c", "/data/a:/b@c", "C:/a@b",
        "https://host:80/x?y=z", "12:/34", "me@host:/data", "s3:", "s3://", "a ://b@c"}) {
    EXPECT_EQ(without_address_secrets(text), text);
  }
}

TEST(AddressSecrets, AreNotInErrors) {
  EXPECT_STREQ(Error(ErrorKind::input, "there is no s3://KEY:SECRET@bucket/x").what(), "there is no s3://bucket/x");
}

TEST(AddressSecrets, AreTakenOutBeforeATextIsCut) {
  const std::string secret(90, 'S');
  EXPECT_EQ(quoted_text("abfs://box:" + secret + "@account/x"), "'abfs://box@account/x'");
}

}  // namespace
}  // namespace attention_plasticity
