#include "bootstrap/slurm/exact_layout.h"

#include <gtest/gtest.h>

namespace muster::slurm {
namespace {

using Layout = SlurmAnswer::Layout;
using Components = std::vector<std::optional<Layout>>;

const Placement kKnown = {{{"gpu01", 1}, {"gpu02", 1}, {"gpu03", 2}}, {}};

TEST(ExactLayout, OfAnArbitraryStep) {
  const Components one = {Layout{{"gpu03", {0, 2}}, {"gpu01", {1}}, {"gpu02", {3}}}};
  const auto exact = ExactLayout(kKnown, one, "gpu03", {0, 2});
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->nodes, kKnown.nodes);
  EXPECT_EQ(exact->node_of_rank, (std::vector<int>{2, 0, 2, 1}));
}

// Component 0 on gpu03, component 1 on the two before it in the list; a third takes no part.
TEST(ExactLayout, OfAHeterogeneousStep) {
  const Components three = {Layout{{"gpu03", {0, 1}}}, std::nullopt, Layout{{"gpu01", {0}}, {"gpu02", {1}}}};
  const auto exact = ExactLayout(kKnown, three, "gpu01", {2});
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->node_of_rank, (std::vector<int>{2, 2, 0, 1}));
}

// The same inside one job.
TEST(ExactLayout, OfAHeterogeneousStepOfOneJob) {
  const Components one = {Layout{{"gpu03", {0, 1}}, {"gpu01", {0}}, {"gpu02", {1}}}};
  const auto exact = ExactLayout(kKnown, one, "gpu01", {2});
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->node_of_rank, (std::vector<int>{2, 2, 0, 1}));
}

TEST(ExactLayout, SaysHowManyWhereThatWasNotKnown) {
  const Placement known = {{{"a", 0}, {"b", 0}}, {}};
  const auto exact = ExactLayout(known, {Layout{{"a", {0, 2}}, {"b", {1}}}}, "b", {1});
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->nodes, (SharedList<Placement::Node>{{"a", 2}, {"b", 1}}));
}

TEST(ExactLayout, OfAnotherStepIsNone) {
  const auto fits = [](const Components& components, const std::vector<int>& here) {
    return ExactLayout(kKnown, components, "gpu03", here).has_value();
  };
  const Layout right = {{"gpu01", {1}}, {"gpu02", {3}}, {"gpu03", {0, 2}}};
  EXPECT_TRUE(fits({right}, {2, 0}));
  EXPECT_FALSE(fits({right}, {0, 1})) << "these ranks are elsewhere";
  EXPECT_FALSE(fits({}, {0, 2}));
  EXPECT_FALSE(fits({std::nullopt}, {0, 2}));
  EXPECT_FALSE(fits({Layout{}}, {0, 2}));
  EXPECT_FALSE(fits({Layout{{"gpu01", {1}}, {"gpu02", {3}}, {"gpu04", {0, 2}}}}, {0, 2})) << "another node";
  EXPECT_FALSE(fits({Layout{{"gpu01", {1, 3}}, {"gpu03", {0, 2}}}}, {0, 2})) << "a node without tasks";
  EXPECT_FALSE(fits({Layout{{"gpu01", {1}}, {"gpu02", {2}}, {"gpu03", {0, 2}}}}, {0, 2})) << "one twice";
  EXPECT_FALSE(fits({Layout{{"gpu01", {1}}, {"gpu02", {4}}, {"gpu03", {0, 2}}}}, {0, 2})) << "a gap";
  EXPECT_FALSE(fits({right, Layout{{"gpu01", {0}}}}, {0, 2})) << "too many";
}

}  // namespace
}  // namespace muster::slurm
