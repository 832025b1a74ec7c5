"""Which of a registry's entries are to run."""

import fnmatch


def of(every, names):
    if not names:
        return every
    wanted = names.split(",")
    if unknown := [name for name in wanted if not any(fnmatch.fnmatch(one.name, name) for one in every)]:
        raise SystemExit(f"no such name: {', '.join(unknown)}; --list says which there are")
    return [one for one in every if any(fnmatch.fnmatch(one.name, name) for name in wanted)]
