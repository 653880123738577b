import type { AgentDeps } from './agent-needs.ts'
import type { AgentClient } from './connection.ts'
import { orAborted } from './patience.ts'

type Session = Pick<AgentDeps, 'clock' | 'log' | 'changes' | 'reports' | 'signal'> & Readonly<{ client: AgentClient }>

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
