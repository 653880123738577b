import { z } from 'zod'
import { AccountName, proofMs, providerLoginMs, requiresTotp, roleOfGroups, textsOf, usedSecondFactor } from '../../core/admin/index.ts'
import { type AdminRole, roleAtLeast } from '../../core/contract/index.ts'
import { type AdminActor, isoIn, isoNow, newId, problem, type SystemActor } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { isUniqueViolation, type WithTx } from '../db/index.ts'
import { accountById, accountOfSubject, type ProviderIdentity, type StoredAccount } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { shown } from './login.ts'
import type { CompanyLogin, ProviderLogin } from './login-provider.ts'
import { sealedCookie } from './sealed-cookie.ts'
import { addSession, endSessions, listOpenSessions, sessionExpiry, sessionMs } from './sessions.ts'
import { tokenHash } from './tokens.ts'

type Deps = AdminDeps
type WithCompany = Deps & Readonly<{ company: CompanyLogin }>

/** Throws CONFIG. */
export function assertCompanyLogin<D extends Deps>(deps: D): asserts deps is D & WithCompany {
  if (!deps.company) throw problem('CONFIG', 'This daemon has no provider of logins. fix: set admin.oidc.issuer')
}

/** The browser keeps it, sealed, while its person is at the provider. */
const Attempt = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  maxAgeSeconds: z.number(),
  next: z.string(),
  until: z.string(),
})

const cookies = sealedCookie({ table: 'company_login', row: 'cookie', column: 'attempt' }, Attempt)
const provider: SystemActor = { kind: 'system', name: 'login-provider' }

/** A new attempt: the provider's address, and the cookie that ties its answer to this browser. Nothing is stored here. */
export async function beginProviderLogin(deps: WithCompany, { next, prove }: Readonly<{ next: string; prove: boolean }>) {
  const text = () => Buffer.from(deps.random.bytes(32)).toString('base64url')
  const attempt = {
    state: text(),
    nonce: text(),
    verifier: text(),
    maxAgeSeconds: (prove ? proofMs : sessionMs) / 1000,
    next,
    until: isoIn(deps.clock, providerLoginMs),
  }
  const address = await deps.company.provider.addressOf(attempt, prove)
  return { address, cookie: cookies.seal(deps, attempt) }
}

function attemptIn(deps: Pick<Deps, 'keyring' | 'clock'>, cookie: string | undefined): z.output<typeof Attempt> {
  const attempt = cookies.open(deps, cookie)
  if (attempt) return attempt
  throw problem('LOGIN_FAILED', 'This login was begun in another browser, or more than ten minutes ago. fix: begin it again')
}

type Answer = Readonly<{ query: string; loginCookie: string | undefined; address: string }>

/**
 * Opens a session of the web console for a person whom the provider names. The account is made at the first login, and has the role that the
 * groups give at each one. Throws LOGIN_FAILED, FORBIDDEN (no role, no second factor), CONFLICT (the name of another account).
 */
export async function finishProviderLogin(deps: WithCompany, { query, loginCookie, address }: Answer) {
  const attempt = attemptIn(deps, loginCookie)
  const person = await deps.company.provider.personOf(query, attempt)
  const role = roleOf(deps, person) ?? (await refuseWithoutRole(deps, person))
  if (requiresTotp(role, deps.totpRequired) && !usedSecondFactor(person.claims, deps.company.secondFactor))
    await refuseWithoutSecondFactor(deps, person, role)
  const cookie = Buffer.from(deps.random.bytes(32)).toString('base64url')
  const accountId = await deps.db.transaction().execute(async (tx) => {
    const account = await accountFor({ ...deps, tx }, person, role)
    await openSession({ ...deps, tx }, account, { address, cookieHash: tokenHash(cookie), person })
    return account.id
  })
  await deps.revocations.readNow()
  const account = await accountById(deps.db, accountId)
  const opened = { next: attempt.next, expiresAt: sessionExpiry(deps.clock), ...shown(account, deps.totpRequired) }
  return { cookie, opened }
}

/** Undefined without a group that gives one. */
const roleOf = ({ company: { groupsClaim, roles } }: WithCompany, { claims }: ProviderLogin): AdminRole | undefined =>
  roleOfGroups(textsOf(claims[groupsClaim]), roles)

/** Throws FORBIDDEN. A lower role holds from now on, also for open sessions and API tokens; a higher one needs the second factor first. */
async function refuseWithoutSecondFactor(deps: WithCompany, person: ProviderLogin, role: AdminRole): Promise<never> {
  await deps.db.transaction().execute(async (tx) => {
    const account = await accountOfSubject(tx, person)
    if (account?.active && !roleAtLeast(role, account.role)) await changeRole({ ...deps, tx }, account, role)
  })
  await deps.revocations.readNow()
  const { acr, amr } = person.claims
  throw problem(
    'FORBIDDEN',
    `The role ${role} needs a second factor, and the ${deps.company.provider.name} names none (acr: ${listed(acr)}; amr: ${listed(amr)}). fix: require one there, or add its value to admin.oidc.secondFactor`,
  )
}

/**
 * Throws FORBIDDEN. The person has proven who they are, so that the reason is theirs to know. Sessions and API tokens of a former role end now. Not where
 * the provider sends no groups at all: that is a fault of its settings, or it leaves a long list out.
 */
async function refuseWithoutRole(deps: WithCompany, person: ProviderLogin): Promise<never> {
  const { provider: of, groupsClaim } = deps.company
  if (person.claims[groupsClaim] !== undefined) {
    await deps.db.transaction().execute((tx) => endAccess({ ...deps, tx }, person))
    await deps.revocations.readNow()
  }
  throw problem('FORBIDDEN', `None of your groups at the ${of.name} may log in here. fix: ask an admin to add one to admin.oidc.roles`)
}

async function endAccess({ tx, clock }: WithTx<Pick<Deps, 'clock'>>, person: ProviderLogin): Promise<void> {
  const account = await accountOfSubject(tx, person)
  if (!account?.active) return
  const deleted = await tx.deleteFrom('api_tokens').where('account_id', '=', account.id).returning('name').execute()
  const open = await listOpenSessions(tx, clock, account.id)
  if (deleted.length + open.length === 0) return
  await endSessions({ tx, clock }, account.id)
  const data = { from: account.role, to: null, sessions: open.length, tokens: deleted.map(({ name }) => name) }
  await recordAudit(tx, clock, { actor: provider, action: 'account.role-changed', subject: account.name, data })
}

const listed = (claim: unknown): string => textsOf(claim).join(', ').slice(0, 100) || 'none'

async function accountFor(deps: WithTx<WithCompany>, person: ProviderLogin, role: AdminRole): Promise<StoredAccount> {
  const { tx, clock } = deps
  const found = await accountOfSubject(tx, person)
  const account = found ?? (await insertAccount(deps, person, role))
  if (!account.active) throw problem('LOGIN_FAILED', `Account ${account.name} is disabled.`)
  await tx
    .updateTable('admin_accounts')
    .set({ last_login_at: isoNow(clock) })
    .where('id', '=', account.id)
    .execute()
  if (account.role !== role) await changeRole(deps, account, role)
  return { ...account, role }
}

/** Open sessions and API tokens follow within a second. */
async function changeRole({ tx, clock, totpRequired }: WithTx<WithCompany>, account: StoredAccount, role: AdminRole): Promise<void> {
  await tx.updateTable('admin_accounts').set({ role }).where('id', '=', account.id).execute()
  // Sessions of the former role may have been opened without a second factor.
  if (requiresTotp(role, totpRequired) && !requiresTotp(account.role, totpRequired)) await endSessions({ tx, clock }, account.id)
  else await publishRevocation(tx, clock, { kind: 'admin-account', subject: account.id })
  const data = { from: account.role, to: role }
  await recordAudit(tx, clock, { actor: provider, action: 'account.role-changed', subject: account.name, data })
}

/** An account of the same name is another person's until somebody says otherwise: a name at the provider must not take it over. */
async function insertAccount(
  { tx, clock, random, company }: WithTx<WithCompany>,
  person: ProviderLogin & ProviderIdentity,
  role: AdminRole,
) {
  const [claimed = ''] = textsOf(person.claims[company.nameClaim])
  if (company.nameClaim === 'email' && person.claims.email_verified === false)
    throw problem(
      'FORBIDDEN',
      `The ${company.provider.name} has not verified the mail address ${claimed.slice(0, 70)}. fix: verify it there`,
    )
  const name = AccountName.safeParse(claimed).data
  if (name === undefined)
    throw problem(
      'FORBIDDEN',
      `The claim ${company.nameClaim} of the ${company.provider.name} is no name of an account: ${JSON.stringify(claimed.slice(0, 70))}. fix: set admin.oidc.nameClaim`,
    )
  const id = newId(random, 'acc')
  const row = {
    ...{ id, name, role, status: 'active' as const, created_at: isoNow(clock), created_by: provider.name },
    ...{ password_hash: null, initial_password_expires_at: null, totp_secret: null, totp_confirmed_at: null, totp_step: null },
    ...{ last_login_at: null, provider_issuer: person.issuer, provider_subject: person.subject },
  }
  await tx
    .insertInto('admin_accounts')
    .values(row)
    .execute()
    .catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error
      throw problem(
        'CONFLICT',
        `An account ${name} exists already, and is another one. fix: set admin.oidc.nameClaim to a claim whose values are no names of other accounts`,
      )
    })
  await recordAudit(tx, clock, { actor: provider, action: 'account.created', subject: name, data: { role } })
  return accountById(tx, id)
}

type NewSession = Readonly<{ address: string; cookieHash: string; person: ProviderLogin }>

async function openSession(deps: WithTx<WithCompany>, account: StoredAccount, { address, cookieHash, person }: NewSession): Promise<void> {
  const { tx, clock, random, company } = deps
  const sessionId = newId(random, 'ses')
  await addSession(tx, clock, { id: sessionId, accountId: account.id, address, cookieHash, provenAt: provenAt(deps, person) })
  const actor: AdminActor = { kind: 'admin', accountId: account.id, name: account.name, role: account.role, sessionId }
  const secondFactor = usedSecondFactor(person.claims, company.secondFactor) ? 'provider' : 'none'
  const data = { address, secondFactor, console: true, provider: person.issuer }
  await recordAudit(tx, clock, { actor, action: 'session.opened', subject: sessionId, data })
}

/** A clock of the provider that is ahead proves nothing for longer. */
const provenAt = ({ clock }: Pick<Deps, 'clock'>, { provenAtMs }: ProviderLogin): string | null =>
  provenAtMs === undefined ? null : new Date(Math.min(provenAtMs, clock.now().getTime())).toISOString()
