import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectAgent, enrolAgent, newAgentKey } from '../../src/agent/channel/index.ts'
import { api } from '../../src/core/api.ts'
import { type AdminRole, type Client, makeClient } from '../../src/core/contract/index.ts'
import { type Clock, secret } from '../../src/core/kit/index.ts'
import type { PaymentProvider } from '../../src/core/payments/index.ts'
import { createAccountWithPassword } from '../../src/daemon/admin/index.ts'
import { loadConfig } from '../../src/daemon/config/index.ts'
import { startDaemon } from '../../src/daemon/daemon.ts'
import { migrate, openDatabase } from '../../src/daemon/db/index.ts'
import { silentLogger, systemClock, systemRandom } from '../../src/node/index.ts'
import { freePort } from './free-port.ts'

// Whole daemons on loopback ports, and their callers.

export type Api = { readonly [Room in keyof typeof api]: Client<(typeof api)[Room]> }

export const aFolder = (name: string) => mkdtemp(join(tmpdir(), `tenantry-${name}-`))
export const aKey = () => randomBytes(32).toString('base64')

type Given = Readonly<{ env?: Record<string, string>; clock?: Clock; provider?: PaymentProvider }>

/** A daemon on embedded defaults; `env` overrides them. Every response is checked against its contract. */
export async function aRunningDaemon({ env = {}, clock = systemClock, provider }: Given = {}) {
  const config = loadConfig({
    env: {
      TENANTRY_LISTEN: `127.0.0.1:${await freePort()}`,
      TENANTRY_DATA_DIR: await aFolder('daemon'),
      TENANTRY_BACKUP_KEY: aKey(),
      TENANTRY_SNAPSHOT_STORE: `file:${await aFolder('snapshots')}`,
      TENANTRY_ADMIN_REQUIRE_TOTP: 'false',
      ...env,
    },
  })
  const daemon = await startDaemon({
    config,
    clock,
    random: systemRandom,
    log: silentLogger(),
    validateAnswers: true,
    ...(provider && { provider }),
  })
  return { ...daemon, url: `http://${config.listen}`, config }
}

export type RunningDaemon = Awaited<ReturnType<typeof aRunningDaemon>>

export const clientOf = (baseUrl: string, authorization?: string): Api => {
  const headers = () => ({ connection: 'close', ...(authorization ? { authorization } : {}) })
  return Object.fromEntries(Object.entries(api).map(([room, contract]) => [room, makeClient(contract, { baseUrl, headers })])) as Api
}

/** The `Authorization` header of an admin of that role after a login. */
export async function loggedIn(
  { url, config }: RunningDaemon,
  role: AdminRole,
  { clock = systemClock, name = `the-${role}` }: { clock?: Clock; name?: string } = {},
): Promise<string> {
  const { db, close } = openDatabase(config.databaseUrl)
  await migrate(db)
  const password = aKey()
  const deps = { db, clock, random: systemRandom }
  await createAccountWithPassword(deps, { kind: 'system', name: 'test' }, { name, role, password })
  await close()
  const { token } = await clientOf(url).admin.login({ body: { name, password } })
  return `Bearer ${token}`
}

/** An enrolled agent after its hello: its client and its `Authorization` header. */
export async function anAgent({ url, config }: RunningDaemon, operator: string, name: string) {
  const { token } = await clientOf(url, operator).hosts.inviteHost({ body: { name } })
  const identity = await enrolAgent({ daemonUrl: config.baseUrl, agentVersion: '0.0.0' }, await newAgentKey(), secret(token))
  let authorization = ''
  const listening: typeof fetch = (input, init) => {
    authorization = new Headers(init?.headers).get('authorization') ?? ''
    return fetch(input, init)
  }
  const agent = connectAgent({ clock: systemClock, random: systemRandom, identity, fetch: listening })
  await agent.hello({ body: { protocolVersion: 1, agentVersion: '0.0.0', engine: null, resources: null, reports: [], holding: [] } })
  /** Of its latest call: a token is good for a minute. */
  const latestAuthorization = () => authorization
  return { agent, authorization, latestAuthorization, hostId: identity.hostId }
}
