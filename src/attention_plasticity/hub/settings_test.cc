#include "attention_plasticity/hub.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using Variables = std::map<std::string, std::string>;

HubSettings settings_of(const Variables& variables) {
  return hub_settings([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

fs::path cache_of(const Variables& variables) { return settings_of(variables).cache; }

std::string usage_error(const Variables& variables, const std::string& file = {}) {
  try {
    settings_of(variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.file(), file);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(HubSettings, AreThePythonClientsWithoutVariables) {
  const HubSettings settings = settings_of({{"HOME", "/home/ada"}});
  EXPECT_EQ(settings.endpoint, "https://huggingface.co");
  EXPECT_EQ(settings.token, "");
  EXPECT_EQ(settings.cache, "/home/ada/.cache/huggingface/hub");
  EXPECT_FALSE(settings.offline);
  EXPECT_TRUE(settings.use_symlinks);
  EXPECT_EQ(settings.answer_timeout, seconds{10});
  EXPECT_EQ(settings.stall_timeout, seconds{10});
  EXPECT_EQ(settings.ca_file, "");
  EXPECT_EQ(settings.ca_folder, "");
}

TEST(HubSettings, TakeEmptyVariablesAsNotSet) {
  Variables variables{{"HOME", "/home/ada"}};
  for (const char* name : {"HF_ENDPOINT", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME",
                           "HF_TOKEN", "HF_TOKEN_PATH", "HF_HUB_ETAG_TIMEOUT", "HF_HUB_OFFLINE", "SSL_CERT_FILE"}) {
    variables[name] = "";
  }
  const HubSettings settings = settings_of(variables);
  EXPECT_EQ(settings.endpoint, "https://huggingface.co");
  EXPECT_EQ(settings.cache, "/home/ada/.cache/huggingface/hub");
  EXPECT_EQ(settings.answer_timeout, seconds{10});
}

TEST(HubCacheFolder, IsTheMostSpecialOfItsVariables) {
  Variables variables{{"HOME", "/home/ada"}};
  variables["XDG_CACHE_HOME"] = "/xdg";
  EXPECT_EQ(cache_of(variables), "/xdg/huggingface/hub");
  variables["HF_HOME"] = "/hf/";
  EXPECT_EQ(cache_of(variables), "/hf/hub");
  variables["HUGGINGFACE_HUB_CACHE"] = "/legacy";
  EXPECT_EQ(cache_of(variables), "/legacy");
  variables["HF_HUB_CACHE"] = "/cache";
  EXPECT_EQ(cache_of(variables), "/cache");
}

TEST(HubCacheFolder, HasTheHomeFolderForATilde) {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    EXPECT_EQ(cache_of({{"HOME", "/home/ada/"}, {name, "~/x"}}), "/home/ada/x");
    EXPECT_EQ(cache_of({{"HOME", "/home/ada"}, {name, "~"}}), "/home/ada");
    EXPECT_EQ(cache_of({{"HOME", "/"}, {name, "~"}}), "/");
    EXPECT_EQ(cache_of({{"HOME", "/home/ada"}, {name, "x/~"}}), "x/~");
  }
  EXPECT_EQ(cache_of({{"HOME", "/home/ada"}, {"HF_HOME", "~/x"}}), "/home/ada/x/hub");
  EXPECT_EQ(cache_of({{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", "~/x"}}), "/home/ada/x/huggingface/hub");
  EXPECT_TRUE(mentions(usage_error({{"HOME", "/home/ada"}, {"HF_HOME", "~bob/x"}}), "'~bob/x'"));
}

TEST(HubCacheFolder, HasTheValuesOfVariables) {
  const auto cache = [](const std::string& value) {
    return cache_of({{"USER", "ada"}, {"A_1", "$USER"}, {"EMPTY", ""}, {"HF_HUB_CACHE", value}}).string();
  };
  EXPECT_EQ(cache("/d/$USER/x"), "/d/ada/x");
  EXPECT_EQ(cache("/d/${USER}x$USER"), "/d/adaxada");
  EXPECT_EQ(cache("/d/$A_1-"), "/d/$USER-") << "values are not replaced again";
  EXPECT_EQ(cache("/d/$EMPTY/${EMPTY}x"), "/d//x");
  for (const char* unchanged : {"/d/$UNSET/x", "/d/${UNSET}", "/d/$", "/d/${", "/d/${USER", "/d/${}", "/d/$/$-"}) {
    EXPECT_EQ(cache(unchanged), unchanged);
  }
}

TEST(HubCacheFolder, IsEmptyWithoutAHome) {
  EXPECT_EQ(cache_of({}), "");
  EXPECT_EQ(cache_of({{"HF_HOME", "~/x"}}), "");
  EXPECT_EQ(cache_of({{"HF_HUB_CACHE", "~/x"}}), "");
  EXPECT_EQ(cache_of({{"HF_HUB_CACHE", "/x"}}), "/x");
  EXPECT_EQ(settings_of({}).token, "");
}

TEST(HubEndpoint, LosesItsSlashes) {
  EXPECT_EQ(settings_of({{"HF_ENDPOINT", "http://127.0.0.1:8080//"}}).endpoint, "http://127.0.0.1:8080");
  EXPECT_EQ(settings_of({{"HF_ENDPOINT", "https://mirror/hub/"}}).endpoint, "https://mirror/hub");
  EXPECT_EQ(settings_of({{"HF_ENDPOINT", "https://[::1]:80"}}).endpoint, "https://[::1]:80");
}

TEST(HubEndpoint, IsAnAddressOfTheWebWithAHost) {
  for (const char* address :
       {"huggingface.co", "ftp://host", "file:///etc", "https:", "https:/host", "https://", "https:///", "https:///x",
        "http://:80", "https://host:x", "https://host:70000", "https://ho st", "https://host\n", "https://host?x",
        "https://host#x", "https://good\\x", "https://h\xc3\xb6st", "/"}) {
    EXPECT_TRUE(mentions(usage_error({{"HF_ENDPOINT", address}}), "HF_ENDPOINT")) << address;
  }
}

TEST(HubEndpoint, HasNoCredentialsAndNeverShowsThem) {
  for (const char* address : {"https://ada:secret@host", "https://secret@host/x", "ftp://ada:secret@host",
                              "https://ada:secret@host?x", "https://ada:secret@"}) {
    const std::string message = usage_error({{"HF_ENDPOINT", address}});
    EXPECT_TRUE(mentions(message, "HF_ENDPOINT")) << message;
    EXPECT_FALSE(mentions(message, "secret")) << message;
  }
  EXPECT_EQ(settings_of({{"HF_ENDPOINT", "https://host/@x"}}).endpoint, "https://host/@x");
}

TEST(HubToken, IsTheVariablesBeforeTheFiles) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "hf/token", "hf_file\n");
  write_file_atomically(folder / "other", "hf_other");
  Variables variables{{"HF_HOME", (folder / "hf").string()}};
  EXPECT_EQ(settings_of(variables).token, "hf_file");
  variables["HF_TOKEN_PATH"] = (folder / "other").string();
  EXPECT_EQ(settings_of(variables).token, "hf_other");
  variables["HUGGING_FACE_HUB_TOKEN"] = "hf_legacy";
  EXPECT_EQ(settings_of(variables).token, "hf_legacy");
  variables["HF_TOKEN"] = "hf_new";
  EXPECT_EQ(settings_of(variables).token, "hf_new");
  variables["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1";
  EXPECT_EQ(settings_of(variables).token, "");
}

TEST(HubToken, IsTheFilesWhenTheVariableIsBlank) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "token", "hf_file");
  EXPECT_EQ(settings_of({{"HF_HOME", folder.path().string()}, {"HF_TOKEN", " \r\n"}}).token, "hf_file");
}

TEST(HubToken, LosesLineBreaksAtItsEnds) {
  EXPECT_EQ(settings_of({{"HF_TOKEN", "\r\n hf_abc\t\n\n"}}).token, "hf_abc");
  const TemporaryFolder folder;
  write_file_atomically(folder / "token",
                        "\xEF\xBB\xBF"
                        "hf_file\r\n");
  EXPECT_EQ(settings_of({{"HF_HOME", folder.path().string()}}).token, "hf_file");
}

TEST(HubToken, WithOtherCharactersIsRefusedUnseen) {
  const TemporaryFolder folder;
  for (const std::string& token :
       {std::string("hf_sec\nret"), std::string("hf_sec\r\nX: ret"), std::string("hf_sec ret"),
        std::string("hf_sec\0ret", 10), std::string("hf_sec\x7fret"), std::string("hf_sec\xc3\xa4ret")}) {
    const std::string of_variable = usage_error({{"HF_TOKEN", token}});
    EXPECT_TRUE(mentions(of_variable, "HF_TOKEN")) << of_variable;
    EXPECT_FALSE(mentions(of_variable, "sec") || mentions(of_variable, "ret")) << of_variable;
    write_file_atomically(folder / "token", token);
    const std::string of_file = usage_error({{"HF_HOME", folder.path().string()}}, (folder / "token").string());
    EXPECT_FALSE(mentions(of_file, "sec") || mentions(of_file, "ret")) << of_file;
  }
}

TEST(HubToken, InAFileThatCannotBeReadIsAnError) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "token");
  const Variables variables{{"HF_HOME", folder.path().string()}};
  EXPECT_TRUE(mentions(usage_error(variables, (folder / "token").string()), "HF_TOKEN"));
  Variables others = variables;
  others["HF_TOKEN"] = "hf_abc";
  EXPECT_EQ(settings_of(others).token, "hf_abc") << "the file does not matter then";
  others["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "yes";
  EXPECT_EQ(settings_of(others).token, "") << "nor here";
}

/// While it lives, tests that run as the superuser are another user: they cannot read files without permission.
class AsNobody {
 public:
  AsNobody() {
    if (user_ == 0 && ::seteuid(65534) != 0) throw std::runtime_error("cannot become another user");
  }
  ~AsNobody() {
    if (user_ == 0 && ::seteuid(0) != 0) ADD_FAILURE() << "cannot become the superuser again";
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  uid_t user_ = ::geteuid();
};

TEST(HubToken, InAFileWithoutPermissionIsAnError) {
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_exec);
  write_file_atomically(folder / "token", "hf_abc");
  fs::permissions(folder / "token", fs::perms::none);
  const AsNobody nobody;
  usage_error({{"HF_HOME", folder.path().string()}}, (folder / "token").string());
}

TEST(HubToken, IsNoneWithoutItsFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(settings_of({{"HF_TOKEN_PATH", (folder / "none").string()}}).token, "");
  write_file_atomically(folder / "file", "");
  EXPECT_EQ(settings_of({{"HF_TOKEN_PATH", (folder / "file/token").string()}}).token, "");
  EXPECT_EQ(settings_of({{"HF_TOKEN_PATH", (folder / "file").string()}}).token, "");
}

TEST(HubSwitches, TakeFourWordsInAnyCase) {
  for (const char* word : {"1", "ON", "on", "yes", "True", "TRUE"}) {
    EXPECT_TRUE(settings_of({{"HF_HUB_OFFLINE", word}}).offline) << word;
    EXPECT_FALSE(settings_of({{"HF_HUB_DISABLE_SYMLINKS", word}}).use_symlinks) << word;
  }
  for (const char* word : {"", "0", "off", "no", "false", "2", "y", " 1"}) {
    EXPECT_FALSE(settings_of({{"HF_HUB_OFFLINE", word}}).offline) << word;
    EXPECT_TRUE(settings_of({{"HF_HUB_DISABLE_SYMLINKS", word}}).use_symlinks) << word;
  }
}

TEST(HubSwitches, GoOfflineWithTransformersUnlessToldOtherwise) {
  EXPECT_TRUE(settings_of({{"TRANSFORMERS_OFFLINE", "1"}}).offline);
  EXPECT_TRUE(settings_of({{"TRANSFORMERS_OFFLINE", "1"}, {"HF_HUB_OFFLINE", ""}}).offline);
  EXPECT_FALSE(settings_of({{"TRANSFORMERS_OFFLINE", "1"}, {"HF_HUB_OFFLINE", "0"}}).offline);
}

TEST(HubTimeouts, AreWholeSeconds) {
  const HubSettings settings = settings_of({{"HF_HUB_ETAG_TIMEOUT", "3"}, {"HF_HUB_DOWNLOAD_TIMEOUT", " 500 "}});
  EXPECT_EQ(settings.answer_timeout, seconds{3});
  EXPECT_EQ(settings.stall_timeout, seconds{500});
  EXPECT_EQ(settings_of({{"HF_HUB_ETAG_TIMEOUT", "0"}}).answer_timeout, seconds{10});
  for (const char* huge : {"1000001", "9223372036854775808", "99999999999999999999999999"}) {
    EXPECT_EQ(settings_of({{"HF_HUB_ETAG_TIMEOUT", huge}}).answer_timeout, seconds{1'000'000}) << huge;
  }
}

TEST(HubTimeouts, OfAnotherKindAreRefused) {
  for (const char* value :
       {"-1", "-99999999999999999999999999", "1.5", "10s", "ten", " ", "1 2", "0x10", "99999999999999999999999999x"}) {
    for (const char* name : {"HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT"}) {
      EXPECT_TRUE(mentions(usage_error({{name, value}}), name)) << value;
    }
  }
}

TEST(HubCertificates, AreThoseOfTheFirstVariable) {
  Variables variables{{"SSL_CERT_FILE", "/c.pem"}, {"SSL_CERT_DIR", "/certs"}};
  EXPECT_EQ(settings_of(variables).ca_file, "/c.pem");
  EXPECT_EQ(settings_of(variables).ca_folder, "/certs");
  variables["CURL_CA_BUNDLE"] = "/b.pem";
  EXPECT_EQ(settings_of(variables).ca_file, "/b.pem");
  variables["REQUESTS_CA_BUNDLE"] = "/a.pem";
  EXPECT_EQ(settings_of(variables).ca_file, "/a.pem");
}

TEST(HubCertificates, MayBeAFolder) {
  const TemporaryFolder folder;
  const HubSettings settings =
      settings_of({{"REQUESTS_CA_BUNDLE", folder.path().string()}, {"SSL_CERT_DIR", "/certs"}});
  EXPECT_EQ(settings.ca_file, "");
  EXPECT_EQ(settings.ca_folder, folder.path());
}

}  // namespace
}  // namespace attention_plasticity
