import { reservedSlugs } from '../../core/boxes/index.ts'
import { hostPathWords } from '../../core/hosts/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { type Check, failed, passed, warning } from '../../node/command-line.ts'
import { silentLogger } from '../../node/index.ts'
import { type Db, dialectOf } from '../db/index.ts'
import { redisStore } from '../limits/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

/**
 * What only shows with more than one machine or tenant: hosts whose boxes are looked for on this one, daemons that do not know of each other's
 * budgets, tenants and hosts who are called like a word of the interface.
 */
export const fleetChecks = async (deps: Deps, redis: string | undefined): Promise<Check[]> => [
  ...(await chatServers(deps)),
  ...(await calledLikeWords(deps)),
  ...(redis === undefined ? await budgetsApart(deps) : []),
]

/** Loopback is one machine: of several hosts without an address all but one are looked for in the wrong place. */
async function chatServers({ db }: Deps): Promise<Check[]> {
  const rows = await db
    .selectFrom('boxes')
    .innerJoin('hosts', 'hosts.id', 'boxes.host_id')
    .leftJoin('platform_addresses', 'platform_addresses.host_id', 'boxes.host_id')
    .select('hosts.name')
    .distinct()
    .where('boxes.live', '=', 1)
    .where('internal_url', 'is not', null)
    .where('address', 'is', null)
    .orderBy('hosts.name')
    .execute()
  if (rows.length < 2) return []
  const names = rows.map(({ name }) => name)
  const some = names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ')
  const mend = 'for each that is another machine: `tenantry hosts platform <host> --address http://<its address>:{port}`'
  return [warning('chat servers', `those on ${some} are looked for on this machine`, mend)]
}

/** From before such names were refused. All works for them but the pages that would be at their name. */
async function calledLikeWords({ db }: Deps): Promise<Check[]> {
  const slugs = db
    .selectFrom('boxes')
    .select(['id', 'slug'])
    .where('live', '=', 1)
    .where('slug', 'in', [...reservedSlugs])
  const boxes = await slugs.orderBy('slug').execute()
  const named = db
    .selectFrom('hosts')
    .select(['id', 'name'])
    .where('name', 'in', [...hostPathWords])
  const hosts = await named.orderBy('name').execute()
  return [
    ...boxes.map(({ id, slug }) => calledLikeWord('box', slug, `/boxes/${id}`)),
    ...hosts.map(({ id, name }) => calledLikeWord('host', name, `/hosts/${id}`)),
  ]
}

const calledLikeWord = (what: 'box' | 'host', name: string, at: string): Check =>
  warning('names', `a ${what} is called ${name}, which is a word of the interface`, `programs ask for it by its id: GET /api/admin/v1${at}`)

/** Each daemon holds something for some seconds at a time; one that was just started again counts twice until then. */
async function budgetsApart({ db, clock }: Deps): Promise<Check[]> {
  if (dialectOf(db) === 'sqlite') return []
  const rows = await db
    .selectFrom('leases')
    .select('holder')
    .distinct()
    .where('holder', 'like', 'replica%')
    .where('expires_at', '>', isoNow(clock))
    .execute()
  if (rows.length < 2) return []
  const says = `${rows.length} daemons share the database, and each counts requests for itself: a tenant has its budget ${rows.length} times`
  return [warning('budgets', says, 'give all of them the same TENANTRY_REDIS')]
}

/** Asks the server as the daemon would: by taking something from a budget and giving it back. */
export async function redisCheck(clock: Clock, url: string | undefined): Promise<Check[]> {
  if (url === undefined) return []
  const store = await redisStore({ clock, log: silentLogger(), url, deadlineMs: 1000 })
  try {
    if (store.isUp()) return [passed('redis', 'answers, and takes what is written')]
    return [failed('redis', 'it does not answer', 'is the server running, and is TENANTRY_REDIS right? Requests go uncounted until then')]
  } finally {
    await store.close()
  }
}
