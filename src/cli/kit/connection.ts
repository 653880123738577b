import { join } from 'node:path'
import type { api } from '../../core/api.ts'
import type { Client } from '../../core/contract/index.ts'
import { forbiddenPort, problem } from '../../core/kit/index.ts'

/** Where a daemon with its default settings is. */
const defaultUrl = 'http://127.0.0.1:8440'

type Sources = Readonly<{ option?: string | undefined; environment?: string | undefined; lastLogin?: string | undefined }>

/** The daemon's address: the option, the variable, the last login, or the default; without a slash at the end. */
export const chooseUrl = ({ option, environment, lastLogin }: Sources): string =>
  checkUrl(option ?? (environment || undefined) ?? lastLogin ?? defaultUrl)

/** Tokens travel over https, or stay on this machine. */
function checkUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw problem('USAGE', `${given} is not the address of a daemon: it looks like https://tenantry.example`)
  if (url.protocol === 'http:' && !onLoopback(url.hostname))
    throw problem('USAGE', `${given} would send tokens unencrypted: use https, or http on 127.0.0.1 only`)
  const never = forbiddenPort(url)
  if (never) throw problem('USAGE', `${given} cannot be called: ${never}`)
  if (url.username || url.password) throw problem('USAGE', 'leave name and password out of the address; logging in asks for them')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

const onLoopback = (hostname: string) => hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)

/** The daemon's rooms as functions: `api.rollouts.pauseRollout({ params, body })`. */
export type Api = { readonly [Room in keyof typeof api]: Client<(typeof api)[Room]> }

type ApiDeps = Readonly<{
  baseUrl: string
  headers: () => Record<string, string> | Promise<Record<string, string>>
  fetch?: typeof globalThis.fetch
}>

/** Loads the contracts, which is the heavier part of a start, and makes a client of each. */
export async function connect(deps: ApiDeps): Promise<Api> {
  const [{ api: contracts }, { makeClient }, { settlingFetch }] = await Promise.all([
    import('../../core/api.ts'),
    import('../../core/contract/index.ts'),
    import('../../node/fetch.ts'),
  ])
  const reachable = { ...deps, fetch: deps.fetch ?? settlingFetch }
  return Object.fromEntries(Object.entries(contracts).map(([room, contract]) => [room, makeClient(contract, reachable)])) as Api
}

/** A login on one daemon. */
type StoredLogin = Readonly<{ token: string; name: string; expiresAt: string }>
type Stored = Readonly<{ last?: string; logins: Readonly<Record<string, StoredLogin>> }>

/** The logins of this person on this machine, by address, in one file that nobody else may read. */
export type StoredLogins = Readonly<{
  path: string
  last: () => Promise<string | undefined>
  at: (url: string) => Promise<StoredLogin | undefined>
  keep: (url: string, login: StoredLogin) => Promise<void>
  forget: (url: string) => Promise<void>
}>

export function storedLogins(env: Readonly<Record<string, string | undefined>>): StoredLogins {
  const path = join(env.XDG_CONFIG_HOME || join(env.HOME ?? '.', '.config'), 'tenantry', 'logins.json')
  const change = async (update: (stored: Stored) => Stored) => {
    const { writeFileAtomic } = await import('../../node/index.ts')
    await writeFileAtomic(path, `${JSON.stringify(update(await read(path)), null, 2)}\n`, { mode: 0o600 })
  }
  return {
    path,
    last: async () => (await read(path)).last,
    at: async (url) => (await read(path)).logins[url],
    keep: (url, login) => change(({ logins }) => ({ last: url, logins: { ...logins, [url]: login } })),
    forget: (url) =>
      change(({ last, logins }) => {
        const { [url]: _, ...others } = logins
        return { ...(last && last !== url ? { last } : {}), logins: others }
      }),
  }
}

async function read(path: string): Promise<Stored> {
  const { readFile, stat } = await import('node:fs/promises')
  const found = await stat(path).catch(() => undefined)
  if (!found) return { logins: {} }
  if (found.mode & 0o077) throw problem('CONFIG_INVALID', `others can read ${path}, which holds your logins: chmod 600 ${path}`)
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Stored
  } catch {
    throw problem('CONFIG_INVALID', `${path} cannot be read as JSON: remove it and log in again`)
  }
}
