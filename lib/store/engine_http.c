/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A ClickHouse server by its HTTP interface. Rows are sent compressed.
 *
 * A patient engine sends a request again that got no answer, or one that says that the server is
 * too busy: four times in 15 seconds. Rows that arrive twice count once (docs/fleet.md), so this is
 * safe.
 */
#include <curl/curl.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "store/engine.h"

#define TRIES 5
#define CONNECT_SECONDS 10L
#define STALLED_SECONDS 60L
#define REPLY_MOST (1ULL << 32)

struct http {
	struct engine engine;
	CURL *curl;
	char *base; /* scheme, host and port */
	char *user, *password;
	struct bytes *reply;
};

static size_t take_reply(char *data, size_t size, size_t n, void *ctx)
{
	struct bytes *to = ctx;

	if (to->n + size * n > REPLY_MOST)
		return 0;
	bytes_put(to, data, size * n);
	return to->failed ? 0 : size * n;
}

static int compress_rows(const struct bytes *rows, struct bytes *out)
{
	struct libdeflate_compressor *z = libdeflate_alloc_compressor(1);
	size_t most;

	if (!z)
		return -ENOMEM;
	most = libdeflate_gzip_compress_bound(z, rows->n);
	out->data = malloc(most);
	out->capacity = most;
	if (out->data)
		out->n = libdeflate_gzip_compress(z, rows->data, rows->n, out->data, most);
	libdeflate_free_compressor(z);
	return out->n ? 0 : -ENOMEM;
}

/* What the server says is one long line, with the place in its source at the end. */
static int fail_http(const struct http *h, long status, struct error *why)
{
	char text[400];
	const char *end;
	size_t n = h->reply->n < sizeof(text) - 1 ? h->reply->n : sizeof(text) - 1;

	if (n)
		memcpy(text, h->reply->data, n);
	text[n] = 0;
	text[strcspn(text, "\r\n")] = 0;
	end = strstr(text, ", e.what()");
	if (end)
		text[end - text] = 0;
	return error_set(why, status == 401 || status == 403 ? -EACCES : -EIO,
			 "the server answers with status %ld%s%s", status, *text ? ": " : "", text);
}

/* 0, -errno with a text in why; *again: the same request may succeed later. */
static int run_once(struct http *h, bool *again, struct error *why)
{
	CURLcode code;
	long status = 0;

	h->reply->n = 0;
	*again = false;
	code = curl_easy_perform(h->curl);
	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	if (h->reply->failed)
		return -ENOMEM;
	if (code != CURLE_OK) {
		*again = code != CURLE_WRITE_ERROR && code != CURLE_COULDNT_RESOLVE_HOST;
		return error_set(why, -EIO, "%s; is the server running, and this its HTTP port?",
				 curl_easy_strerror(code));
	}
	if (status == 200)
		return 0;
	*again = status == 429 || status >= 502;
	return fail_http(h, status, why);
}

/* sql: sent, or part of the URL if there are rows, which are sent. */
static int set_request(struct http *h, const char *sql, const struct bytes *rows, bool read_only,
		       char **url, struct curl_slist **headers)
{
	char *query = curl_easy_escape(h->curl, rows ? sql : "", 0);
	int r = query ? 0 : -ENOMEM;
	struct curl_slist *more;

	/* Otherwise, a query that fails late would have status 200, and a message behind its rows.
	 */
	if (!r && asprintf(url, "%s/?wait_end_of_query=1%s%s%s", h->base,
			   read_only ? "&readonly=1" : "", rows ? "&query=" : "", query) < 0)
		r = -ENOMEM;
	curl_free(query);
	if (r)
		return r;
	more = curl_slist_append(*headers, "Expect:");
	*headers = more ? more : *headers;
	if (more && rows) {
		more = curl_slist_append(*headers, "Content-Encoding: gzip");
		*headers = more ? more : *headers;
	}
	if (!more)
		return -ENOMEM;
	curl_easy_reset(h->curl);
	curl_easy_setopt(h->curl, CURLOPT_URL, *url);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, *headers);
	curl_easy_setopt(h->curl, CURLOPT_POST, 1L);
	curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, rows ? (const char *)rows->data : sql);
	curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)(rows ? rows->n : strlen(sql)));
	curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, take_reply);
	curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, h->reply);
	curl_easy_setopt(h->curl, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl_easy_setopt(h->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(h->curl, CURLOPT_LOW_SPEED_TIME, STALLED_SECONDS);
	/* A redirection would send the password elsewhere, so none is followed. */
	if (h->user)
		curl_easy_setopt(h->curl, CURLOPT_USERNAME, h->user);
	if (h->password)
		curl_easy_setopt(h->curl, CURLOPT_PASSWORD, h->password);
	return 0;
}

static int send_request(struct engine *e, const char *sql, const struct bytes *rows, bool read_only,
			struct bytes *reply, struct error *why)
{
	struct http *h = (struct http *)e;
	struct curl_slist *headers = NULL;
	char *url = NULL;
	bool again;
	int r;

	h->reply = reply;
	r = set_request(h, sql, rows, read_only, &url, &headers);
	for (unsigned int try = 1; !r; try++) {
		struct timespec wait = {.tv_sec = 1 << (try - 1)};

		r = run_once(h, &again, why);
		if (!r || !again || !e->patient || try == TRIES)
			break;
		nanosleep(&wait, NULL);
		r = 0;
	}
	curl_slist_free_all(headers);
	free(url);
	return r;
}

static int http_run(struct engine *e, const char *sql, bool read_only, struct bytes *reply,
		    struct error *why)
{
	return send_request(e, sql, NULL, read_only, reply, why);
}

static int http_insert(struct engine *e, const char *table, const char *columns,
		       const struct bytes *rows, struct error *why)
{
	struct bytes sent = {0}, reply = {0};
	int r = compress_rows(rows, &sent);
	char *sql = NULL;

	(void)columns; /* the server knows them */
	if (!r && asprintf(&sql, "INSERT INTO %s FORMAT RowBinary", table) < 0)
		r = -ENOMEM;
	r = r ? r : send_request(e, sql, &sent, false, &reply, why);
	free(sql);
	bytes_free(&sent);
	bytes_free(&reply);
	return r;
}

static void http_close(struct engine *e)
{
	struct http *h = (struct http *)e;

	curl_easy_cleanup(h->curl);
	free(h->base);
	free(h->user);
	free(h->password);
	free(h);
}

static const struct engine_ops http_ops = {http_run, http_insert, http_close};

/* Returns a copy of a part of the URL, or of an environment variable; NULL: neither is there. */
static char *url_part(CURLU *u, CURLUPart part, const char *variable)
{
	const char *value = variable ? getenv(variable) : NULL;
	char *text = NULL, *copy;

	if (curl_url_get(u, part, &text, CURLU_URLDECODE) == CURLUE_OK && *text) {
		copy = strdup(text);
		curl_free(text);
		return copy;
	}
	curl_free(text);
	return value && *value ? strdup(value) : NULL;
}

/* What messages may say of a URL behind its scheme. */
static const char *behind_password(const char *url)
{
	const char *at = strrchr(url, '@');

	return at ? at + 1 : strstr(url, "://") + strlen("://");
}

static int parse_url(struct http *h, const char *url, bool tls, struct error *why)
{
	CURLU *u = curl_url();
	char *host = NULL, *port = NULL, *path = NULL;
	int r = 0;

	if (!u)
		return error_memory(why);
	if (curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
		r = error_set(why, -EINVAL,
			      "cannot use %.*s://%s: it is no URL; write "
			      "clickhouse://HOST:PORT/DATABASE",
			      (int)(strstr(url, "://") - url), url, behind_password(url));
	if (!r) {
		host = url_part(u, CURLUPART_HOST, NULL);
		port = url_part(u, CURLUPART_PORT, NULL);
		path = url_part(u, CURLUPART_PATH, NULL);
		h->user = url_part(u, CURLUPART_USER, "CLICKHOUSE_USER");
		h->password = url_part(u, CURLUPART_PASSWORD, "CLICKHOUSE_PASSWORD");
		h->engine.database = strdup(path && path[1] ? path + 1 : "pcce");
		if (!host || !h->engine.database ||
		    asprintf(&h->base, "%s://%s:%s", tls ? "https" : "http", host,
			     port  ? port
			     : tls ? "8443"
				   : "8123") < 0 ||
		    asprintf(&h->engine.name, "%s://%s:%s/%s", tls ? "clickhouses" : "clickhouse",
			     host,
			     port  ? port
			     : tls ? "8443"
				   : "8123",
			     h->engine.database) < 0)
			r = error_memory(why);
	}
	for (const char *c = h->engine.database; !r && *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *c))
			r = error_set(why, -EINVAL,
				      "cannot use database '%s': its name must have only letters, "
				      "digits and _",
				      h->engine.database);
	free(host);
	free(port);
	free(path);
	curl_url_cleanup(u);
	return r;
}

int engine_http_open(const char *url, struct engine **out, struct error *why)
{
	static const char plain[] = "clickhouse://", secure[] = "clickhouses://";
	bool tls = !strncmp(url, secure, strlen(secure));
	struct http *h;

	if (!tls && strncmp(url, plain, strlen(plain)) != 0)
		return error_set(
			why, -EINVAL,
			"cannot use %.*s://%s: there is no such store; use a folder, chdb:FOLDER, "
			"clickhouse://HOST/DATABASE or clickhouses://HOST/DATABASE",
			(int)(strstr(url, "://") - url), url, behind_password(url));
	h = calloc(1, sizeof(*h));
	if (!h)
		return error_memory(why);
	h->engine.ops = &http_ops;
	*out = &h->engine;
	h->curl = curl_easy_init();
	return h->curl ? parse_url(h, url, tls, why) : error_memory(why);
}
