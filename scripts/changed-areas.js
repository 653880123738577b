// Prints what changed since everything was tested, for CHANGED_AREAS: areas of test/areas.json, and features of the daemon as `daemon/<name>`.
// The commit that was tested is TESTED_COMMIT, or else the one in `.ci/tested`. Prints all where that commit is unknown, or where a file changed
// on which all tests depend.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const shared = ['package-lock.json', 'test/areas.json', 'test/support/changed-areas.ts', 'vitest.', '.ci/run', 'scripts/']
/** The tests of all features of the daemon depend on these. */
const database = ['src/daemon/db/', 'test/support/databases.ts']
/** Tables belong to one feature, whose code changes with them; migrations run on both databases in any case. */
const tables = ['src/daemon/db/migrations/', 'src/daemon/db/schema.ts']

const tested = process.env.TESTED_COMMIT ?? (existsSync('.ci/tested') ? readFileSync('.ci/tested', 'utf8').trim() : '')

/** Files that differ between the commit and what is checked out; undefined where the commit is unknown. */
function changedSince(commit) {
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    git('merge-base', '--is-ancestor', commit, 'HEAD')
    return git('diff', '--name-only', '--no-renames', commit).split('\n')
  } catch {
    return undefined
  }
}

const changed = changedSince(tested)
const isBelow = (prefixes) => (file) => prefixes.some((prefix) => file.startsWith(prefix))
const changesAny = (prefixes) => changed === undefined || changed.some(isBelow(prefixes))
const changesDatabase = changed === undefined || changed.some((file) => isBelow(database)(file) && !isBelow(tables)(file))

const areas = JSON.parse(readFileSync('test/areas.json', 'utf8'))
const foldersOf = (path) =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
const features = [...new Set([...foldersOf('src/daemon'), ...foldersOf('test/daemon')])].toSorted()
const places = [
  ...Object.entries(areas).map(([name, { uses, changes, tests }]) => [name, [...(areas[uses]?.changes ?? []), ...changes, ...tests]]),
  ...features.map((name) => [`daemon/${name}`, [`src/daemon/${name}/`, `test/daemon/${name}/`]]),
]
console.log(
  places
    .filter(([name, prefixes]) => (changesDatabase && name.startsWith('daemon/')) || changesAny([...shared, ...prefixes]))
    .map(([name]) => name)
    .join(','),
)
