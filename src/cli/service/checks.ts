import { elapsedMs, isProblem, type Problem } from '../../core/kit/index.ts'
import type { Context } from '../kit/index.ts'

/** The result of one check, with a `fix` unless the state is `ok`. */
export type Check = Readonly<{ name: string; state: 'ok' | 'warn' | 'failed' | 'skipped'; message: string; fix?: string }>

const ok = (name: string, message: string): Check => ({ name, state: 'ok', message })
const warn = (name: string, message: string, fix: string): Check => ({ name, state: 'warn', message, fix })
const failed = (name: string, message: string, fix: string): Check => ({ name, state: 'failed', message, fix })

/** The shortest tokens live for minutes; with more skew, logins and agents fail. */
const maxSkewMs = 30_000
/** A login that expires within this time is a warning. */
const expirySoonMs = 30 * 60_000

type Readiness = Awaited<ReturnType<Context['api']['service']['readyz']>>

/** Checks everything a command depends on, from the address to the role. */
export async function allChecks(context: Context, programVersion: string): Promise<Check[]> {
  const start = context.clock.now()
  const reached = await context.api.service.readyz().catch((error: unknown) => asProblem(error))
  const midpoint = new Date((start.getTime() + context.clock.now().getTime()) / 2)
  const daemon = isProblem(reached) ? [unreached(reached, context)] : daemonChecks(reached, midpoint, programVersion)
  const login = isProblem(reached) && !isProblem(reached, 'UNAVAILABLE') ? skipped('login') : await loginCheck(context)
  return [ok('address', context.url), transportCheck(context.url), ...daemon, login]
}

const skipped = (name: string): Check => ({ name, state: 'skipped', message: 'skipped: the daemon does not answer' })

function asProblem(error: unknown): Problem {
  if (isProblem(error)) return error
  throw error
}

function unreached({ code, message }: Problem, { url }: Context): Check {
  const elsewhere = `pass the right address with --url or TENANTRY_URL instead of ${url}`
  if (code === 'UNREACHABLE') return failed('daemon', message, `start the daemon (tenantryd serve), or ${elsewhere}`)
  if (code === 'UNAVAILABLE') return failed('daemon', message, 'on the daemon machine: tenantryd doctor')
  return failed('daemon', `another server answers at this address: ${message}`, elsewhere)
}

function daemonChecks({ ready, version, time, checks }: Readiness, now: Date, programVersion: string): Check[] {
  const bad = Object.entries(checks).filter(([, check]) => !check.ok)
  const state = ready
    ? ok('daemon', `ready, version ${version}`)
    : failed(
        'daemon',
        `not ready: ${bad.map(([name, { message }]) => `${name} ${message ?? 'failed'}`).join(', ')}`,
        'on the daemon machine: tenantryd doctor',
      )
  const same = version.split('.').slice(0, 2).join('.') === programVersion.split('.').slice(0, 2).join('.')
  const versions = same
    ? ok('version', `client ${programVersion}`)
    : warn('version', `client ${programVersion}, daemon ${version}`, 'install the daemon version here')
  return [state, versions, clockCheck(elapsedMs(time, now.toISOString()))]
}

const clockCheck = (skewMs: number): Check =>
  Math.abs(skewMs) <= maxSkewMs
    ? ok('clock', `${Math.round(Math.abs(skewMs) / 1000)} s from the daemon's clock`)
    : failed(
        'clock',
        `${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the daemon's`,
        'enable time synchronisation on both machines',
      )

const transportCheck = (url: string): Check =>
  url.startsWith('https:') ? ok('transport', 'TLS, certificate verified') : ok('transport', 'not encrypted, loopback only')

const logInOrToken = 'tenantry login, or TENANTRY_TOKEN for scripts'

async function loginCheck({ api, logins, url, clock, byToken }: Context): Promise<Check> {
  try {
    const { account, token, expiresAt, setup } = await api.admin.whoAmI()
    const identity = `${account.name}, ${account.role}${token ? `, by API token ${token.name}` : ''}`
    if (setup.length > 0) return warn('login', `${identity}: account setup incomplete (${setup.join(', ')})`, 'tenantry login')
    const left = Date.parse(expiresAt) - clock.now().getTime()
    return left > expirySoonMs
      ? ok('login', identity)
      : warn('login', `${identity}, expires in ${Math.max(0, Math.round(left / 60_000))} min`, 'tenantry login')
  } catch (error) {
    const found = asProblem(error)
    const loginState = (await logins.at(url)) ? found.message : 'not logged in'
    const refused = found.code === 'UNAUTHENTICATED' && !byToken ? loginState : found.message
    return failed('login', refused, byToken ? 'replace TENANTRY_TOKEN, or unset it and run tenantry login' : logInOrToken)
  }
}
