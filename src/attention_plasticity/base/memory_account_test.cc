#include "attention_plasticity/base/memory_account.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "attention_plasticity/base/counted_containers.h"
#include "attention_plasticity/base/large_vector.h"
#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/memory.h"

namespace attention_plasticity {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

TEST(MemoryAccount, HoldsUpToItsLimit) {
  MemoryAccount account(100);
  account.take(60);
  account.take(40);
  EXPECT_EQ(account.held(), 100U);
  account.give_back(50);
  account.take(20);
  EXPECT_EQ(account.held(), 70U);
  EXPECT_EQ(account.peak(), 100U);
  EXPECT_FALSE(account.refusal());
}

TEST(MemoryAccount, CountsNothingOfWhatItRefuses) {
  MemoryAccount account(100);
  account.take(60);
  try {
    account.take(41);
    FAIL();
  } catch (const OverMemoryLimit& over) {
    EXPECT_EQ(over.needed(), 101U);
    EXPECT_EQ(over.limit(), 100U);
  }
  EXPECT_EQ(account.held(), 60U);
  ASSERT_TRUE(account.refusal());
  EXPECT_EQ(account.refusal().value_or(OverMemoryLimit(0, 0)).needed(), 101U);
  EXPECT_THROW(account.take(~std::uint64_t{0}), OverMemoryLimit);
  EXPECT_EQ(account.held(), 60U);
  account.give_back(60);
}

TEST(MemoryAccount, TakesMoreThanItsReservationFromTheBudget) {
  MemoryBudget budget(10 * mib);
  ASSERT_TRUE(budget.take(2 * mib));
  {
    MemoryAccount account(budget, 2 * mib);
    account.take(2 * mib);
    EXPECT_EQ(budget.taken(), 2 * mib);
    account.take(1);
    EXPECT_EQ(budget.taken(), 3 * mib) << "in steps of a MiB";
    account.take(8 * mib - 1);
    EXPECT_EQ(budget.taken(), 10 * mib);
    EXPECT_THROW(account.take(1), OverMemoryLimit);
    account.give_back(9 * mib);
    EXPECT_EQ(budget.taken(), 10 * mib) << "it may need them again";
    account.settle();
    EXPECT_EQ(budget.taken(), mib);
    account.give_back(mib);
  }
  EXPECT_EQ(budget.taken(), 0U);
}

TEST(MemoryAccount, TakesTheLastBytesOfTheBudgetToo) {
  MemoryBudget budget(mib / 2);
  MemoryAccount account(budget, 0);
  account.take(mib / 2);
  EXPECT_THROW(account.take(1), OverMemoryLimit);
  account.give_back(mib / 2);
}

TEST(MemoryAccount, AloneTakesMoreOfTheBudgetThanIsFreeUpToItsOwnLimit) {
  MemoryBudget budget(100);
  budget.take_regardless(80);
  {
    const std::unique_ptr<MemoryAccount> account = MemoryAccount::alone(budget, 60);
    account->take(60);
    EXPECT_EQ(budget.taken(), 140U);
    EXPECT_THROW(account->take(1), OverMemoryLimit);
    account->give_back(50);
    account->settle();
    EXPECT_EQ(budget.taken(), 90U);
    account->give_back(10);
  }
  EXPECT_EQ(budget.taken(), 80U);
}

TEST(MemoryBudget, GivesAllOrNothing) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.take(100));
  EXPECT_FALSE(budget.take(1));
  budget.give_back(50);
  EXPECT_FALSE(budget.take(51));
  EXPECT_TRUE(budget.take(50));
  budget.take_regardless(10);
  EXPECT_EQ(budget.taken(), 110U);
  EXPECT_FALSE(budget.take(1));
  EXPECT_FALSE(budget.take(~std::uint64_t{0}));
}

TEST(MemoryBudget, IsSharedByThreads) {
  MemoryBudget budget(64 * mib);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&budget] {
      for (int round = 0; round < 500; ++round) {
        MemoryAccount account(budget, 0);
        account.take(16 * mib);
        account.give_back(16 * mib);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(budget.taken(), 0U);
}

TEST(MemoryScope, IsOfTheThreadAndNests) {
  MemoryAccount outer(100);
  MemoryAccount inner(100);
  EXPECT_EQ(MemoryAccount::current(), nullptr);
  const MemoryAccount::Scope of_outer(&outer);
  {
    const MemoryAccount::Scope of_inner(&inner);
    EXPECT_EQ(MemoryAccount::current(), &inner);
    std::jthread([] { EXPECT_EQ(MemoryAccount::current(), nullptr); }).join();
  }
  EXPECT_EQ(MemoryAccount::current(), &outer);
}

TEST(MemoryCharge, IsGivenBackInTheEnd) {
  MemoryAccount account(100);
  const MemoryAccount::Scope scope(&account);
  {
    MemoryCharge charge(30);
    charge.set(50);
    EXPECT_EQ(account.held(), 50U);
    charge.set(20);
    EXPECT_EQ(account.held(), 20U);
    EXPECT_THROW(charge.set(101), OverMemoryLimit);
    EXPECT_EQ(account.held(), 20U);
    const MemoryCharge moved = std::move(charge);
    EXPECT_EQ(account.held(), 20U);
  }
  EXPECT_EQ(account.held(), 0U);
}

TEST(MemoryCharge, CountsNothingWithoutAnAccount) {
  MemoryCharge charge(~std::uint64_t{0});
  charge.set(0);
}

template <class Container>
class CountedContainer : public testing::Test {};
using Containers = testing::Types<CountedVector<double>, LargeVector<double>>;
TYPED_TEST_SUITE(CountedContainer, Containers);

TYPED_TEST(CountedContainer, IsCountedWhereItWasMade) {
  MemoryAccount account(mib);
  MemoryAccount other(mib);
  TypeParam outside;
  {
    const MemoryAccount::Scope scope(&account);
    TypeParam values(1000);
    EXPECT_EQ(account.held(), 8000U);
    TypeParam moved = std::move(values);
    EXPECT_EQ(account.held(), 8000U);
    outside = std::move(moved);
  }
  EXPECT_EQ(account.held(), 8000U) << "the memory has moved, and its account with it";
  {
    const MemoryAccount::Scope scope(&other);
    const TypeParam copy = outside;
    EXPECT_EQ(other.held(), 8000U);
  }
  EXPECT_EQ(other.held(), 0U);
  outside = TypeParam();
  EXPECT_EQ(account.held(), 0U);
}

TYPED_TEST(CountedContainer, HoldsOldAndNewMemoryWhileItGrows) {
  MemoryAccount account(2000 * sizeof(double) - 1);
  const MemoryAccount::Scope scope(&account);
  TypeParam values(1000);
  EXPECT_THROW(values.reserve(1001), OverMemoryLimit);
  EXPECT_EQ(values.size(), 1000U);
  EXPECT_EQ(account.held(), 8000U);
}

TEST(CountedContainer, MapsAndMatricesAreCounted) {
  MemoryAccount account(mib);
  const MemoryAccount::Scope scope(&account);
  {
    CountedMap<int, int> map;
    map[3] = 4;
    EXPECT_GE(account.held(), 2 * sizeof(int));
    CountedHashMap<int, int> hash_map;
    hash_map[3] = 4;
    const std::uint64_t before = account.held();
    const Matrix matrix(10, 10);
    EXPECT_EQ(account.held(), before + 800);
  }
  EXPECT_EQ(account.held(), 0U);
}

TEST(KeptBlocks, AreGivenUpWhenTheirMemoryIsNeeded) {
  release_kept_memory();
  {
    const LargeVector<char> block(8 * mib);
  }
  ASSERT_EQ(kept_memory_bytes(), 8 * mib);
  MemoryAccount account(16 * mib);
  account.take(8 * mib);
  EXPECT_EQ(kept_memory_bytes(), 8 * mib) << "both fit";
  account.take(1);
  EXPECT_EQ(kept_memory_bytes(), 0U);
  account.give_back(8 * mib + 1);
}

}  // namespace
}  // namespace attention_plasticity
