import { isProblem } from '../../core/kit/index.ts'
import { rotateKey } from './keys.ts'
import type { Session } from './session.ts'

type Welcome = Readonly<{ heartbeatMs: number; keyAgeMs: number }>

/** Interval of resource reports. */
const resourcesEveryMs = 60_000

/** Renews leases, reports resources and rotates an old key, until the signal aborts. */
export async function sendHeartbeats(session: Session, { heartbeatMs, keyAgeMs }: Welcome, signal: AbortSignal): Promise<void> {
  const { clock } = session
  const startMs = clock.monotonicMs()
  let [reportedMs, rotatedMs] = [startMs, startMs - keyAgeMs]
  for (;;) {
    await clock.sleep(heartbeatMs, signal)
    if (signal.aborted) return
    const nowMs = clock.monotonicMs()
    const isReportDue = nowMs - reportedMs >= resourcesEveryMs
    if (isReportDue) reportedMs = nowMs
    await sendHeartbeat(session, isReportDue, signal)
    if (await rotates(session, nowMs - rotatedMs)) rotatedMs = nowMs
  }
}

async function sendHeartbeat(session: Session, isReportDue: boolean, signal: AbortSignal): Promise<void> {
  const { client, connection, runner, resources, log } = session
  const holding = runner.holding()
  if (holding.length === 0 && !isReportDue) return
  const status = isReportDue
    ? { clockOffsetMs: connection.clockOffsetMs(), resources: (await resources?.().catch(() => null)) ?? null }
    : {}
  // The poll meets and handles the same failure.
  const answer = await client.heartbeat({ body: { holding, ...status } }, { signal }).catch(() => undefined)
  if (!answer) return
  connection.setServerTime(answer.serverTime)
  if (answer.lost.length > 0) log.warn({ commandIds: answer.lost }, 'the daemon abandoned these commands; they are finished anyway')
}

/** Rotates the key when it is due or requested; returns true on success. A failure is retried at the next heartbeat. */
async function rotates({ connection, keys, log }: Session, keyAgeMs: number): Promise<boolean> {
  if (!keys) return false
  const due = keys.rotateAfterMs !== undefined && keyAgeMs >= keys.rotateAfterMs
  if (!due && !(await keys.asked?.())) return false
  try {
    const { keyId } = await rotateKey(connection, keys)
    log.info({ keyId }, 'agent key replaced')
    return true
  } catch (error) {
    log.warn(isProblem(error) ? { code: error.code } : { err: error }, 'cannot replace the agent key; the old one stays in use')
    return false
  }
}
