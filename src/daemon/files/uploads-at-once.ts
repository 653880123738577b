import { problem } from '../../core/kit/index.ts'

type Sender = Readonly<{ userId: string; tenantId: string }>
type Most = Readonly<{ user: number; tenant: number; all: number }>

/** An upload under way holds a connection, and up to a part of a file in memory, for as long as its sender likes to take. */
const usual: Most = { user: 4, tenant: 32, all: 64 }

/**
 * Lets so many uploads in at once that neither one user nor one tenant fills a daemon with what it sends slowly. Throws RATE_LIMITED, and
 * UNAVAILABLE where it is others who send.
 */
export function uploadsAtOnce(most: Most = usual) {
  const busy = new Map<string, number>()
  const count = (key: string) => busy.get(key) ?? 0
  const add = (keys: readonly string[], by: 1 | -1) => {
    for (const key of keys) {
      const now = count(key) + by
      if (now === 0) busy.delete(key)
      else busy.set(key, now)
    }
  }
  return async <T>({ userId, tenantId }: Sender, upload: () => Promise<T>): Promise<T> => {
    if (count(userId) >= most.user) throw crowded(`you send ${most.user} files already: send the next when one of them is through`)
    if (count(tenantId) >= most.tenant) throw crowded(`your organisation sends ${most.tenant} files already: try again in some seconds`)
    if (count('all') >= most.all)
      throw problem('UNAVAILABLE', 'too many files come in at once: try again in some seconds', { retryAfterSeconds: 5 })
    const keys = [userId, tenantId, 'all']
    add(keys, 1)
    try {
      return await upload()
    } finally {
      add(keys, -1)
    }
  }
}

const crowded = (says: string) => problem('RATE_LIMITED', says, { retryAfterSeconds: 5 })
