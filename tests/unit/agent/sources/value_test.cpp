#include "agent/sources/value.h"

#include <doctest/doctest.h>

#include <string>

using namespace nobs::sources;

TEST_CASE("a number is decimal digits and at most one newline") {
  CHECK(parse_number("0\n") == 0);
  CHECK(parse_number("8") == 8);  // core_count has no newline
  CHECK(parse_number("18446744073709551615\n") == 18446744073709551615ULL);
  for (const char* wrong : {"", "\n", "-1\n", "+1\n", " 1\n", "1 \n", "1\n\n", "0x10\n", "1.0\n",
                            "18446744073709551616\n", "busy\n", "1\n2\n", "device_unreachable\n"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_number(wrong));
  }
  CHECK_FALSE(parse_number(std::string("1\0\n", 3)));
}

TEST_CASE(
    "a serial number has 16 lower-case digits, or is an empty line while the firmware is "
    "unreadable") {
  CHECK(parse_serial("19fcda00f5ff6eb9\n") == "19fcda00f5ff6eb9");
  CHECK(parse_serial("\n") == "");
  CHECK_FALSE(parse_serial(""));
  CHECK_FALSE(parse_serial("19fcda00f5ff6eb\n"));
  CHECK_FALSE(parse_serial("19FCDA00F5FF6EB9\n"));
}

TEST_CASE("an empty line of components is health, an empty read is no value") {
  REQUIRE(parse_components("\n"));
  CHECK(parse_components("\n")->names.empty());
  CHECK_FALSE(parse_components(""));
  CHECK(parse_components("hbm,link_efa\n")->names == std::vector<std::string>{"hbm", "link_efa"});
  CHECK(parse_components("a_future_name\n")->names.size() == 1);
  CHECK(parse_components("device_unreachable\n")->unreachable);
  for (const char* wrong : {",\n", "hbm,\n", "hbm, sram\n", "HBM\n", "hbm2\n", "0\n"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_components(wrong));
  }
}

TEST_CASE("a heartbeat is 0 to 255, or says that the device cannot be reached") {
  CHECK(parse_heartbeat("255\n")->sequence == 255);
  CHECK(parse_heartbeat("device_unreachable\n")->unreachable);
  CHECK_FALSE(parse_heartbeat("256\n"));
  CHECK_FALSE(parse_heartbeat("0001\n"));
  CHECK_FALSE(parse_heartbeat("\n"));
}

TEST_CASE("power without a timestamp is no data, whatever the driver calls it") {
  const auto power = parse_power("POWER_STATUS_VALID,1792569660,12.31,47.90,33.07\n");
  REQUIRE(power);
  CHECK(power->valid);
  CHECK(power->closed_seconds == 1792569660);
  CHECK(power->minimum == doctest::Approx(12.31));
  CHECK(power->average == doctest::Approx(33.07));
  CHECK_FALSE(parse_power("POWER_STATUS_VALID,0,0.00,0.00,0.00\n")->valid);
  CHECK_FALSE(parse_power("POWER_STATUS_NO_DATA,1792569660,0.00,0.00,0.00\n")->valid);
  for (const char* wrong :
       {"POWER_STATUS_VALID,1,0.00,0.00\n", "VALID,1,0.00,0.00,0.00\n",
        "POWER_STATUS_VALID,1,0.0,0.00,0.00\n", "POWER_STATUS_VALID,1,-1.00,0.00,0.00\n",
        "POWER_STATUS_VALID,1,101.00,0.00,0.00\n", "POWER_STATUS_VALID,1,0.00,0.00,0.00,\n"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_power(wrong));
  }
}

TEST_CASE("a device's state is 0, 1 or 2") {
  CHECK(parse_state("0\n") == 0);
  CHECK(parse_state("2\n") == 2);
  CHECK_FALSE(parse_state("3\n"));
  CHECK_FALSE(parse_state("-1\n"));
  CHECK_FALSE(parse_state("\n"));
}

TEST_CASE("a word is short and plain") {
  CHECK(parse_word("NDv3\n") == "NDv3");
  CHECK_FALSE(parse_word("\n"));
  CHECK_FALSE(parse_word("two words\n"));
  CHECK_FALSE(parse_word(std::string(64, 'a')));
}
