import { elapsedMs, isProblem, type Problem } from '../../core/kit/index.ts'
import type { Context } from '../kit/index.ts'

/** One thing that was looked at. `mend` says what to do about anything but `ok`. */
export type Check = Readonly<{ name: string; state: 'ok' | 'warn' | 'failed' | 'skipped'; says: string; mend?: string }>

const ok = (name: string, says: string): Check => ({ name, state: 'ok', says })
const warn = (name: string, says: string, mend: string): Check => ({ name, state: 'warn', says, mend })
const failed = (name: string, says: string, mend: string): Check => ({ name, state: 'failed', says, mend })

/** Tokens live for minutes at the tightest; beyond this, logins and agents begin to fail. */
const mostSkewMs = 30_000
/** A login that ends within this is worth a word. */
const soonMs = 30 * 60_000

type Readiness = Awaited<ReturnType<Context['api']['service']['readyz']>>

/** All that could keep a command from working, from the address up to the role. */
export async function allChecks(context: Context, programVersion: string): Promise<Check[]> {
  const start = context.clock.now()
  const reached = await context.api.service.readyz().catch((error: unknown) => asProblem(error))
  const middle = new Date((start.getTime() + context.clock.now().getTime()) / 2)
  const daemon = isProblem(reached) ? [unreached(reached, context)] : daemonChecks(reached, middle, programVersion)
  const login = isProblem(reached) && !isProblem(reached, 'UNAVAILABLE') ? skipped('login') : await loginCheck(context)
  return [ok('address', context.url), transportCheck(context.url), ...daemon, login]
}

const skipped = (name: string): Check => ({ name, state: 'skipped', says: 'not looked at: the daemon does not answer' })

function asProblem(error: unknown): Problem {
  if (isProblem(error)) return error
  throw error
}

function unreached({ code, message }: Problem, { url }: Context): Check {
  const elsewhere = `give its address: --url or TENANTRY_URL instead of ${url}`
  if (code === 'UNREACHABLE') return failed('daemon', message, `start it (tenantryd serve), or ${elsewhere}`)
  if (code === 'UNAVAILABLE') return failed('daemon', message, 'on its machine: tenantryd doctor')
  return failed('daemon', `something else answers there: ${message}`, elsewhere)
}

function daemonChecks({ ready, version, time, checks }: Readiness, now: Date, programVersion: string): Check[] {
  const bad = Object.entries(checks).filter(([, check]) => !check.ok)
  const state = ready
    ? ok('daemon', `ready, version ${version}`)
    : failed(
        'daemon',
        `not ready: ${bad.map(([name, { message }]) => `${name} ${message ?? 'failed'}`).join(', ')}`,
        'on its machine: tenantryd doctor',
      )
  const same = version.split('.').slice(0, 2).join('.') === programVersion.split('.').slice(0, 2).join('.')
  const versions = same
    ? ok('version', `this program is ${programVersion}`)
    : warn('version', `this program is ${programVersion}, the daemon ${version}`, 'install the same version here')
  return [state, versions, clockCheck(elapsedMs(time, now.toISOString()))]
}

const clockCheck = (skewMs: number): Check =>
  Math.abs(skewMs) <= mostSkewMs
    ? ok('clock', `${Math.round(Math.abs(skewMs) / 1000)} s apart from the daemon's`)
    : failed(
        'clock',
        `${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the daemon's`,
        'set the clock: turn on time synchronisation here or there',
      )

const transportCheck = (url: string): Check =>
  url.startsWith('https:') ? ok('transport', 'TLS, certificate checked') : ok('transport', 'not encrypted, on this machine only')

const logInOrToken = 'tenantry login, or TENANTRY_TOKEN for scripts'

async function loginCheck({ api, logins, url, clock, byToken }: Context): Promise<Check> {
  try {
    const { account, token, expiresAt, setup } = await api.admin.whoAmI()
    const who = `${account.name}, ${account.role}${token ? `, by API token ${token.name}` : ''}`
    if (setup.length > 0) return warn('login', `${who}: not set up in full (${setup.join(', ')})`, 'tenantry login')
    const left = Date.parse(expiresAt) - clock.now().getTime()
    return left > soonMs
      ? ok('login', who)
      : warn('login', `${who}, for ${Math.max(0, Math.round(left / 60_000))} min more`, 'tenantry login')
  } catch (error) {
    const found = asProblem(error)
    const stored = (await logins.at(url)) ? found.message : 'nobody is logged in here'
    const refused = found.code === 'UNAUTHENTICATED' && !byToken ? stored : found.message
    return failed('login', refused, byToken ? 'set another TENANTRY_TOKEN, or unset it and type tenantry login' : logInOrToken)
  }
}
