#include "shared/otel/gzip.h"

#include <zlib.h>

namespace nobs::otel {

std::string gzip(std::string_view text) {
  constexpr int kLevel =
      1;  // metrics repeat themselves: higher levels cost 3 times the CPU for a few percent
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream{};
  if (::deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string out(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = ::deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return result == Z_STREAM_END ? out : std::string();
}

}  // namespace nobs::otel
