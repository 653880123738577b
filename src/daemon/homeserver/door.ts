import { type BoxId, portsFrom } from '../../core/boxes/index.ts'
import { type Fault, platformUrl } from '../../core/homeserver/index.ts'
import type { Secret, TenantId } from '../../core/kit/index.ts'
import { boxSecret } from '../boxes/index.ts'
import type { Db } from '../db/index.ts'
import type { Keyring } from '../sealed/index.ts'
import { type PlainNetworks, whyNotThere } from './plain-networks.ts'

/** The way to a tenant's chat server: the platform listener of its box's edge. */
export type Door = Readonly<{
  boxId: BoxId
  chatDomain: string
  origin: string
  edgeSecret: Secret
  /** As its agent last said: nothing may be written there. */
  fenced: boolean
}>

export type DoorDeps = Readonly<{ db: Db; keyring: Keyring; networks: PlainNetworks }>

const shut = (reason: string): Fault => ({ kind: 'unreachable', retryAfterSeconds: 60, reason })

/** The door of the live box, or why there is none. */
export async function findDoor({ db, keyring, networks }: DoorDeps, tenantId: TenantId): Promise<Door | Fault> {
  const box = await db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .leftJoin('platform_addresses', 'platform_addresses.host_id', 'boxes.host_id')
    .select(['boxes.id', 'boxes.slug', 'internal_url', 'first_port', 'fenced', 'chat_domain', 'address'])
    .where('boxes.tenant_id', '=', tenantId)
    .where('boxes.live', '=', 1)
    .executeTakeFirst()
  if (!box) return shut('the tenant has no live box')
  const { slug, internal_url: internalUrl, first_port: first, address } = box
  const url = platformUrl({ slug, internalUrl, address, ports: first === null ? null : portsFrom(first) })
  if (url === null) return shut('its box has no listener for the platform: `tenantry boxes adopt` completes it')
  const wrong = whyNotThere(networks, url)
  if (wrong) return shut(wrong)
  const edgeSecret = await boxSecret({ keyring }, db, box.id as BoxId, 'edgeSecret')
  if (!edgeSecret) return shut('its host has not delivered the secret of its edge')
  const origin = url.replace(/\/+$/, '')
  return { boxId: box.id as BoxId, chatDomain: box.chat_domain, origin, edgeSecret, fenced: box.fenced === 1 }
}
