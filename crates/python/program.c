// The program `unbloat` of the Python package: it calls the command in the package's module, so that a wheel has its code once.
//
// The module needs symbols of a Python interpreter to be loaded, and the command uses none of them. `tools/wheel` defines them in stubs.c.

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

// Relative to the folder of the program: where pip puts packages in environments, for users, for systems (lib64, Debian's dist-packages), with --target.
static const char *const PLACES[] = {
    "../lib*/python3*/*-packages/unbloat/_core.abi3.so",
    "../unbloat/_core.abi3.so",
};

// The module beside this program, or NULL.
static void *module(void)
{
    char own[PATH_MAX];
    // There is no /proc yet for the first process of a guest.
    if (!realpath("/proc/self/exe", own) && !realpath((const char *)getauxval(AT_EXECFN), own))
        return NULL;
    *strrchr(own, '/') = 0;
    for (size_t place = 0; place < sizeof PLACES / sizeof *PLACES; place++) {
        char pattern[2 * PATH_MAX];
        snprintf(pattern, sizeof pattern, "%s/%s", own, PLACES[place]);
        glob_t found;
        void *module = NULL;
        if (glob(pattern, 0, NULL, &found) == 0)
            module = dlopen(found.gl_pathv[found.gl_pathc - 1], RTLD_NOW);
        globfree(&found);
        if (module)
            return module;
    }
    return NULL;
}

int main(void)
{
    // As Rust does it before its own main: a reader that is gone is an error, not the end.
    signal(SIGPIPE, SIG_IGN);
    void *loaded = module();
    int (*run)(void) = loaded ? (int (*)(void))dlsym(loaded, "unbloat_main") : NULL;
    if (!run) {
        const char *why = dlerror();
        fprintf(stderr, "unbloat: cannot load the package's module: %s; install the package again\n", why ? why : "it is not where pip puts it");
        return 1;
    }
    return run();
}
