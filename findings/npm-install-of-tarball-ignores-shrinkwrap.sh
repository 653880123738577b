#!/usr/bin/env bash
# npm 10.9.9 and 11.19.1: `npm install` of a package file ignores the npm-shrinkwrap.json in it.
# Seen: the package pins ms 2.0.0 in its shrinkwrap and asks for ^2.0.0; installed from the .tgz it gets the newest 2.x. Only a registry's
# answer (`_hasShrinkwrap`) makes npm read it. `npm ci` in the unpacked file installs 2.0.0.
# Matters to whoever hands out a package as a file and takes its versions for pinned.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/package" "$folder/installed"
cd "$folder/package"
echo '{"name":"a-package","version":"1.0.0","dependencies":{"ms":"2.0.0"}}' >package.json
npm install --silent --package-lock-only
sed 's/"ms": *"2.0.0"/"ms": "^2.0.0"/' package-lock.json >npm-shrinkwrap.json
rm package-lock.json
sed -i 's/"ms":"2.0.0"/"ms":"^2.0.0"/' package.json
npm pack --silent >/dev/null
npm ci --silent
version() { node -p "require('$1/package.json').version"; }
npm install --silent --global --prefix "$folder/installed" ./a-package-1.0.0.tgz
by_ci=$(version ./node_modules/ms)
by_install=$(version "$folder/installed/lib/node_modules/a-package/node_modules/ms")
echo "npm $(npm --version): npm ci has ms $by_ci, npm install of the file has ms $by_install"
[ "$by_ci" = 2.0.0 ] && [ "$by_install" != 2.0.0 ]
