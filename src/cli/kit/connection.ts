import { join } from 'node:path'
import type { api } from '../../core/api.ts'
import type { Client, Contract } from '../../core/contract/index.ts'
import { type Clock, forbiddenPort, isLoopback, isProblem, problem } from '../../core/kit/index.ts'

/** The address of a daemon with default settings. */
const defaultUrl = 'http://127.0.0.1:8440'

type Sources = Readonly<{ option?: string | undefined; environment?: string | undefined; lastLogin?: string | undefined }>

/** The daemon's address from the option, the variable, the last login or the default, without a trailing slash. Throws USAGE. */
export const chooseUrl = ({ option, environment, lastLogin }: Sources): string =>
  checkUrl(option ?? (environment || undefined) ?? lastLogin ?? defaultUrl)

/** Tokens travel over https, or stay on this machine. */
function checkUrl(input: string): string {
  const url = URL.canParse(input) ? new URL(input) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw problem('USAGE', `${input} is not a daemon address; expected a URL such as https://tenantry.example`)
  if (url.protocol === 'http:' && !isLoopback(url))
    throw problem('USAGE', `${input} would send tokens unencrypted; use https (plain http works on 127.0.0.1 only)`)
  const forbidden = forbiddenPort(url)
  if (forbidden) throw problem('USAGE', `${input} cannot be called: ${forbidden}`)
  if (url.username || url.password)
    throw problem('USAGE', 'the address contains a user name or password; remove them: tenantry login prompts for credentials')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** The daemon's features as functions: `api.rollouts.pauseRollout({ params, body })`. */
export type Api = { readonly [Feature in keyof typeof api]: Client<(typeof api)[Feature]> }

type ApiDeps = Readonly<{
  baseUrl: string
  headers: () => Record<string, string> | Promise<Record<string, string>>
  fetch?: typeof globalThis.fetch
  clock: Clock
  /** Writes a line for a person. */
  notify: (line: string) => void
  /** Proves again that the session is its owner's. False if stdin is not a terminal. */
  reauthenticate?: (api: Api) => Promise<boolean>
}>

/** Loads the contracts, the slowest part of a start, and makes a client of each. */
export async function connect(deps: ApiDeps): Promise<Api> {
  const [{ api: contracts }, { makeClient }, { settlingFetch }, { awaitAnswer }] = await Promise.all([
    import('../../core/api.ts'),
    import('../../core/contract/index.ts'),
    import('../../node/fetch.ts'),
    import('./await-answer.ts'),
  ])
  const { clock, notify, reauthenticate, ...clientDeps } = { ...deps, fetch: deps.fetch ?? settlingFetch }
  const answerDeps = { clock, baseUrl: deps.baseUrl, notify: once(notify) }
  const awaited = (contract: Contract) => {
    const client: Readonly<Record<string, Call>> = makeClient(contract, clientDeps) as never
    const calls = Object.entries(contract).map(([name, endpoint]): [string, Call] => {
      const invoke: Call = (call, options = {}) =>
        awaitAnswer(answerDeps, endpoint, (timedOut) => {
          const signal = options.signal ? AbortSignal.any([options.signal, timedOut]) : timedOut
          return (client[name] as Call)(call, { ...options, signal })
        })
      return [name, repeating(invoke, async () => (await reauthenticate?.(connected)) === true)]
    })
    return Object.fromEntries(calls)
  }
  const connected: Api = Object.fromEntries(Object.entries(contracts).map(([feature, contract]) => [feature, awaited(contract)])) as never
  return connected
}

/** Repeats a call that was refused until the session proves again whose it is. */
const repeating =
  (invoke: Call, reauthenticate: () => Promise<boolean>): Call =>
  (call, options) =>
    invoke(call, options).catch(async (error: unknown) => {
      if (!isProblem(error, 'REAUTHENTICATION_REQUIRED') || !(await reauthenticate())) throw error
      return invoke(call, options)
    })

type Call = (call?: never, options?: Readonly<{ signal?: AbortSignal }>) => Promise<unknown>

/** A command makes many calls; one line is enough. */
function once(notify: (line: string) => void): (line: string) => void {
  let isDone = false
  return (line) => {
    if (!isDone) notify(line)
    isDone = true
  }
}

type StoredLogin = Readonly<{ token: string; name: string; expiresAt: string }>
/** A user of a tenant. `developerId`: as registered from this machine. */
export type StoredUser = StoredLogin & Readonly<{ tenant: string; developerId?: string | undefined }>

type LoginsFile = Readonly<{
  last?: string
  logins: Readonly<Record<string, StoredLogin>>
  users?: Readonly<Record<string, StoredUser>>
}>

/** The logins of this person on this machine, by daemon address, in one file with mode 0600. */
export type StoredLogins = Readonly<{
  path: string
  last: () => Promise<string | undefined>
  at: (url: string) => Promise<StoredLogin | undefined>
  save: (url: string, login: StoredLogin) => Promise<void>
  /** Removes the login; its address stays the default, so that the next login goes to the same daemon. */
  forget: (url: string) => Promise<void>
  /** Every address with a login. */
  all: () => Promise<readonly (StoredLogin & { url: string })[]>
  /** The login of a user of a tenant, beside that of an operator. */
  userAt: (url: string) => Promise<StoredUser | undefined>
  saveUser: (url: string, login: StoredUser) => Promise<void>
  forgetUser: (url: string) => Promise<void>
  /** Makes an address the default. */
  use: (url: string) => Promise<void>
}>

export function storedLogins(env: Readonly<Record<string, string | undefined>>): StoredLogins {
  const path = join(env.XDG_CONFIG_HOME || join(env.HOME ?? '.', '.config'), 'tenantry', 'logins.json')
  const change = async (update: (file: LoginsFile) => LoginsFile) => {
    const { writeFileAtomic } = await import('../../node/index.ts')
    await writeFileAtomic(path, `${JSON.stringify(update(await read(path)), null, 2)}\n`, { mode: 0o600 })
  }
  return {
    path,
    last: async () => (await read(path)).last,
    at: async (url) => (await read(path)).logins[url],
    save: (url, login) => change(({ logins, ...file }) => ({ ...file, last: url, logins: { ...logins, [url]: login } })),
    forget: (url) =>
      change(({ logins, ...file }) => {
        const { [url]: _, ...others } = logins
        return { ...file, logins: others }
      }),
    userAt: async (url) => (await read(path)).users?.[url],
    saveUser: (url, login) => change(({ users, ...file }) => ({ ...file, last: url, users: { ...users, [url]: login } })),
    forgetUser: (url) =>
      change(({ users, ...file }) => {
        const { [url]: _, ...others } = users ?? {}
        return { ...file, users: others }
      }),
    all: async () => Object.entries((await read(path)).logins).map(([url, login]) => ({ ...login, url })),
    use: (url) => change((file) => ({ ...file, last: url })),
  }
}

async function read(path: string): Promise<LoginsFile> {
  const { readFile, stat } = await import('node:fs/promises')
  const found = await stat(path).catch(() => undefined)
  if (!found) return { logins: {} }
  if (found.mode & 0o077) throw problem('CONFIG_INVALID', `${path} holds login tokens and other users can read it. fix: chmod 600 ${path}`)
  try {
    return JSON.parse(await readFile(path, 'utf8')) as LoginsFile
  } catch {
    throw problem('CONFIG_INVALID', `${path} is not valid JSON. fix: delete it and log in again`)
  }
}
