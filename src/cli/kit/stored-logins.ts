import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'

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
