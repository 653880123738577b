import { readFileSync } from 'node:fs'
import satisfies from 'semver/functions/satisfies.js'

// An older Node.js fails on a syntax or a module that it does not know, without naming the cause.
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
if (!satisfies(process.version, engines.node)) {
  const { execPath, version } = process
  process.stderr.write(`Node.js ${version} (${execPath}) cannot run Tenantry, which needs ${engines.node}. fix: install such a version\n`)
  process.exit(1)
}
