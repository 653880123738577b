// Makes a checkout ready after `npm ci`, which runs no script of any package (.npmrc): builds the packages that `allowScripts` permits, and the
// programs. What is there already is left alone; `--build` builds the programs again.
import { execSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const root = new URL('..', import.meta.url)
const run = (command) => execSync(command, { cwd: root, stdio: ['ignore', 2, 2] })
const { allowScripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
const allowed = Object.keys(allowScripts).filter((name) => allowScripts[name] && existsSync(new URL(`node_modules/${name}`, root)))

const isLoadable = await import('better-sqlite3')
  .then(
    ({ default: Database }) => new Database(':memory:').open,
    () => false,
  )
  .catch(() => false)
const isBuilt = existsSync(new URL('dist/console/index.html', root))

if (!isLoadable && allowed.length > 0) run(`npm rebuild --ignore-scripts=false ${allowed.join(' ')}`)
if (!isBuilt || process.argv.includes('--build')) run('npm run build')
