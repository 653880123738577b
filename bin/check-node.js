import { readFileSync } from 'node:fs'
import satisfies from 'semver/functions/satisfies.js'

// `engines` leaves out versions on which a native module ends the process after its start: nothing that runs later could name the cause.
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
if (!satisfies(process.version, engines.node)) {
  const { execPath, version } = process
  process.stderr.write(`Node.js ${version} (${execPath}) cannot run Tenantry, which needs ${engines.node}. fix: install such a version\n`)
  process.exit(1)
}
