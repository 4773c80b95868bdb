/* Intercepts COPY … (FORMAT colonnade). */
#ifndef COLONNADE_HOOK_H
#define COLONNADE_HOOK_H

/* Installs our hooks before the existing ones. */
extern void hook_install(void);

#endif
