import type { LoggedIn } from '../../core/homeserver/index.ts'
import { type Problem, problem, secret } from '../../core/kit/index.ts'
import { lockSubject } from '../../core/sessions/index.ts'
import { canonicalLocalpart, isPlatformAccount, matrixUserIdOf } from '../../core/users/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import type { TenantRecord } from '../tenants/index.ts'
import type { SessionsDeps } from './deps.ts'
import { type Attempt, orRelease, recordFailure, releaseAttempt, reserveAttempt } from './login-attempts.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'log' | 'homeservers' | 'waiting'>

type Proof = Readonly<{
  tenant: TenantRecord | undefined
  /** As the caller typed it. */
  given: string
  username: string
  password: string
  deviceName: string
  address: string
  /** Aborts when whoever asked has left. */
  signal?: AbortSignal | undefined
}>

type Right = Extract<LoggedIn, { kind: 'ok' }>
export type Proved = Readonly<{ attempt: Attempt; chat: Right; tenant: TenantRecord; localpart: string }>

/**
 * The only place that gives a password to a chat server. Every attempt takes one of ten places first; unknown and suspended tenants, names that
 * nobody can have, the platform's own accounts and users locked in the chat take the path of a wrong password. Throws ACCOUNT_LOCKED, LOGIN_FAILED
 * or, when the chat server says nothing of the password, HOMESERVER_UNREACHABLE.
 */
export async function provePassword(deps: Deps, proof: Proof): Promise<Proved> {
  const { tenant, given, username, address } = proof
  const localpart = canonicalLocalpart(username)
  const attempt = await reserveAttempt(deps, { lockSubject: lockSubject(tenant, given, username), address, signal: proof.signal })
  const answer = await orRelease(deps, attempt, () => askChatServer(deps, proof, localpart))
  if (answer.kind === 'ok' && tenant) return { attempt, chat: answer, tenant, localpart }
  if ('retryAfterSeconds' in answer) {
    await releaseAttempt(deps, attempt)
    throw homeserverProblem(answer, tenant?.slug ?? given)
  }
  throw await refusedLogin(deps, attempt)
}

/** Names as any chat server ever allowed them. */
const possibleName = /^[a-z0-9._=/+-]{1,255}$/

async function askChatServer(
  { homeservers, log }: Deps,
  { tenant, password, deviceName, signal }: Proof,
  localpart: string,
): Promise<LoggedIn> {
  if (tenant?.status !== 'active' || !possibleName.test(localpart) || isPlatformAccount(localpart)) return { kind: 'refused' }
  const homeserver = homeservers.of(tenant.id)
  const answer = await homeserver.login({ localpart, password: secret(password), deviceName, signal })
  if (answer.kind !== 'ok' || answer.userId === matrixUserIdOf(localpart, tenant.chatDomain)) return answer
  log.error({ tenant: tenant.slug }, 'a chat server logged somebody else in than it was asked for: the login was refused')
  await homeserver.logout(answer.accessToken)
  return { kind: 'refused' }
}

/** Nobody keeps the device of a proof that is not used. The caller hears what came of the proof, not whether the chat server forgot it. */
export async function endProof({ homeservers, log }: Deps, { tenant, chat }: Proved): Promise<void> {
  const ended = homeservers.of(tenant.id).logout(chat.accessToken)
  await ended.catch((error) => log.warn({ err: error, tenant: tenant.slug }, 'a chat device that only proved a password stays logged in'))
}

/** What every refused login looks like. A lock in the chat or a disabled user counts too: otherwise counting would tell that the password was right. */
export async function refusedLogin({ db, clock, log }: Pick<Deps, 'db' | 'clock' | 'log'>, attempt: Attempt): Promise<Problem> {
  if (await recordFailure({ db, clock }, attempt))
    log.warn({ network: attempt.network }, 'ten failed logins: an account is locked for 15 minutes')
  return problem('LOGIN_FAILED', 'tenant, name or password is wrong, or the account cannot be used')
}
