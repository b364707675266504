#include "attention_plasticity/store/store_address.h"

#include <gtest/gtest.h>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

TEST(StoreAddress, IsToldFromAPathByItsScheme) {
  EXPECT_TRUE(is_store_address("s3://bucket/dump"));
  EXPECT_TRUE(is_store_address("http://host/dump"));
  EXPECT_FALSE(is_store_address("/data/dump"));
  EXPECT_FALSE(is_store_address("a folder://dump"));
  EXPECT_FALSE(is_store_address("://dump"));
  EXPECT_FALSE(is_store_address(""));
}

TEST(StoreAddress, ShowsNeitherCredentialsNorOptions) {
  const StoreAddress address("s3://KEYID:SE%2FCRET@bucket/a/dump/?region=eu-west-1&endpoint_override=host:1&token=T0K");
  EXPECT_EQ(address.scheme(), "s3");
  EXPECT_EQ(address.shown(), "s3://bucket/a/dump");
  EXPECT_EQ(address.recorded(), "s3://bucket/a/dump?region=eu-west-1&endpoint_override=host:1");
}

TEST(StoreAddress, KeepsTheNameOfAContainerOrUser) {
  EXPECT_EQ(StoreAddress("abfs://box:pass@account.dfs.core.windows.net/d").shown(),
            "abfs://box@account.dfs.core.windows.net/d");
  EXPECT_EQ(StoreAddress("hdfs://me@host:8020/d/").shown(), "hdfs://me@host:8020/d");
  EXPECT_EQ(StoreAddress("gs://anonymous@bucket/d").shown(), "gs://bucket/d");
  EXPECT_EQ(StoreAddress("file:///data/d@1").shown(), "file:///data/d@1");
}

TEST(StoreAddress, DoesNotShowASecretThatHoldsASlash) {
  const StoreAddress address("s3://KEYID:SE/CR@ET@bucket/dump");
  EXPECT_EQ(address.shown(), "s3://bucket/dump");
}

TEST(StoreAddress, DropsAnEndpointThatHoldsCredentials) {
  EXPECT_EQ(StoreAddress("s3://b/d?endpoint_override=http://u:p@host").recorded(), "s3://b/d");
}

TEST(StoreAddress, BlotsSecretsOutOfWordsOfOthers) {
  const StoreAddress address("s3://KEYID:SE%2FCRET@bucket/dump?session=T0K3N0F8");
  EXPECT_EQ(address.without_secrets("KEYID may not use SE/CRET or SE%2FCRET with T0K3N0F8"),
            "*** may not use *** or *** with ***");
  EXPECT_EQ(address.without_secrets("Cannot parse '" + address.full() + "'"), "Cannot parse 's3://bucket/dump'");
}

TEST(StoreAddress, DoesNotTakeAShortOptionForASecret) {
  const StoreAddress address("abfs://box@account/dump?sp=r&sr=c&sig=abcdefgh");
  EXPECT_EQ(address.without_secrets("Check the server, not abcdefgh"), "Check the server, not ***");
}

TEST(StoreAddress, OfAnotherSchemeIsRefusedWithoutBeingQuoted) {
  try {
    const StoreAddress address("ftp://me:secret@host/dump");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_STREQ(error.what(),
                 "ftp:// is no object store that can be used; addresses begin with s3://, gs://, abfs://, hdfs:// or "
                 "file://, and a dataset of the Hub is given as `dataset_name`");
  }
}

TEST(WithoutCredentials, LeavesAPathAlone) {
  EXPECT_EQ(without_credentials("/data/a:b@c"), "/data/a:b@c");
  EXPECT_EQ(without_credentials("s3://K:S@b/d"), "s3://b/d");
}

}  // namespace
}  // namespace attention_plasticity
