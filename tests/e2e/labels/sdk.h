/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Publishes thread contexts as an SDK of OpenTelemetry does (OTEP 4947, OTEP 4719). */
#ifndef SDK_H
#define SDK_H

/* Publishes the names of the keys: http.route, tenant. */
void sdk_start(void);
/* Makes the route the calling thread's; NULL: none. */
void sdk_attach(const char *route, unsigned char id);
/* Makes the variable name what is no record. */
void sdk_attach_address(unsigned long address);

#endif
