import { onTestFinished } from 'vitest'
import { tenantRecordContract } from '../../src/core/audit/index.ts'
import { makeClient } from '../../src/core/contract/index.ts'
import { isoNow } from '../../src/core/kit/index.ts'
import { passwordContract, peopleContract } from '../../src/core/people/index.ts'
import { sessionsContract } from '../../src/core/sessions/index.ts'
import { usersContract } from '../../src/core/users/index.ts'
import { auditRoutes } from '../../src/daemon/audit/index.ts'
import { openSigningKeys } from '../../src/daemon/auth/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import type { Mailer } from '../../src/daemon/mail/index.ts'
import { peopleFeature, peopleRoutes } from '../../src/daemon/people/index.ts'
import { authenticateUser, loginWaiters, sessionsRoutes } from '../../src/daemon/sessions/index.ts'
import { userSyncJobs, usersRoutes } from '../../src/daemon/users/index.ts'
import { drainJobs } from '../../src/daemon/work/index.ts'
import { silentLogger } from '../../src/node/index.ts'
import { anOperator } from './boxes-world.ts'
import { aChatServer } from './chat-server.ts'
import { aHomeserverWorld } from './homeserver-world.ts'
import { watchedRevocations } from './loops.ts'
import { aFolder } from './running-daemon.ts'
import { servedApp } from './served-app.ts'
import { userPorts } from './user-ports.ts'

/** `head` administers users and nothing else; `reader` reads the record alone. */
const peopleRoles = {
  defaultRole: 'member',
  roles: {
    member: { capabilities: [] },
    teacher: { capabilities: ['manageSpaces', 'manageBoards'] },
    reader: { capabilities: ['readAudit'] },
    head: { capabilities: ['manageUsers'] },
    'tenant-admin': { capabilities: ['manageUsers', 'manageSpaces', 'manageBoards', 'readAudit'] },
    'store-reviewer': { capabilities: ['reviewStore'] },
  },
} as const

type Mail = Parameters<Mailer['send']>[0]

/** The tenant `acme` with its chat server, the endpoints of its administration, of sessions and of operators, and a mailer that keeps its mails. */
export async function aPeopleWorld(db: Db, { hasMail = true } = {}) {
  const chat = await aChatServer()
  const ending = new AbortController()
  const base = await aHomeserverWorld(db, chat)
  onTestFinished(async () => {
    ending.abort()
    await base.close()
    await chat.close()
  })
  const log = silentLogger()
  const mails: Mail[] = []
  const mailer: Mailer = { send: async (mail) => `kept as ${mails.push(mail)}` }
  const world = {
    ...{ ...base, ...userPorts, log, roles: structuredClone(peopleRoles) as never },
    ...{ dataDir: await aFolder('people'), baseUrl: 'https://platform.example', mailer: hasMail ? mailer : undefined },
    keys: await openSigningKeys(base, 'platform'),
    revocations: await watchedRevocations(base, ending.signal),
    rules: { absoluteDays: 90, idleDays: 30, graceSeconds: 0, mostPerUser: 100 },
    waiting: loginWaiters(),
    refusals: {},
  }
  const routes = [...peopleRoutes(world), ...sessionsRoutes(world), ...usersRoutes(world), ...auditRoutes(world)]
  const authenticate = { platform: authenticateUser(world), admin: async () => ({ ...anOperator, role: 'admin' as const }) }
  const { url } = await servedApp(routes, { authenticate, clock: world.clock })
  const contract = { ...peopleContract, ...passwordContract, ...sessionsContract, ...usersContract, ...tenantRecordContract }
  const as = (token?: string) =>
    makeClient(contract, { baseUrl: url, headers: () => ({ connection: 'close', ...(token ? { authorization: `Bearer ${token}` } : {}) }) })
  const operator = as()
  const logIn = (localpart: string, password: string) =>
    operator.userLogin({ body: { tenant: 'acme', username: localpart, password, deviceName: 'test' } })
  /** A user of the operator, logged in. */
  const aUser = async (localpart: string, roles: readonly string[] = ['member'], more: Readonly<{ email?: string }> = {}) => {
    const password = `${localpart} knows this text`
    const body = { localpart, roles: [...roles], password, ...more }
    const { user } = await operator.createUser({ params: { slug: 'acme' }, body })
    return { userId: user.id, localpart, password, api: as((await logIn(localpart, password)).token) }
  }
  const handlers = { ...peopleFeature.jobs?.(world), ...userSyncJobs(world), 'privacy.erase-user': async () => undefined }
  const work = () => drainJobs({ db, clock: world.clock, log, handlers })
  /** Runs a call that sleeps. */
  const timed = async <Result>(call: Promise<Result>): Promise<Result> => {
    let isDone = false
    const ended = call.finally(() => {
      isDone = true
    })
    ended.catch(() => undefined)
    while (!isDone) {
      await new Promise((turn) => setTimeout(turn, 1))
      await world.clock.advance(100)
    }
    return ended
  }
  const outcome = async (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'done',
      (error: { code?: string }) => error.code ?? String(error),
    )
  /** The token of the newest mail. */
  const tokenOfMail = (): string => {
    const [, token = ''] = /token=(\S+)/.exec(mails.at(-1)?.text ?? '') ?? []
    return decodeURIComponent(token)
  }
  /** A user of another tenant. */
  const aStranger = async () => {
    const at = isoNow(world.clock)
    const tenant = { id: 'ten_other', slug: 'other', name: 'Other', chat_domain: 'other.example', plan: 'light', status: 'active' } as const
    await db
      .insertInto('tenants')
      .values({ ...tenant, created_at: at })
      .execute()
    const id = `usr_${'z'.repeat(20)}`
    const user = { id, tenant_id: tenant.id, localpart: 'zoe', display_name: 'Zoe', locale: null, avatar_url: null, roles: '["member"]' }
    await db
      .insertInto('users')
      .values({ ...user, status: 'active', created_at: at, updated_at: at, password_unknown_since: null, search_name: 'zoe zoe' })
      .execute()
    return id
  }
  return { ...world, chat, url, mails, as, operator, logIn, aUser, work, timed, outcome, tokenOfMail, aStranger }
}

export type PeopleWorld = Awaited<ReturnType<typeof aPeopleWorld>>
