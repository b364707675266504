#include "attention_plasticity/capture/texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/base/utf8.h"
#include "attention_plasticity/capture/sample_texts.h"
#include "attention_plasticity/dump/text_column.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kinds{".txt", ".jsonl", ".parquet"};

/// Takes a text and says whether more are wanted.
using Sink = std::function<bool(Text)>;

[[noreturn]] void refuse(const std::string& message, const std::string& place) {
  throw Error(ErrorKind::input, message, place);
}

/// The spaces of Unicode outside ASCII: no-break spaces, those of typographers, separators of lines and paragraphs.
bool is_wide_space(std::string_view character) {
  constexpr std::array<std::string_view, 17> spaces{"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002",
                                                    "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
                                                    "\u2009", "\u200a", "\u202f", "\u205f", "\u3000"};
  return std::ranges::find(spaces, character) != spaces.end() || character == "\u2028" || character == "\u2029";
}

bool is_blank(std::string_view text) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
    const bool is_space = first == ' ' || (first >= '\t' && first <= '\r') || (first >= 0x1c && first <= 0x1f);
    if (!is_space && !is_wide_space(text.substr(0, length))) return false;
    text.remove_prefix(length);
  }
  return true;
}

void require_utf8(std::string_view text, const std::string& place) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) refuse(fmt::format("this is no UTF-8 text (byte {})", at), place);
    at += length;
  }
}

/// \r\n and \r become \n.
std::string with_plain_line_ends(const std::string& text) {
  if (text.find('\r') == std::string::npos) return text;
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      plain += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      plain += '\n';
    }
  }
  return plain;
}

// A text of a row may be refused before it is copied.
void require_size(std::uint64_t size, const TextOptions& options, const std::string& place) {
  if (size <= options.most_text_bytes) return;
  refuse(fmt::format("this is longer than {}, too long for one text; split it", size_text(options.most_text_bytes)),
         place);
}

std::string decoded(const fs::path& file, const TextOptions& options) {
  std::string text;
  read_file_pieces(file, [&](std::string_view piece) {
    require_size(text.size() + piece.size(), options, file.string());
    text += piece;
    return true;
  });
  require_utf8(text, file.string());
  return with_plain_line_ends(text);
}

std::string_view type_name(const nlohmann::json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "true or false";
  if (value.is_number()) return "a number";
  return value.is_array() ? "a list" : "an object";
}

[[noreturn]] void refuse_type(const std::string& field, std::string_view type, const std::string& place) {
  refuse(fmt::format("the field {} is {}, it should be text", field, type), place);
}

Text line_text(std::string_view line, const std::string& field, const std::string& place) {
  const nlohmann::json row = parse_json(line, {.file = place, .subject = "this line"});
  if (!row.is_object()) refuse("this line is no JSON object", place);
  const auto value = row.find(field);
  if (value == row.end()) {
    std::vector<std::string> names;
    constexpr std::size_t named = 10;
    for (const auto& item : row.items()) {
      if (names.size() < named) names.push_back(shown_text(item.key()));
    }
    refuse(fmt::format("there is no field {}, only {}{}; pass `text_field`", field, fmt::join(names, ", "),
                       row.size() > named ? fmt::format(" and {} more", row.size() - named) : ""),
           place);
  }
  if (!value->is_string()) refuse_type(field, type_name(*value), place);
  return {value->get<std::string>(), place};
}

/// Splits the pieces of a file into lines, which end in \n, \r\n or \r, as in with_plain_line_ends.
class LineSplitter {
 public:
  /// `sink` gets a line and its number from 1 on, and says whether more are wanted.
  using LineSink = std::function<bool(const std::string& line, std::size_t number)>;

  LineSplitter(const fs::path& file, const TextOptions& options, LineSink sink)
      : file_(file), options_(options), sink_(std::move(sink)) {}

  /// False when no more are wanted.
  bool add(std::string_view piece) {
    while (!piece.empty()) {
      if (std::exchange(after_return_, false) && piece.front() == '\n') {
        piece.remove_prefix(1);
        continue;
      }
      const std::size_t end = std::min(piece.find_first_of("\r\n"), piece.size());
      require_size(line_.size() + end, options_, fmt::format("{}:{}", file_.string(), number_));
      line_ += piece.substr(0, end);
      if (end == piece.size()) return true;
      after_return_ = piece[end] == '\r';
      piece.remove_prefix(end + 1);
      if (!finish()) return false;
    }
    return true;
  }

  /// Hands over the line that was begun.
  bool finish() {
    const bool goes_on = sink_(line_, number_++);
    line_.clear();
    return goes_on;
  }

 private:
  const fs::path& file_;
  const TextOptions& options_;
  LineSink sink_;
  std::string line_;
  std::size_t number_ = 1;
  bool after_return_ = false;
};

bool read_lines(const fs::path& file, const TextOptions& options, const Sink& sink) {
  bool goes_on = true;
  LineSplitter lines(file, options, [&](const std::string& line, std::size_t number) {
    const std::string place = fmt::format("{}:{}", file.string(), number);
    require_utf8(line, place);
    return is_blank(line) || sink(line_text(line, options.field, place));
  });
  read_file_pieces(file, [&](std::string_view piece) { return goes_on = lines.add(piece); });
  return goes_on && lines.finish();
}

bool read_parquet(const fs::path& file, const TextOptions& options, const Sink& sink) {
  bool goes_on = true;
  std::size_t row = 0;
  read_text_column(file, options.field, [&](std::optional<std::string_view> text) {
    const std::string place = fmt::format("{} row {}", file.string(), row++);
    if (!text) refuse_type(options.field, "null", place);
    require_size(text->size(), options, place);
    require_utf8(*text, place);
    return goes_on = sink({std::string(*text), place});
  });
  return goes_on;
}

std::string kind_of(const fs::path& file) { return lower_case(file.extension().string()); }

bool is_known(const std::string& kind) { return std::ranges::find(kinds, kind) != kinds.end(); }

/// False when the sink wants no more.
bool read_one_file(const fs::path& file, const TextOptions& options, const Sink& sink) {
  const std::string kind = kind_of(file);
  if (kind == ".parquet") return read_parquet(file, options, sink);
  if (kind == ".jsonl") return read_lines(file, options, sink);
  if (kind == ".txt") return sink({decoded(file, options), file.string()});
  refuse(fmt::format("texts are {} files", fmt::join(kinds, ", ")), file.string());
}

void read_folder(const fs::path& folder, const TextOptions& options, const Sink& sink) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    std::error_code ignored;  // a broken link is no file
    if (is_known(kind_of(entries->path())) && entries->is_regular_file(ignored)) files.push_back(entries->path());
  }
  if (error) refuse(fmt::format("it cannot be read: {}", error.message()), folder.string());
  if (files.empty()) refuse(fmt::format("this folder has no texts ({})", fmt::join(kinds, ", ")), folder.string());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    if (!read_one_file(file, options, sink)) return;
  }
}

/// Whether a name may be that of a dataset of the Hub: org/name.
bool may_be_dataset(const std::string& name) {
  return std::ranges::count(name, '/') == 1 && !name.starts_with('.') && !is_known(kind_of(name));
}

void read_source(const std::string& source, const TextOptions& options, const Sink& sink) {
  std::error_code error;
  const fs::file_status status = fs::status(source, error);
  if (fs::is_directory(status)) return read_folder(source, options, sink);
  if (fs::exists(status)) {
    read_one_file(source, options, sink);
    return;
  }
  if (source == "sample") {
    for (const SampleText& page : sample_texts()) {
      if (!sink({std::string(page.text), fmt::format("sample {}", page.name)})) return;
    }
    return;
  }
  refuse(may_be_dataset(source) ? "there is no such file or folder; a dataset of the Hub must be downloaded first"
                                : "there is no such file or folder",
         source);
}

}  // namespace

std::vector<Text> read_texts(const std::string& source, const TextOptions& options) {
  std::vector<Text> texts;
  std::uint64_t held = 0;
  read_source(source, options, [&](Text text) {
    if (is_blank(text.text)) refuse("the text is empty; leave it out", text.place);
    held += sizeof(Text) + text.text.size() + text.place.size();
    if (held > options.most_bytes) {
      refuse(fmt::format("with this text, the texts take more than {} of memory; pass `max_documents`, {} at most, or "
                         "shorter texts",
                         size_text(options.most_bytes), texts.size()),
             text.place);
    }
    texts.push_back(std::move(text));
    return texts.size() != options.max_documents;
  });
  if (texts.empty()) refuse("there are no texts", source);
  return texts;
}

}  // namespace attention_plasticity
