import type { BoxId, TenantId } from '../../core/boxes/index.ts'
import type { Fault } from '../../core/homeserver/index.ts'
import type { Secret } from '../../core/kit/index.ts'
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

export type DoorNeeds = Readonly<{ db: Db; keyring: Keyring; networks: PlainNetworks }>

const shut = (reason: string): Fault => ({ kind: 'unreachable', retryAfterSeconds: 60, reason })

/** The door of the live box, or why there is none. */
export async function findDoor({ db, keyring, networks }: DoorNeeds, tenantId: TenantId): Promise<Door | Fault> {
  const box = await db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .select(['boxes.id', 'boxes.internal_url', 'boxes.fenced', 'tenants.chat_domain'])
    .where('boxes.tenant_id', '=', tenantId)
    .where('boxes.live', '=', 1)
    .executeTakeFirst()
  if (!box) return shut('the tenant has no live box')
  if (box.internal_url === null) return shut('its box has no listener for the platform: `tenantry boxes adopt` completes it')
  const wrong = whyNotThere(networks, box.internal_url)
  if (wrong) return shut(wrong)
  const edgeSecret = await boxSecret({ keyring }, db, box.id as BoxId, 'edgeSecret')
  if (!edgeSecret) return shut('its host has not delivered the secret of its edge')
  const origin = box.internal_url.replace(/\/+$/, '')
  return { boxId: box.id as BoxId, chatDomain: box.chat_domain, origin, edgeSecret, fenced: box.fenced === 1 }
}
