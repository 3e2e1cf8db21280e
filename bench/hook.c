/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The empty hooks of -finstrument-functions. */
void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
	(void)function;
	(void)site;
}

void __cyg_profile_func_exit(void *function, void *site)
{
	(void)function;
	(void)site;
}
