/* The least that fetching and checking the answers can cost: libcurl, and OpenSSL's check of each
 * signature with the key that is already known. No chain, no JSON, no database.
 *
 * Usage: floor URL_PREFIX CA_FILE LEAF_PEM IDS_FILE IN_FLIGHT CHECK(0 or 1)
 * Prints the number of answers, signatures checked, and bytes.
 */
#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct answer {
    char *bytes;
    size_t length, capacity;
};

static EVP_PKEY *key;
static EVP_PKEY_CTX *context;
static long answers, signatures, failures;
static unsigned long long received;

static size_t take(char *data, size_t size, size_t count, void *target) {
    struct answer *answer = target;
    size_t length = size * count;
    if (answer->length + length + 1 > answer->capacity) {
        size_t capacity = (answer->length + length + 1) * 2;
        char *bytes = realloc(answer->bytes, capacity);
        if (!bytes) return 0;
        answer->bytes = bytes;
        answer->capacity = capacity;
    }
    memcpy(answer->bytes + answer->length, data, length);
    answer->length += length;
    return length;
}

static int value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

static size_t unbase64(const char *text, size_t length, unsigned char *out) {
    unsigned bits = 0;
    int held = 0;
    size_t written = 0;
    for (size_t i = 0; i < length; i++) {
        int v = value(text[i]);
        if (v < 0) return 0;
        bits = bits << 6 | (unsigned)v;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[written++] = (unsigned char)(bits >> held);
        }
    }
    return written;
}

/* Wraps r and s of a JWS as the DER that OpenSSL takes. */
static size_t der(const unsigned char *raw, unsigned char *out) {
    size_t at = 2;
    for (int part = 0; part < 2; part++) {
        const unsigned char *number = raw + 32 * part;
        size_t length = 32;
        while (length > 1 && number[0] == 0) number++, length--;
        int pad = number[0] >= 0x80;
        out[at++] = 2;
        out[at++] = (unsigned char)(length + pad);
        if (pad) out[at++] = 0;
        memcpy(out + at, number, length);
        at += length;
    }
    out[0] = 0x30;
    out[1] = (unsigned char)(at - 2);
    return at;
}

static void check(const char *jws, size_t length) {
    const char *end = jws + length, *last = memrchr(jws, '.', length);
    unsigned char raw[80], signature[80], digest[32];
    unsigned digest_length;
    if (!last || (size_t)(end - last - 1) > 100 || unbase64(last + 1, end - last - 1, raw) != 64
        || !EVP_Digest(jws, last - jws, digest, &digest_length, EVP_sha256(), NULL)
        || EVP_PKEY_verify(context, signature, der(raw, signature), digest, 32) != 1)
        failures++;
    signatures++;
}

/* Every string in the answer that begins like a JWS. */
static void check_all(const struct answer *answer) {
    const char *at = answer->bytes, *end = at + answer->length;
    while ((at = memmem(at, end - at, "\"eyJ", 4))) {
        const char *close = memchr(at + 1, '"', end - at - 1);
        if (!close) break;
        check(at + 1, close - at - 1);
        at = close + 1;
    }
}

int main(int argc, char **argv) {
    if (argc != 7) return 64;
    FILE *file = fopen(argv[3], "r");
    X509 *certificate = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
    if (!certificate) return 65;
    fclose(file);
    key = X509_get_pubkey(certificate);
    context = EVP_PKEY_CTX_new(key, NULL);
    if (!context || EVP_PKEY_verify_init(context) != 1) return 70;
    FILE *ids = fopen(argv[4], "r");
    if (!ids) return 65;
    int in_flight = atoi(argv[5]), checks = atoi(argv[6]), running = 0, is_done = 0;

    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    CURL **idle = calloc((size_t)in_flight, sizeof *idle);
    int idle_count = in_flight;
    for (int i = 0; i < in_flight; i++) {
        idle[i] = curl_easy_init();
        struct answer *answer = calloc(1, sizeof *answer);
        curl_easy_setopt(idle[i], CURLOPT_PRIVATE, answer);
        curl_easy_setopt(idle[i], CURLOPT_WRITEDATA, answer);
        curl_easy_setopt(idle[i], CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(idle[i], CURLOPT_CAINFO, argv[2]);
        curl_easy_setopt(idle[i], CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(idle[i], CURLOPT_PIPEWAIT, 1L);
        curl_easy_setopt(idle[i], CURLOPT_FAILONERROR, 1L);
        curl_easy_setopt(idle[i], CURLOPT_NOSIGNAL, 1L);
    }
    while (!is_done || running > 0) {
        while (!is_done && idle_count > 0) {
            char id[64], url[512];
            if (!fgets(id, sizeof id, ids)) {
                is_done = 1;
                break;
            }
            id[strcspn(id, "\r\n")] = 0;
            snprintf(url, sizeof url, "%s%s", argv[1], id);
            CURL *easy = idle[--idle_count];
            curl_easy_setopt(easy, CURLOPT_URL, url);
            curl_multi_add_handle(multi, easy);
            running++;
        }
        int still, left;
        curl_multi_perform(multi, &still);
        CURLMsg *message;
        while ((message = curl_multi_info_read(multi, &left))) {
            if (message->msg != CURLMSG_DONE) continue;
            CURL *easy = message->easy_handle;
            struct answer *answer;
            curl_easy_getinfo(easy, CURLINFO_PRIVATE, &answer);
            if (message->data.result != CURLE_OK) {
                fprintf(stderr, "%s\n", curl_easy_strerror(message->data.result));
                return 69;
            }
            answers++;
            received += answer->length;
            if (checks) check_all(answer);
            answer->length = 0;
            curl_multi_remove_handle(multi, easy);
            idle[idle_count++] = easy;
            running--;
        }
        if (still > 0) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    printf("answers %ld signatures %ld failures %ld bytes %llu\n", answers, signatures, failures, received);
    return failures == 0 ? 0 : 76;
}
