// A process that serves one JSON route through the daemon's whole frame: identity by a real session, role, validation, request id,
// metrics, problems. It reads nothing from the database, so what is measured is the frame. Prints the token to call it with.
import { z } from 'zod'
import { admin, endpoint } from '../dist/core/contract/index.js'
import { adminRoutes, authenticateAdmin, consoleAccess, createAccountWithPassword } from '../dist/daemon/admin/index.js'
import { openRevocations, openSigningKeys, revocationLoop } from '../dist/daemon/auth/index.js'
import { migrate, openDatabase } from '../dist/daemon/db/index.js'
import { buildApp, makeMetrics, serve } from '../dist/daemon/http/index.js'
import { keyring } from '../dist/daemon/sealed/index.js'
import { runLoop } from '../dist/daemon/work/index.js'
import { makeLogger, systemClock, systemRandom } from '../dist/node/index.js'

const port = Number(process.argv[2])
const password = 'a long password for benches'
const draining = new AbortController().signal

const { db } = openDatabase('sqlite::memory:')
await migrate(db)
const machine = { db, clock: systemClock, random: systemRandom, log: makeLogger({ form: 'json', level: 'info', program: 'bench' }) }
const sealing = { ...machine, keyring: keyring([Buffer.alloc(32, 1).toString('base64')]) }
await createAccountWithPassword(machine, { kind: 'system', name: 'bench' }, { name: 'anna', role: 'admin', password })
const revocations = await openRevocations(machine)
void runLoop({ ...machine, owner: 'bench' }, revocationLoop(revocations), draining)
const deps = {
  ...sealing,
  keys: await openSigningKeys(sealing, 'admin'),
  revocations,
  totpRequired: false,
  console: consoleAccess(`http://127.0.0.1:${port}`),
  baseUrl: `http://127.0.0.1:${port}`,
}

const route = endpoint({
  method: 'GET',
  path: '/whoami',
  auth: admin('viewer'),
  query: z.strictObject({ limit: z.coerce.number().int().min(1).max(200).default(50) }),
  returns: z.object({ id: z.string(), name: z.string(), role: z.string() }),
  summary: 'Who is calling',
})
const served = [...adminRoutes(deps), serve(route, ({ actor }) => ({ id: actor.accountId, name: actor.name, role: actor.role }))]
const refuse = () => Promise.reject(new Error('no agents here'))
const app = buildApp(served, {
  ...machine,
  authenticate: { admin: authenticateAdmin(deps), agent: refuse },
  metrics: makeMetrics(),
  draining,
  trustedProxies: [],
})
await new Promise((ready) => app.listen(port, '127.0.0.1', ready))

const body = JSON.stringify({ name: 'anna', password })
const login = await fetch(`http://127.0.0.1:${port}/api/admin/v1/login`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body,
})
process.stderr.write(`${(await login.json()).token}\n`)
