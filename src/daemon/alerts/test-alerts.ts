import { type AlertChannel, type AlertMessage, type TriedChannel, testMessage } from '../../core/alerts/index.ts'
import { type Actor, actorLabel, isoNow, isProblem, newId, type Random } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Channel } from './channels.ts'
import type { AlertsDeps } from './deps.ts'
import { noChannels } from './no-channels.ts'

type Deps = Pick<AlertsDeps, 'db' | 'clock' | 'channels' | 'send'> & Readonly<{ random: Random }>
type Wanted = Readonly<{ channel?: AlertChannel | undefined; signal?: AbortSignal }>

/** Sends a test to every place at once and answers what each said: who asks is there to read it, so nothing is tried again. Throws CONFIG. */
export async function testAlerts(deps: Deps, actor: Actor, { channel, signal }: Wanted): Promise<{ tried: TriedChannel[] }> {
  const { db, clock } = deps
  const chosen = deps.channels.filter((one) => channel === undefined || one.channel === channel)
  if (chosen.length === 0) throw noChannels()
  const message = testMessage(actorLabel(actor), isoNow(clock))
  const tried = await Promise.all(chosen.map((one) => tryOne(deps, one, message, signal)))
  const data = { tried: tried.map(({ channel, target, ok }) => ({ channel, target, ok })) }
  await db.transaction().execute((tx) => recordAudit(tx, clock, { actor, action: 'alerts.tested', data }))
  return { tried }
}

async function tryOne({ send, random }: Deps, to: Channel, message: AlertMessage, signal: AbortSignal | undefined): Promise<TriedChannel> {
  try {
    return { ...to, ok: true, says: await send(to, message, newId(random, 'test'), signal) }
  } catch (error) {
    if (!isProblem(error)) throw error
    return { ...to, ok: false, says: error.message }
  }
}
