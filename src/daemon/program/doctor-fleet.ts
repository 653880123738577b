import { inPlaceText, reservedSlugs } from '../../core/boxes/index.ts'
import { hostPathWords } from '../../core/hosts/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { type Check, failed, passed, warning } from '../../node/command-line.ts'
import { silentLogger } from '../../node/index.ts'
import { type Db, dialectOf } from '../db/index.ts'
import { redisStore } from '../limits/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

/**
 * Checks for several machines: hosts without a platform address, reserved names of boxes and hosts, boxes in the files of a former owner, and daemons with separate request
 * budgets.
 */
export const fleetChecks = async (deps: Deps, redis: string | undefined): Promise<Check[]> => [
  ...(await chatServers(deps)),
  ...(await calledLikeWords(deps)),
  ...(await completedInPlace(deps)),
  ...(redis === undefined ? await budgetsApart(deps) : []),
]

/** Without an address a host's boxes are reached at this machine, which is right for one host at most. */
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
  const fix = 'for each other machine: `tenantry hosts platform <host> --address http://<its address>:{port}`'
  return [warning('chat servers', `${some} have no platform address; their chat servers are reached at this machine`, fix)]
}

/** Reports names from before reserved words were refused. Only their pages by name are unreachable. */
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
  warning('names', `the ${what} name ${name} is a reserved word of the API`, `address the ${what} by id: GET /api/admin/v1${at}`)

/** Boxes that an earlier version completed in the files of their former owners. */
async function completedInPlace({ db }: Deps): Promise<Check[]> {
  const managed = db.selectFrom('boxes').select('slug').where('live', '=', 1).where('managed', '=', 1).where('folder', 'is not', null)
  const rows = await managed.orderBy('slug').execute()
  return rows.map(({ slug }) => {
    const [says, fix] = inPlaceText(slug).split('. fix: ') as [string, string]
    return warning('boxes', says, fix)
  })
}

/** Counts daemons by their leases; a restarted daemon counts twice until its old leases expire. */
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
  const says = `${rows.length} daemons share the database but count requests separately: each tenant has ${rows.length} times its budget`
  return [warning('budgets', says, 'set the same TENANTRY_REDIS on all daemons')]
}

/** Tests Redis with a write, as the daemon uses it. */
export async function redisCheck(clock: Clock, url: string | undefined): Promise<Check[]> {
  if (url === undefined) return []
  const store = await redisStore({ clock, log: silentLogger(), url, deadlineMs: 1000 })
  try {
    if (store.isUp()) return [passed('redis', 'reachable and writable')]
    return [failed('redis', 'does not answer; requests are not counted', 'check that the server runs and that TENANTRY_REDIS is correct')]
  } finally {
    await store.close()
  }
}
