import pLimit from 'p-limit'
import type { ReportsOf } from './agent-deps.ts'
import { orAborted } from './retry.ts'
import type { Session } from './session.ts'

/** A restart emits a dozen events, which become one report. */
const settleMs = 1_000
/** Minimum pause between two reports of one box, and between two of all boxes. */
const restMs = 14_000
const againMs = 15_000

/** Longest pause after reports that failed. */
const maxRestMs = 60_000
/** Boxes read at once. */
const parallel = 4

/** Asks for a report of the box of a project; without one, of all boxes. */
type RequestReport = (project?: string) => void

/** Reports a box after any change of its containers or of what a check found. Hello and every command report too. */
export async function reportChanges(session: Session): Promise<void> {
  const requestReport = changeReporter(session)
  await Promise.all([reportEvents(session, requestReport), session.watch?.(requestReport, session.signal)])
}

async function reportEvents({ changes, clock, log, signal }: Session, requestReport: RequestReport): Promise<void> {
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

async function follow(events: AsyncIterable<{ project: string }>, requestReport: RequestReport): Promise<void> {
  for await (const { project } of events) requestReport(project)
}

/** A change during a report, or a report that fails, triggers another one, so the last state is always reported. */
function changeReporter(session: Session): RequestReport {
  const { clock, signal } = session
  const atMost = pLimit(parallel)
  /** Those that are settled, reported or rested from; true where another report is due. */
  const pending = new Map<string | undefined, boolean>()
  const run = async (project: string | undefined) => {
    for (let failures = 0; pending.get(project) && !signal.aborted; ) {
      await clock.sleep(settleMs, signal)
      pending.set(project, false)
      failures = (await atMost(() => report(session, project === undefined ? undefined : { project }))) ? 0 : failures + 1
      if (failures > 0) pending.set(project, true)
      await clock.sleep(Math.min(restMs * 2 ** failures, maxRestMs), signal)
    }
    pending.delete(project)
  }
  return (project) => {
    const isRunning = pending.has(project)
    pending.set(project, true)
    if (!isRunning) void run(project)
  }
}

/** False if it was not sent. A project without a box of this agent has nothing to report. */
async function report({ client, log, reports, signal }: Session, of: ReportsOf | undefined): Promise<boolean> {
  if (signal.aborted) return false
  try {
    const found = await reports(of)
    if (found.length > 0 || !of) await client.postReports({ body: { reports: [...found] } }, { signal })
    return true
  } catch (err) {
    log.debug({ err }, 'cannot report a change')
    return false
  }
}
