// Prints what changed since everything was tested, for CHANGED_AREAS: areas of test/areas.json, and features of the daemon whose SQL or tests
// changed as `daemon/<name>`. The commit that was tested is TESTED_COMMIT, or else the one in `.ci/tested`. Prints all where that commit is
// unknown, and all but the rare areas where a library changed; one that is new concerns those who use it. With --units, changes of tests on servers do not count: no unit test uses them.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const lockfile = 'package-lock.json'
const onServers = ['test/e2e/', 'test/console/']
/** The tests of all features of the daemon depend on these. */
const database = ['src/daemon/db/', 'test/support/databases.ts']
/** Tables belong to one feature, whose code changes with them; migrations run on both databases in any case. */
const tables = ['src/daemon/db/migrations/', 'src/daemon/db/schema.ts']

const tested = process.env.TESTED_COMMIT ?? (existsSync('.ci/tested') ? readFileSync('.ci/tested', 'utf8').trim() : '')

const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

/** Files that differ between the commit and the working tree, new ones too; undefined where the commit is unknown. */
function changedSince(commit) {
  try {
    git('merge-base', '--is-ancestor', commit, 'HEAD')
    const lists = [git('diff', '--name-only', '--no-renames', commit), git('ls-files', '--others', '--exclude-standard')]
    return lists.flatMap((list) => list.split('\n').filter((file) => file !== ''))
  } catch {
    return undefined
  }
}

/** Whether what was installed before is not what it was: another version, gone, or with a dependency of its own. */
function changesLibraries() {
  const packagesIn = (text) => JSON.parse(text).packages
  try {
    const [before, after] = [packagesIn(git('show', `${tested}:${lockfile}`)), packagesIn(readFileSync(lockfile, 'utf8'))]
    const known = Object.keys(before).filter((path) => path !== '')
    const isOther = (path) => ['version', 'resolved', 'integrity'].some((part) => after[path]?.[part] !== before[path][part])
    const isInside = (path) => before[path] === undefined && known.some((outer) => path.startsWith(`${outer}/`))
    return known.some(isOther) || Object.keys(after).some(isInside)
  } catch {
    return true
  }
}

const isBelow = (prefixes) => (file) => prefixes.some((prefix) => file.startsWith(prefix))
const ignored = process.argv.includes('--units') ? isBelow(onServers) : () => false
const changed = changedSince(tested)?.filter((file) => !ignored(file))
const changesAny = (prefixes) => changed === undefined || changed.some(isBelow(prefixes))
const libraries = changed?.includes(lockfile) && changesLibraries() ? [lockfile] : []
/** A deleted file may have had SQL. */
const hasSql = (file) =>
  !existsSync(file) || /\bsql(<[^`]*>)?`|\.(selectFrom|insertInto|updateTable|deleteFrom)\(/.test(readFileSync(file, 'utf8'))
/** Its tests run on PostgreSQL too: verbs without a statement of their own behave the same on both databases. */
const changesSqlOf = (name) =>
  changesAny([...libraries, `test/daemon/${name}/`]) || changed.some((file) => file.startsWith(`src/daemon/${name}/`) && hasSql(file))
const changesDatabase = changed === undefined || changed.some((file) => isBelow(database)(file) && !isBelow(tables)(file))

const areas = JSON.parse(readFileSync('test/areas.json', 'utf8'))
const former = changed?.includes('test/areas.json') ? JSON.parse(git('show', `${tested}:test/areas.json`)) : areas
/** An area that has another test or folder than in the tested commit. */
const isLarger = (name) => ['changes', 'tests'].some((list) => areas[name][list].some((entry) => !former[name]?.[list].includes(entry)))
const foldersOf = (path) =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
const features = [...new Set([...foldersOf('src/daemon'), ...foldersOf('test/daemon')])].toSorted()
const changedAreas = Object.entries(areas)
  .filter(
    ([name, { rare, uses, changes, tests }]) =>
      isLarger(name) || changesAny([...(rare ? [] : libraries), ...(areas[uses]?.changes ?? []), ...changes, ...tests]),
  )
  .map(([name]) => name)
const changedFeatures = features.filter((name) => changesDatabase || changesSqlOf(name)).map((name) => `daemon/${name}`)
console.log([...changedAreas, ...changedFeatures].join(','))
