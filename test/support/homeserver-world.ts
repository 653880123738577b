import { isoNow } from '../../src/core/kit/index.ts'
import { sealOutputs } from '../../src/daemon/boxes/box-secrets.ts'
import { boxById } from '../../src/daemon/boxes/index.ts'
import { provisionBox } from '../../src/daemon/boxes/provision-box.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { makeChatClient, makeHomeservers, ofReaders, plainNetworks } from '../../src/daemon/homeserver/index.ts'
import { aProbe, aReport } from './boxes.ts'
import { aBoxesWorld, anOperator, answerCommand } from './boxes-world.ts'

type There = Readonly<{
  origin: string
  chatDomain: string
  secrets: Readonly<{ edgeSecret: string; appserviceToken: string; registrationSharedSecret: string }>
}>

/** A tenant `acme` whose live box is at `origin`, and the platform's connection to it. */
export async function aHomeserverWorld(db: Db, { origin, chatDomain, secrets }: There) {
  const room = await aBoxesWorld(db)
  const wanted = { slug: 'acme', name: 'School acme', plan: 'light', chatDomain, host: 'host-1', canary: false } as const
  const { box: begun, commandId } = await provisionBox(room, anOperator, { ...wanted, publicUrl: undefined })
  await answerCommand(room, commandId, { report: aReport('acme', { at: isoNow(room.clock) }), probe: aProbe() })
  const box = await boxById(db, begun.boxId as never)
  if (!box) throw new Error('the box was not made')
  await db.updateTable('boxes').set({ internal_url: origin }).where('id', '=', box.id).execute()
  await db.transaction().execute((tx) => sealOutputs({ ...room, tx }, box.id, secrets))
  const [requests, reads] = [makeChatClient(), makeChatClient(ofReaders)]
  const homeservers = makeHomeservers({ ...room, networks: plainNetworks([]), ask: requests.ask, readAsk: reads.ask })
  const close = async () => void (await Promise.all([requests.close(), reads.close()]))
  return { ...room, box, tenantId: box.tenantId, chatDomain, homeservers, homeserver: homeservers.of(box.tenantId), close }
}

export type HomeserverWorld = Awaited<ReturnType<typeof aHomeserverWorld>>
