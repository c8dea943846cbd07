#ifndef TRUEUP_ZLIB_H
#define TRUEUP_ZLIB_H

#include <limits.h>
#include <stddef.h>
#include <zlib.h>

/* Raw deflate (RFC 1951) in one call; 0 where it does not fit. */
static inline size_t zlib_deflate_raw(
    const unsigned char *from, size_t size, unsigned char *to, size_t room, int level)
{
    z_stream stream = {0};
    if (size > UINT_MAX || room > UINT_MAX) return 0;
    if (deflateInit2(&stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (Bytef *)from;
    stream.avail_in = (uInt)size;
    stream.next_out = to;
    stream.avail_out = (uInt)room;
    int result = deflate(&stream, Z_FINISH);
    size_t made = (size_t)stream.total_out;
    deflateEnd(&stream);
    return result == Z_STREAM_END ? made : 0;
}

/* The reverse: whether all of the input gives exactly as many bytes as there is room for. */
static inline int zlib_inflate_raw(
    const unsigned char *from, size_t size, unsigned char *to, size_t room)
{
    z_stream stream = {0};
    unsigned char none = 0;
    if (size > UINT_MAX || room > UINT_MAX) return 0;
    if (inflateInit2(&stream, -15) != Z_OK) return 0;
    stream.next_in = (Bytef *)from;
    stream.avail_in = (uInt)size;
    stream.next_out = room ? to : &none;
    stream.avail_out = (uInt)room;
    int result = inflate(&stream, Z_FINISH);
    int is_whole = result == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
    inflateEnd(&stream);
    return is_whole;
}

#endif
