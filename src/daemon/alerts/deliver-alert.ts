import { sql } from 'kysely'
import { isoNow, isProblem, problem } from '../../core/kit/index.ts'
import type { OutboxHandler } from '../db/index.ts'
import { alertById, deliveryById } from './alerts.repo.ts'
import type { AlertDeliveryTable } from './alerts.tables.ts'
import type { AlertsDeps } from './deps.ts'
import { plain } from './show-alert.ts'

type Deps = Pick<AlertsDeps, 'db' | 'clock' | 'channels' | 'send'>

/**
 * Sends one message and notes it. A process that dies in between sends it again, under the same id. What fails to the last try is kept as
 * dead with its reason, and nothing is left in the outbox: the message itself is the letter that a person sends again.
 */
export const deliverHandler =
  (deps: Deps): OutboxHandler =>
  async (payload, { last, signal }) => {
    const { deliveryId } = payload as { deliveryId: string }
    const delivery = await deliveryById(deps.db, deliveryId)
    if (delivery?.status !== 'pending') return
    try {
      await send(deps, delivery, signal)
    } catch (error) {
      const given = last && !signal?.aborted
      await note(deps, deliveryId, { status: given ? 'dead' : 'pending', last_error: reasonOf(error) })
      if (!given) throw problem('UNAVAILABLE', reasonOf(error))
      return
    }
    await note(deps, deliveryId, { status: 'sent', sent_at: isoNow(deps.clock), last_error: null })
  }

async function send({ db, channels, send }: Deps, delivery: AlertDeliveryTable, signal: AbortSignal | undefined): Promise<void> {
  const channel = channels.find((one) => one.channel === delivery.channel && one.target === delivery.target)
  if (!channel) throw problem('UNAVAILABLE', `${delivery.target} is in the settings no more`)
  await send(channel, plain(await alertById(db, Number(delivery.alert_id))), delivery.id, signal)
}

/** A fault of the program says its name only: what it holds was not meant for people. */
const reasonOf = (error: unknown): string => (isProblem(error) ? error.message : `a fault of the program (${(error as Error).name})`)

async function note({ db }: Deps, id: string, set: Partial<AlertDeliveryTable>): Promise<void> {
  await db
    .updateTable('alert_deliveries')
    .set({ ...set, attempts: sql`attempts + 1` })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .execute()
}
