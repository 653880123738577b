import type { Revocations } from '../auth/index.ts'
import type { Db } from '../db/index.ts'

type Deps = Readonly<{ db: Db; revocations: Revocations }>

/**
 * Whether a host is a tenant's chat domain. All are held in memory, so that made-up hosts cost no query; a tenant that came, changed or went is
 * read again before the next answer, on every replica within a second. Where memory proves nothing the database is asked. Throws when it is away.
 */
export function tenantHosts({ db, revocations }: Deps): (host: string) => Promise<boolean> {
  const hosts = new Map<string, string>()
  const hostOf = new Map<string, string>()
  let changes: Set<string> | 'everything' = 'everything'
  let reading: Promise<void> | undefined
  revocations.onRevoked((what) => {
    if (what === 'everything') changes = 'everything'
    else if (what.kind === 'tenant' && changes !== 'everything')
      changes = changes.size < maxByName ? changes.add(what.subject) : 'everything'
  })

  const put = (changed: Set<string> | 'everything', rows: readonly Readonly<{ id: string; chat_domain: string }>[]) => {
    for (const id of changed === 'everything' ? [...hostOf.keys()] : changed) {
      const host = hostOf.get(id)
      if (host !== undefined && hosts.get(host) === id) hosts.delete(host)
      hostOf.delete(id)
    }
    for (const { id, chat_domain } of rows) {
      hosts.set(chat_domain, id)
      hostOf.set(id, chat_domain)
    }
  }
  const isBehind = () => changes === 'everything' || changes.size > 0
  const catchUp = async () => {
    while (isBehind()) {
      const changed = changes
      changes = new Set()
      try {
        put(changed, await rowsOf(db, changed))
      } catch (error) {
        changes = 'everything'
        throw error
      }
    }
  }

  const caughtUp = () => {
    reading = undefined
  }

  return async (host) => {
    if (!revocations.fresh()) return isThere(db, host)
    if (isBehind()) reading ??= catchUp().finally(caughtUp)
    if (reading) await reading
    return hosts.has(host)
  }
}

/** More names than this in one query is more than databases like. */
const maxByName = 500

function rowsOf(db: Db, changed: Set<string> | 'everything') {
  const query = db.selectFrom('tenants').select(['id', 'chat_domain'])
  if (changed === 'everything') return query.execute()
  return query.where('id', 'in', [...changed]).execute()
}

async function isThere(db: Db, host: string): Promise<boolean> {
  return (await db.selectFrom('tenants').select('id').where('chat_domain', '=', host).executeTakeFirst()) !== undefined
}
