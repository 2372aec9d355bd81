// The only file that knows nlohmann: its SAX parser (iterative, validates UTF-8) fills our value.
#include <nlohmann/json.hpp>

#include "shared/base/strings.h"
#include "shared/json/value.h"

namespace nobs::json {
namespace {

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Value take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }

  bool null() override { return add(Value()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(std::int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override { return add(std::uint64_t{value}); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Object{}); }
  bool start_array(std::size_t) override { return open(Array{}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    open_.back().key = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception&) override {
    problem_ =
        "not JSON at byte " + std::to_string(position) + ", near \"" + printable(token, 40) + "\"";
    return false;
  }

 private:
  struct Level {
    Value value;
    std::string key;
  };

  bool open(Value empty) {
    if (open_.size() >= static_cast<size_t>(kMaxDepth)) {
      problem_ = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
      return false;
    }
    open_.push_back({std::move(empty), {}});
    return true;
  }

  bool close() {
    Value finished = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(finished));
  }

  bool add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_object()) {
      open_.back().value[open_.back().key] = std::move(value);
    } else {
      open_.back().value.push_back(std::move(value));
    }
    return true;
  }

  std::vector<Level> open_;
  Value root_;
  std::string problem_;
};

}  // namespace

Result<Value> parse(std::string_view text) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    return invalid(builder.problem().empty() ? "not JSON" : builder.problem());
  }
  return builder.take();
}

}  // namespace nobs::json
