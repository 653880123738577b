import type { Done, Fault } from '../../core/homeserver/index.ts'
import { isFault } from '../../core/homeserver/index.ts'
import { type Actor, type AutomationActor, isoNow, newId, problem, randomText, Secret, type TenantId } from '../../core/kit/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { acquireLease, releaseLease } from '../db/index.ts'
import { homeserverProblem, publicHostOf } from '../homeserver/index.ts'
import { type SealedColumn, seal, unseal } from '../sealed/index.ts'
import { existingTenant } from '../tenants/index.ts'
import type { AutomationDeps } from './deps.ts'

type Deps = Pick<AutomationDeps, 'db' | 'clock' | 'random' | 'keyring' | 'homeservers'>
type Credentials = Readonly<{ token: Secret; issuedAt: string }>
type OfTenant = Readonly<{ tenantId: TenantId; chatDomain: string }>

/** The tenant's own automation user: no administrator, outside the namespace of the application service. It cannot log in to the platform. */
const localpart = 'tenantry.automation'
const leaseMs = 60_000

export const automationSealedColumns: readonly SealedColumn[] = [{ table: 'automation_credentials', column: 'sealed', key: 'tenant_id' }]

const place = (tenantId: string) => ({ table: 'automation_credentials', row: tenantId, column: 'sealed' })

/**
 * The chat token of the automation user, the same until it is rotated or a restore of the box ends it. Each issue is audited. Throws
 * HOMESERVER_UNREACHABLE, CONFLICT (another call makes it right now).
 */
export async function showChatCredentials(deps: Deps, actor: AutomationActor) {
  const { db, clock } = deps
  const { tenantId, tenantSlug, chatDomain } = actor
  const { token, issuedAt } = (await validCredentials(deps, actor)) ?? (await issue(deps, actor))
  const userId = matrixUserIdOf(localpart, chatDomain)
  await db
    .transaction()
    .execute((tx) =>
      recordAudit(tx, clock, { actor, action: 'automation.credentials-issued', subject: tenantSlug, data: { tenantId, userId } }),
    )
  const homeserver = await publicHostOf(db, { id: tenantId, chatDomain })
  return { userId, accessToken: token.reveal(), homeserver, issuedAt }
}

/** The stored token if the chat server still accepts it. */
async function validCredentials(deps: Deps, { tenantId, chatDomain }: OfTenant): Promise<Credentials | undefined> {
  const { db, keyring, homeservers } = deps
  const row = await db.selectFrom('automation_credentials').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst()
  if (!row) return undefined
  const token = unseal(keyring, place(tenantId), row.sealed)
  const who = await homeservers.of(tenantId).whoami(token)
  if (isFault(who)) throw homeserverProblem(who as Fault, chatDomain)
  return who.kind === 'ok' && who.userId === matrixUserIdOf(localpart, chatDomain) ? { token, issuedAt: row.issued_at } : undefined
}

/** Sets a new password, which ends all tokens of the user, and logs in with it. The password is not stored. */
async function issue(deps: Deps, tenant: OfTenant): Promise<Credentials> {
  const { clock, random } = deps
  const lease = await acquireLease(deps, { name: `automation-user:${tenant.tenantId}`, owner: newId(random, 'cred'), ttlMs: leaseMs })
  if (!lease) throw problem('CONFLICT', 'Another call is creating the chat token. fix: repeat the call in a few seconds')
  try {
    const made = await validCredentials(deps, tenant)
    if (made) return made
    const token = await newToken(deps, tenant)
    const issuedAt = isoNow(clock)
    await keep(deps, tenant.tenantId, { token, issuedAt })
    return { token, issuedAt }
  } finally {
    await releaseLease(deps, lease)
  }
}

async function newToken({ homeservers, random }: Deps, { tenantId, chatDomain }: OfTenant): Promise<Secret> {
  const homeserver = homeservers.of(tenantId)
  const password = new Secret(randomText(random, 48))
  const created = await homeserver.createUser({ localpart, password, displayName: 'Automation' })
  if (created.kind === 'exists') assertDone(await homeserver.changePassword({ localpart, password, logOutDevices: true }), chatDomain)
  else if (created.kind !== 'created') throw notMade(created, chatDomain)
  const login = await homeserver.login({ localpart, password, deviceName: 'Automation' })
  if (login.kind !== 'ok') throw notMade(login, chatDomain)
  return login.accessToken
}

function assertDone(done: Done, chatDomain: string): void {
  if (done.kind !== 'ok') throw notMade(done, chatDomain)
}

const notMade = (answer: Readonly<{ kind: string }>, chatDomain: string) =>
  isFault(answer)
    ? homeserverProblem(answer, chatDomain)
    : problem('CONFLICT', `The chat server of ${chatDomain} does not let the automation user log in: ${answer.kind}`)

async function keep({ db, keyring, random }: Deps, tenantId: string, { token, issuedAt }: Credentials): Promise<void> {
  const row = { sealed: seal({ keyring, random }, place(tenantId), token), issued_at: issuedAt }
  await db
    .insertInto('automation_credentials')
    .values({ tenant_id: tenantId, ...row })
    .onConflict((c) => c.column('tenant_id').doUpdateSet(row))
    .execute()
}

/** Ends the token on the chat server, then deletes it here; the next call issues another. Throws NOT_FOUND, HOMESERVER_UNREACHABLE. */
export async function rotateChatCredentials(deps: Deps, actor: Actor, { slug }: Readonly<{ slug: string }>) {
  const { db, clock, random, homeservers } = deps
  const { id: tenantId, chatDomain } = await existingTenant(db, slug)
  const password = new Secret(randomText(random, 48))
  const done = await homeservers.of(tenantId).changePassword({ localpart, password, logOutDevices: true })
  if (done.kind !== 'absent') assertDone(done, chatDomain)
  const [rotatedAt, userId] = [isoNow(clock), matrixUserIdOf(localpart, chatDomain)]
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('automation_credentials').where('tenant_id', '=', tenantId).execute()
    await recordAudit(tx, clock, { actor, action: 'automation.credentials-rotated', subject: slug, data: { userId } })
  })
  return { tenant: slug, userId, rotatedAt }
}
