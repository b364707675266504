#include "attention_plasticity/outcomes/outcome_bytes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/outcomes/random_outcome_testing.h"

namespace attention_plasticity {
namespace {

bool is_refused(const std::string& bytes) {
  try {
    outcome_of_bytes(bytes);
    return false;
  } catch (const Error& error) {
    return error.kind() == ErrorKind::input;
  }
}

// Bytes are equal exactly when every member is, bit for bit, since each has its place in them.
RC_GTEST_PROP(OutcomeBytes, GiveBackTheOutcomeBitForBit, ()) {
  const HeadOutcome outcome = *random_outcome();
  const std::string bytes = outcome_bytes(outcome);
  const HeadOutcome read = outcome_of_bytes(bytes);
  RC_ASSERT(outcome_bytes(read) == bytes);
  RC_ASSERT(read.head == outcome.head);
  RC_ASSERT(read.measured.has_value() == outcome.measured.has_value());
  if (!outcome.measured) return;
  const HeadResult& one = outcome.measured->result;
  const HeadResult& other = read.measured->result;
  RC_ASSERT(std::bit_cast<std::uint64_t>(one.slope_norm) == std::bit_cast<std::uint64_t>(other.slope_norm));
  RC_ASSERT(one.examples == other.examples);
  RC_ASSERT(one.plasticity.cells.size() == other.plasticity.cells.size());
  RC_ASSERT(one.times.size() == other.times.size());
  RC_ASSERT(one.exact.has_value() == other.exact.has_value());
}

TEST(OutcomeBytes, TellAnyTwoMembersApart) {
  HeadOutcome outcome;
  outcome.measured = MeasuredHead{};
  const std::string plain = outcome_bytes(outcome);
  HeadResult& result = outcome.measured->result;
  const auto differs = [&](auto& member, const auto& value) {
    const auto before = member;
    member = value;
    const std::string bytes = outcome_bytes(outcome);
    EXPECT_NE(bytes, plain);
    EXPECT_EQ(outcome_bytes(outcome_of_bytes(bytes)), bytes);
    member = before;
  };
  differs(result.noise.median_ks_p, std::numeric_limits<double>::quiet_NaN());
  differs(result.window, std::optional<double>(512));
  differs(result.exact, std::optional<ExactPlasticity>(ExactPlasticity{}));
  differs(result.times, std::vector<TimePoint>(2));
  differs(result.scalar.mae_ratio, -0.0);
  differs(outcome.keys, std::optional<SideRecord>(SideRecord{}));
  differs(outcome.measured->without_group.groups, std::vector<std::size_t>{1, 2});
  differs(outcome.head.q_head, -1);
}

RC_GTEST_PROP(OutcomeBytes, AnyDamageIsFound, ()) {
  const std::string bytes = outcome_bytes(*random_outcome());
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  std::string damaged = bytes;
  damaged[at] = static_cast<char>(damaged[at] ^ (1 << *rc::gen::inRange(0, 8)));
  RC_ASSERT(is_refused(damaged));
  RC_ASSERT(is_refused(bytes.substr(0, at)));
  RC_ASSERT(is_refused(bytes + '\0'));
}

TEST(OutcomeBytes, EveryByteAndEveryLengthCounts) {
  HeadOutcome outcome;
  outcome.measured = MeasuredHead{};
  outcome.measured->result.examples = {1, 2, 3};
  const std::string bytes = outcome_bytes(outcome);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(~damaged[at]);
    ASSERT_TRUE(is_refused(damaged)) << at;
    ASSERT_TRUE(is_refused(bytes.substr(0, at))) << at;
  }
}

// A list may claim as many items as bytes are left, and its items take more memory than that.
TEST(OutcomeBytes, ListsThatClaimMoreItemsThanTheirBytesHoldAreRefused) {
  HeadOutcome outcome;
  outcome.measured = MeasuredHead{};
  outcome.measured->result.times.resize(2);
  outcome.measured->result.examples.assign(1000, 7);
  std::string bytes = outcome_bytes(outcome);
  bytes.resize(bytes.size() - 64);  // without the digest
  const std::string two("\2\0\0\0\0\0\0\0", 8);
  const std::string many("\0\x20\0\0\0\0\0\0", 8);  // 8192: below the bytes that follow, above what they can hold
  bool has_list = false;
  for (std::size_t at = bytes.find(two); at != std::string::npos; at = bytes.find(two, at + 1)) {
    std::string claimed = bytes;
    claimed.replace(at, 8, many);
    has_list = true;
    EXPECT_TRUE(is_refused(claimed + sha256(claimed))) << at;
  }
  EXPECT_TRUE(has_list);
}

}  // namespace
}  // namespace attention_plasticity
