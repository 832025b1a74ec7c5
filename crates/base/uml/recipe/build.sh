#!/bin/sh
# Builds `linux` (User Mode Linux with virtual time) in the current, empty folder.
#   build.sh RECIPE PACKAGE VERSION
# RECIPE: the folder that holds this file. PACKAGE and VERSION: Debian's package of the kernel's source.
set -eu
recipe=$1 package=$2 version=$3

echo "step: fetching $package $version"
apt-get -q download "$package=$version"

# Kconfig reads every folder, so all are kept; sources of drivers that a guest never has are not.
echo "step: unpacking"
mkdir source
dpkg-deb --fsys-tarfile "$package"_*.deb | tar -xO "./usr/src/$package.tar.xz" |
    tar -xJ --strip-components=1 -C source \
        --exclude='*/drivers/gpu/*.[ch]' --exclude='*/drivers/media/*.[ch]' --exclude='*/sound/*.[ch]'
rm "$package"_*.deb

# 1000 ticks a second instead of 100. The kernel counts TCP's and PIE's timers in ticks: PIE's 15 ms would be 20 ms.
sed -i '/^config HZ$/,/default/s/default 100/default 1000/' source/arch/um/Kconfig
grep -A2 '^config HZ$' source/arch/um/Kconfig | grep -q 'default 1000'

echo "step: configuring"
make -s -C source ARCH=um KCONFIG_ALLCONFIG="$recipe/kernel.config" allnoconfig
grep '^CONFIG_' "$recipe/kernel.config" | while read -r option; do
    grep -qx "$option" source/.config || { echo "the kernel's configuration did not take $option" >&2; exit 1; }
done

# Fixed names and dates: the same source and compiler give the same kernel.
echo "step: compiling"
export KBUILD_BUILD_TIMESTAMP=@0 KBUILD_BUILD_USER=unbloat KBUILD_BUILD_HOST=guest KBUILD_BUILD_VERSION=1
make -C source ARCH=um -j"$(nproc)" linux
strip -o linux source/linux
rm -r source
