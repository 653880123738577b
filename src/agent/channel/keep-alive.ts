import { isProblem } from '../../core/kit/index.ts'
import { rotateKey } from './keys.ts'
import { orAborted } from './retry.ts'
import type { Session } from './run-agent.ts'

type Welcome = Readonly<{ heartbeatMs: number; keyAgeMs: number }>

/** How often the daemon hears what of the machine is in use. */
const resourcesEveryMs = 60_000

/** Until the signal aborts: renews what is in hand, tells of the machine, and replaces the key when it is old. */
export async function beat(session: Session, { heartbeatMs, keyAgeMs }: Welcome, signal: AbortSignal): Promise<void> {
  const { clock } = session
  const startMs = clock.monotonicMs()
  let [toldMs, rotatedMs] = [startMs, startMs - keyAgeMs]
  for (;;) {
    await clock.sleep(heartbeatMs, signal)
    if (signal.aborted) return
    const nowMs = clock.monotonicMs()
    const tells = nowMs - toldMs >= resourcesEveryMs
    if (tells) toldMs = nowMs
    await sendHeartbeat(session, tells, signal)
    if (await rotates(session, nowMs - rotatedMs)) rotatedMs = nowMs
  }
}

async function sendHeartbeat(session: Session, tells: boolean, signal: AbortSignal): Promise<void> {
  const { client, connection, desk, resources, log } = session
  const holding = desk.holding()
  if (holding.length === 0 && !tells) return
  const said = tells ? { clockOffsetMs: connection.clockOffsetMs(), resources: (await resources?.().catch(() => null)) ?? null } : {}
  // What fails here meets the poll too, which deals with it.
  const answer = await client.heartbeat({ body: { holding, ...said } }, { signal }).catch(() => undefined)
  if (!answer) return
  connection.heard(answer.serverTime)
  if (answer.lost.length > 0)
    log.warn({ commandIds: answer.lost }, 'the daemon has given these commands up; they are finished all the same')
}

/** True when the key was replaced: it had its age, or a person asked for it. What fails is tried again at the next beat. */
async function rotates({ connection, keys, log }: Session, keyAgeMs: number): Promise<boolean> {
  if (!keys) return false
  const due = keys.rotateAfterMs !== undefined && keyAgeMs >= keys.rotateAfterMs
  if (!due && !(await keys.asked?.())) return false
  try {
    const { keyId } = await rotateKey(connection, keys)
    log.info({ keyId }, 'the key of this agent was replaced')
    return true
  } catch (error) {
    log.warn(isProblem(error) ? { code: error.code } : { err: error }, 'the key could not be replaced; the former one stays until then')
    return false
  }
}

/** A restart is a dozen events; they are told once. */
const settleMs = 2_000
/** A container that dies again and again is told of now and then: what a report costs, it costs on every box of the host. */
const restMs = 13_000
const againMs = 15_000

/** Reports boxes after something happened to their containers, whoever did it. Best effort: hello and each command report too. */
export async function tellChanges(session: Session): Promise<void> {
  const { changes, clock, log, signal } = session
  if (!changes) return
  const tell = teller(session)
  for (let missed = false; !signal.aborted; missed = true) {
    // Nobody knows what happened while nobody listened.
    if (missed) tell()
    try {
      await orAborted(follow(changes(signal), tell), signal) // a source that does not hear the signal must not hold the drain
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, 'the container engine does not tell its events')
    }
    await clock.sleep(againMs, signal)
  }
}

async function follow(events: AsyncIterable<unknown>, tell: () => void): Promise<void> {
  for await (const _ of events) tell()
}

/** What happens while a report is made is in the next one: the last state is never left untold. */
function teller(session: Session): () => void {
  const { clock, signal } = session
  let [pending, telling] = [false, false]
  const run = async () => {
    while (pending && !signal.aborted) {
      await clock.sleep(settleMs, signal)
      pending = false
      await report(session)
      await clock.sleep(restMs, signal)
    }
    telling = false
  }
  return () => {
    pending = true
    if (telling) return
    telling = true
    void run()
  }
}

async function report({ client, log, reports, signal }: Session): Promise<void> {
  if (signal.aborted) return
  const send = async () => client.postReports({ body: { reports: [...(await reports())] } }, { signal })
  await send().catch((err) => log.debug({ err }, 'could not report a change'))
}
