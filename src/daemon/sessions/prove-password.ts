import type { LoggedIn } from '../../core/homeserver/index.ts'
import { type Clock, isProblem, type ProblemCode, secret } from '../../core/kit/index.ts'
import { delayRefusal, lockSubject } from '../../core/sessions/index.ts'
import { canonicalLocalpart, isPlatformAccount, matrixUserIdOf } from '../../core/users/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import type { TenantRecord } from '../tenants/index.ts'
import type { RefusalTimes, SessionsDeps } from './deps.ts'
import { type Attempt, refused, withAttempt } from './login-attempts.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'log' | 'homeservers' | 'waiting'>

type Credentials = Readonly<{
  tenant: TenantRecord | undefined
  /** The tenant as the caller entered it. */
  tenantEntered: string
  username: string
  password: string
  deviceName: string
  address: string
  /** Aborts when the caller disconnects. */
  signal?: AbortSignal | undefined
}>

type ChatDevice = Extract<LoggedIn, { kind: 'ok' }>
export type Proof = Readonly<{ attempt: Attempt; chat: ChatDevice; tenant: TenantRecord; localpart: string }>

/**
 * The only place that sends a password to a chat server, under one login attempt. Unknown and deleted tenants, invalid names, platform accounts and
 * locked chat accounts are refused like a wrong password; whether the tenant is suspended is decided by `use`, after the proof. `use` runs with the proof: it calls `recordSuccess`, or returns `refused`. Unless
 * it succeeds, the new chat device is logged out; afterwards that is up to the caller. Throws ACCOUNT_LOCKED, LOGIN_FAILED or, when the chat
 * server does not answer, HOMESERVER_UNREACHABLE.
 */
export const provePassword = <T>(
  deps: Deps,
  credentials: Credentials,
  use: (proof: Proof) => Promise<T | typeof refused>,
): Promise<{ proof: Proof; used: T }> => {
  const { tenant, tenantEntered, username, address, signal } = credentials
  const localpart = canonicalLocalpart(username)
  const input = { lockSubject: lockSubject(tenant, tenantEntered, username), address, signal }
  return withAttempt(deps, input, async (attempt) => {
    const answer = await loginToChat(deps, credentials, localpart)
    if ('retryAfterSeconds' in answer) throw homeserverProblem(answer, tenant?.slug ?? tenantEntered)
    if (answer.kind !== 'ok' || !tenant) return refused
    const proof = { attempt, chat: answer, tenant, localpart }
    const used = await orLogoutDevice(deps, proof, () => use(proof))
    if (used !== refused) return { proof, used }
    await logoutDevice(deps, proof)
    return refused
  })
}

/** Every name that any chat server ever allowed. */
const possibleName = /^[a-z0-9._=/+-]{1,255}$/

async function loginToChat({ homeservers, log }: Deps, credentials: Credentials, localpart: string): Promise<LoggedIn> {
  const { tenant, password, deviceName, signal } = credentials
  if (!tenant || tenant.status === 'deleting' || !possibleName.test(localpart) || isPlatformAccount(localpart)) return { kind: 'refused' }
  const homeserver = homeservers.of(tenant.id)
  const answer = await homeserver.login({ localpart, password: secret(password), deviceName, signal })
  if (answer.kind !== 'ok' || answer.userId === matrixUserIdOf(localpart, tenant.chatDomain)) return answer
  log.error({ tenant: tenant.slug }, 'login refused: the chat server logged in another user than requested')
  await homeserver.logout(answer.accessToken)
  return { kind: 'refused' }
}

/** Logs out the chat device of a proof that is not used. Failures are logged, not thrown. */
export async function logoutDevice({ homeservers, log }: Pick<Deps, 'homeservers' | 'log'>, { tenant, chat }: Proof): Promise<void> {
  const logout = homeservers.of(tenant.id).logout(chat.accessToken)
  await logout.catch((error) => log.warn({ err: error, tenant: tenant.slug }, 'the chat device of a password check stays logged in'))
}

/** Runs the work, and logs the chat device out if it throws. */
export async function orLogoutDevice<T>(deps: Pick<Deps, 'homeservers' | 'log'>, proof: Proof, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await logoutDevice(deps, proof)
    throw error
  }
}

/**
 * Delays refused logins, so that response time reveals neither the reason nor the duration of other attempts. All other results return at once.
 * A locked account asked no chat server, so its refusal needs no other time than a second. `codes`: problems that are delayed alike.
 */
export async function withConstantTimeRefusal<Result>(
  { clock, refusals }: Readonly<{ clock: Clock; refusals: RefusalTimes }>,
  work: () => Promise<Result>,
  codes: readonly ProblemCode[] = ['LOGIN_FAILED'],
): Promise<Result> {
  const arrivedMs = clock.monotonicMs()
  try {
    return await work()
  } catch (error) {
    const nowMs = clock.monotonicMs()
    if (isProblem(error) && codes.includes(error.code)) {
      const { delayMs, slow } = delayRefusal(nowMs - arrivedMs, nowMs, refusals.slow)
      refusals.slow = slow
      await clock.sleep(delayMs)
    }
    if (isProblem(error, 'ACCOUNT_LOCKED')) await clock.sleep(delayRefusal(nowMs - arrivedMs, nowMs).delayMs)
    throw error
  }
}
