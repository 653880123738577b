import { isoNow, type ManualClock, manualClock, secret } from '../../src/core/kit/index.ts'
import type { SessionRules } from '../../src/core/sessions/index.ts'
import { RoleBook } from '../../src/core/users/index.ts'
import { openSigningKeys } from '../../src/daemon/auth/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { type AuthenticateUser, authenticateUser, loginWaiters, type SessionsDeps } from '../../src/daemon/sessions/index.ts'
import { login } from '../../src/daemon/sessions/login.ts'
import type { UsersPorts } from '../../src/daemon/users/index.ts'
import { silentLogger, systemRandom } from '../../src/node/index.ts'
import { aKeyring } from './admin-world.ts'
import { type ChatServer, chatServer, homeserversOf } from './homeservers.ts'
import { watchedRevocations } from './loops.ts'
import { userPorts } from './user-ports.ts'

export const roleBook = RoleBook.parse({
  defaultRole: 'member',
  roles: { member: { capabilities: [] }, head: { capabilities: ['manageSpaces', 'manageUsers'] } },
})

export const aPassword = 'correct horse battery'

/** The state before the two tenants were created. */
export async function emptied(db: Db): Promise<void> {
  for (const table of ['refresh_tokens', 'sessions', 'users', 'user_login_failures', 'user_login_networks', 'tenants'] as const)
    await db.deleteFrom(table).execute()
}

/** Two tenants and their chat servers: slug `one`, `two`; domains `chat.one.example`, `chat.two.example`; ids `ten_one`, `ten_two`. */
export async function twoTenants(db: Db): Promise<Readonly<Record<'ten_one' | 'ten_two', ChatServer>>> {
  for (const slug of ['one', 'two']) {
    const row = { id: `ten_${slug}`, slug, name: slug, chat_domain: `chat.${slug}.example`, plan: 'light', status: 'active' } as const
    const rest = { time_zone: null, maintenance_window: null, created_at: isoNow(manualClock()) }
    await db
      .insertInto('tenants')
      .values({ ...row, ...rest, feature_flags: '{}' } as never)
      .execute()
  }
  return { ten_one: chatServer('chat.one.example'), ten_two: chatServer('chat.two.example') }
}

/** A clock that counts the sleeps callers wait for; the half-second reads of the revocations are excluded. */
type WaitedClock = ManualClock & Readonly<{ waiting(): number; unseen: ManualClock }>

function waitedClock(unseen = manualClock()): WaitedClock {
  let waiting = 0
  const sleep = (ms: number, signal?: AbortSignal) => {
    waiting += 1
    return unseen.sleep(ms, signal).finally(() => {
      waiting -= 1
    })
  }
  return { ...unseen, sleep, waiting: () => waiting, unseen }
}

export type SessionsWorld = SessionsDeps & UsersPorts & Readonly<{ clock: WaitedClock; authenticate: AuthenticateUser; stop: () => void }>

type Options = Readonly<{ clock?: WaitedClock; rules?: Partial<SessionRules>; log?: SessionsDeps['log'] }>

/** One replica over a database; a second call over the same database and chat servers is a second replica. */
export async function aSessionsWorld(
  db: Db,
  servers: Readonly<Record<string, ChatServer>>,
  { clock = waitedClock(), rules = {}, log = silentLogger() }: Options = {},
): Promise<SessionsWorld> {
  const abort = new AbortController()
  const base = { db, clock, random: systemRandom, keyring: aKeyring(), log }
  const keys = await openSigningKeys(base, 'platform')
  const revocations = await watchedRevocations({ db, clock: clock.unseen }, abort.signal)
  const whole = { absoluteDays: 90, idleDays: 30, graceSeconds: 0, mostPerUser: 100, ...rules }
  const deps = {
    ...base,
    keys,
    revocations,
    homeservers: homeserversOf(servers),
    roles: roleBook,
    rules: whole,
    waiting: loginWaiters(),
    refusals: {},
  }
  return { ...deps, ...userPorts, authenticate: authenticateUser(deps), stop: () => abort.abort() }
}

export const aChatUser = (server: ChatServer, localpart = 'anna', password = aPassword) =>
  server.createUser({ localpart, password: secret(password) })

type Given = Partial<Parameters<typeof login>[1]>

/** A valid login, with overrides. */
export const logIn = (room: SessionsWorld, given: Given = {}) =>
  login(room, { tenant: 'one', username: 'anna', password: aPassword, issueRefreshToken: true, address: '192.0.2.1', ...given })

/**
 * The outcome of each: `in` or the problem code. Time advances only while all pending ones sleep (refusals are delayed),
 * so that it never outruns a busy database.
 */
export async function outcomesOf(clock: WaitedClock, works: (() => Promise<unknown>)[]): Promise<string[]> {
  let open = works.length
  const codes = works.map((work) =>
    work()
      .then(
        () => 'in',
        (error: { code?: string }) => error.code ?? String(error),
      )
      .finally(() => {
        open -= 1
      }),
  )
  while (open > 0) {
    await new Promise((turn) => setImmediate(turn))
    if (open > 0 && clock.waiting() >= open) await clock.advance(50)
  }
  return Promise.all(codes)
}

export const outcomeOf = async (clock: WaitedClock, work: () => Promise<unknown>): Promise<string> =>
  (await outcomesOf(clock, [work]))[0] as string
