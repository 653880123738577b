import { expandAddress, homeserverContract } from '../../core/homeserver/index.ts'
import { type Actor, actorLabel, type Clock, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { hostByName } from '../hosts/index.ts'
import { serveContract } from '../http/index.ts'
import { type PlainNetworks, whyForbidden } from './plain-networks.ts'

type Deps = Readonly<{ db: Db; clock: Clock; networks: PlainNetworks }>
type Wanted = Readonly<{ name: string; address: string | null }>

/** Throws NOT_FOUND (host), VALIDATION when passwords would cross an unlisted network unencrypted. */
export async function setPlatformAddress({ db, clock, networks }: Deps, actor: Actor, { name, address }: Wanted) {
  const wrong = address === null ? undefined : whyForbidden(networks, expandAddress(address, { port: 18_001, slug: 'slug' }))
  if (wrong) throw problem('VALIDATION', `address: ${wrong}`, { details: [{ path: 'body.address', reason: wrong }] })
  return db.transaction().execute(async (tx) => {
    const { id } = await hostByName(tx, name)
    await tx.deleteFrom('platform_addresses').where('host_id', '=', id).execute()
    if (address !== null) {
      const row = { host_id: id, address, updated_at: isoNow(clock), updated_by: actorLabel(actor) }
      await tx.insertInto('platform_addresses').values(row).execute()
    }
    await recordAudit(tx, clock, { actor, action: 'host.platform-address', subject: name, data: { address } })
    return { host: name, address }
  })
}

export async function listPlatformAddresses({ db }: Deps) {
  const addresses = await db
    .selectFrom('platform_addresses')
    .innerJoin('hosts', 'hosts.id', 'platform_addresses.host_id')
    .select(['hosts.name as host', 'address', 'platform_addresses.updated_at as updatedAt', 'updated_by as updatedBy'])
    .orderBy('hosts.name')
    .execute()
  return { addresses }
}

export const homeserverRoutes = (deps: Deps) =>
  serveContract(homeserverContract, {
    listPlatformAddresses: () => listPlatformAddresses(deps),
    setPlatformAddress: ({ actor, params, body }) => setPlatformAddress(deps, actor, { ...params, ...body }),
  })
