import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sealOutputs } from '../../../src/daemon/boxes/box-secrets.ts'
import { openDatabase } from '../../../src/daemon/db/index.ts'
import { keyring } from '../../../src/daemon/sealed/index.ts'
import { systemClock, systemRandom } from '../../../src/node/index.ts'
import { aManifest, aProbe, aReport } from '../../support/boxes.ts'
import { aChatServer } from '../../support/chat-server.ts'
import { embeddedPostgres } from '../../support/embedded-postgres.ts'
import { aKey, anAgent, clientOf, type RunningDaemon } from '../../support/running-daemon.ts'
import { freePorts } from './ports.ts'
import { type Environment, eventually, program, type Ran, run } from './programs.ts'

// Daemons as processes over one PostgreSQL, and tenants whose boxes are simulated chat servers: for stories that need users and no containers.

export type Answer<Body> = Readonly<{ status: number; headers: Headers; body: Body; text: string }>
type Asked = Readonly<{ body?: unknown; daemon?: number; headers?: Readonly<Record<string, string>> }>

const password = 'correct horse battery'

type Given = Readonly<{ count?: number; more?: Environment; release?: string }>

/** `count` daemons, with the settings `more`, of this release or another one. Everything goes with `end()`. */
export async function simulatedTenants({ count = 1, more = {}, release }: Given = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-modules-'))
  const postgres = await embeddedPostgres()
  const first = await freePorts(count)
  const secretKey = aKey()
  const shared: Environment = {
    TENANTRY_DATABASE: postgres.url,
    TENANTRY_SECRET_KEY: secretKey,
    TENANTRY_BACKUP_KEY: aKey(),
    TENANTRY_SNAPSHOT_STORE: `file:${join(folder, 'snapshots')}`,
    TENANTRY_OBJECT_STORE: `file:${join(folder, 'objects')}`,
    TENANTRY_ADMIN_REQUIRE_TOTP: 'false',
    TENANTRY_LOG: 'json',
    ...more,
  }
  const daemons = Array.from({ length: count }, (_, n) => {
    const env = { ...shared, TENANTRY_LISTEN: `127.0.0.1:${first + n}`, TENANTRY_DATA_DIR: join(folder, `daemon-${n}`) }
    return { env, url: `http://127.0.0.1:${first + n}`, ...program('tenantryd', ['serve'], env, join(folder, `daemon-${n}.log`)) }
  })
  const [main] = daemons as [(typeof daemons)[number]]
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  const withPassword = ['--password-file', passwordFile]
  ok(await run('tenantryd', ['admin', 'create', '--name', 'root', '--role', 'admin', ...withPassword], main.env, release))
  for (const { start, url } of daemons) {
    start(release)
    await eventually('the daemon is ready', async () => (await fetch(`${url}/readyz`)).ok, { timeoutMs: 60_000 })
  }

  /** The command line of a person; each person has own stored logins. */
  const envOf = (person: string): Environment => ({ TENANTRY_URL: main.url, XDG_CONFIG_HOME: join(folder, `config-of-${person}`) })
  const tenantry = (person: string, ...args: string[]) => run('tenantry', args, envOf(person), release)
  const must = async (person: string, ...args: string[]) => ok(await tenantry(person, ...args))
  for (const { url } of daemons) await must('root', 'login', '--url', url, '--name', 'root', ...withPassword)

  /** As docs/modules.md shows for several daemons. */
  async function trustEachOther(): Promise<void> {
    const keys: string[] = []
    for (const { url } of daemons) keys.push((await must('root', 'audit', 'public-key', '--url', url)).stdout)
    for (const { env } of daemons) await writeFile(join(String(env.TENANTRY_DATA_DIR), 'audit-trusted.pub'), keys.join('\n'))
  }
  if (count > 1) await trustEachOther()
  const { token } = await clientOf(main.url).admin.login({ body: { name: 'root', password } })
  const api = clientOf(main.url, `Bearer ${token}`)
  const { agent } = await anAgent({ url: main.url, config: { baseUrl: main.url } } as RunningDaemon, `Bearer ${token}`, 'host-1')
  await api.boxes.applyManifest({ body: { manifest: aManifest() } })

  const chats: Awaited<ReturnType<typeof aChatServer>>[] = []
  const database = openDatabase(postgres.url)
  const sealing = { clock: systemClock, random: systemRandom, keyring: keyring([secretKey]) }

  /** A tenant with its chat server. `people`: role by name. */
  async function tenant(slug: string, people: Readonly<Record<string, string>>) {
    const chat = await aChatServer({ chatDomain: `${slug}.example` })
    chats.push(chat)
    const about = { slug, name: `School ${slug}`, plan: 'light', chatDomain: chat.chatDomain, host: 'host-1' } as const
    await api.boxes.provisionBox({ body: about })
    const command = await eventually(
      'the box is ordered',
      async () => (await agent.nextCommand({ body: { holding: [] } })).command ?? undefined,
    )
    const { id, leaseToken } = command
    const result = { report: aReport(slug, { at: new Date().toISOString() }), probe: aProbe() }
    await agent.postResult({ params: { id }, body: { leaseToken, outcome: { ok: true, result } } } as never)
    const { db } = database
    const box = await db.selectFrom('boxes').select('id').where('slug', '=', slug).executeTakeFirstOrThrow()
    await db.updateTable('boxes').set({ internal_url: chat.origin }).where('id', '=', box.id).execute()
    await db.transaction().execute((tx) => sealOutputs({ ...sealing, tx }, box.id as never, chat.secrets))
    for (const [localpart, role] of Object.entries(people))
      await api.users.createUser({ params: { slug }, body: { localpart, roles: [role], password } })
    return chat
  }

  async function send<Body>(method: string, path: string, { body, daemon = 0, headers = {} }: Asked = {}): Promise<Answer<Body>> {
    const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    const answer = await fetch(`${daemons[daemon]?.url}${path}`, {
      method,
      redirect: 'manual',
      headers: { connection: 'close', ...json, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json')
    return { status: answer.status, headers: answer.headers, text, body: (isJson ? JSON.parse(text) : undefined) as Body }
  }

  /** Requests of a user after a login. */
  async function user(slug: string, username: string) {
    const { body } = await send<{ token: string }>('POST', '/api/auth/v1/login', { body: { tenant: slug, username, password } })
    const authorization = `Bearer ${body.token}`
    const ask = <Body>(method: string, path: string, asked: Asked = {}) =>
      send<Body>(method, `/api/platform/v1${path}`, { ...asked, headers: { authorization, ...asked.headers } })
    return { ask, token: body.token }
  }

  const end = async () => {
    await Promise.all(daemons.map(({ kill }) => kill('SIGKILL')))
    await database.close()
    await Promise.all(chats.map(({ close }) => close()))
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  }
  return { folder, daemons, api, envOf, tenantry, must, tenant, user, send, passwordFile, db: database.db, end }
}

function ok(ran: Ran): Ran {
  if (ran.exitCode !== 0) throw new Error(`exit ${ran.exitCode}\n${ran.stdout}\n${ran.stderr}`)
  return ran
}

export type Simulated = Awaited<ReturnType<typeof simulatedTenants>>
