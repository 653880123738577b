import { isProblem } from '../../core/kit/index.ts'
import { rotateKey } from './keys.ts'
import { orAborted } from './retry.ts'
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

/** A restart emits a dozen events, which become one report. */
const settleMs = 2_000
/** Minimum pause between reports, because each one covers all boxes of the host. */
const restMs = 13_000
const againMs = 15_000

/** Longest pause after reports that failed. */
const maxRestMs = 60_000

/** Reports boxes after any change of their containers or of what a check found. Hello and every command report too. */
export async function reportChanges(session: Session): Promise<void> {
  const requestReport = changeReporter(session)
  await Promise.all([reportEvents(session, requestReport), session.watch?.(requestReport, session.signal)])
}

async function reportEvents({ changes, clock, log, signal }: Session, requestReport: () => void): Promise<void> {
  if (!changes) return
  for (let missed = false; !signal.aborted; missed = true) {
    // Events may have been missed while the stream was down.
    if (missed) requestReport()
    try {
      await orAborted(follow(changes(signal), requestReport), signal) // a source that ignores the signal must not block the drain
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, 'the event stream of the container engine failed')
    }
    await clock.sleep(againMs, signal)
  }
}

async function follow(events: AsyncIterable<unknown>, requestReport: () => void): Promise<void> {
  for await (const _ of events) requestReport()
}

/** A change during a report, or a report that fails, triggers another one, so the last state is always reported. */
function changeReporter(session: Session): () => void {
  const { clock, signal } = session
  let [pending, running] = [false, false]
  const run = async () => {
    for (let failures = 0; pending && !signal.aborted; ) {
      await clock.sleep(settleMs, signal)
      pending = false
      failures = (await report(session)) ? 0 : failures + 1
      if (failures > 0) pending = true
      await clock.sleep(Math.min(restMs * 2 ** failures, maxRestMs), signal)
    }
    running = false
  }
  return () => {
    pending = true
    if (running) return
    running = true
    void run()
  }
}

/** False if it was not sent. */
async function report({ client, log, reports, signal }: Session): Promise<boolean> {
  if (signal.aborted) return false
  try {
    await client.postReports({ body: { reports: [...(await reports())] } }, { signal })
    return true
  } catch (err) {
    log.debug({ err }, 'cannot report a change')
    return false
  }
}
