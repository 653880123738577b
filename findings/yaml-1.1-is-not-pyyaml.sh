#!/usr/bin/env bash
# yaml 2.8.1 (npm) with `version: '1.1'` against PyYAML 6.0.2, which also reads YAML 1.1: the same file has other values.
# Seen: `08`, `0778`, `1e3` and `1e5` are the numbers 8, 778, 1000 and 100000 for yaml, and texts for PyYAML; `y` and `n` are true and false for
# yaml, and texts for PyYAML; `! yes` is a text for yaml, and true for PyYAML. `yes`, `NO`, `off`, `0123`, `1_000` and `1:30` agree.
# Expected from `version: '1.1'`: the values that programs in Python get from their own configuration.
# Matters to whoever reads the configuration of such a program from JavaScript: a password `08` or `1e5` without quotes becomes another one.
# Let the program's own library read the file.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-save --no-audit --no-fund --silent yaml@2.8.1
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyyaml==6.0.2
printf '%s\n' 08 0778 1e3 1e5 y n '! yes' yes NO off 0123 1_000 1:30 >values
cat >read.mjs <<'JS'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
for (const text of readFileSync('values', 'utf8').trimEnd().split('\n'))
  console.log(`${text} is ${JSON.stringify(parse(`key: ${text}`, { version: '1.1' }).key)}`)
JS
cat >read.py <<'PY'
import json, yaml
for text in open('values').read().rstrip('\n').split('\n'):
    print(text, 'is', json.dumps(yaml.safe_load('key: ' + text)['key']))
PY
echo "node $(node -v), yaml 2.8.1, PyYAML $(venv/bin/python -c 'import yaml; print(yaml.__version__)')"
node read.mjs >by-yaml
venv/bin/python read.py >by-pyyaml
paste -d '|' by-yaml by-pyyaml | sed 's/|/   |   /'
diff by-yaml - <<'EXPECTED'
08 is 8
0778 is 778
1e3 is 1000
1e5 is 100000
y is true
n is false
! yes is "yes"
yes is true
NO is false
off is false
0123 is 83
1_000 is 1000
1:30 is 90
EXPECTED
diff by-pyyaml - <<'EXPECTED'
08 is "08"
0778 is "0778"
1e3 is "1e3"
1e5 is "1e5"
y is "y"
n is "n"
! yes is true
yes is true
NO is false
off is false
0123 is 83
1_000 is 1000
1:30 is 90
EXPECTED
