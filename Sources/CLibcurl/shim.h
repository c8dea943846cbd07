#ifndef TRUEUP_CLIBCURL_SHIM_H
#define TRUEUP_CLIBCURL_SHIM_H
#include <curl/curl.h>
#endif
