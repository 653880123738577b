import type { AgentNeeds } from './agent-needs.ts'
import type { AgentClient } from './connection.ts'
import { orAborted } from './patience.ts'

type Session = Pick<AgentNeeds, 'clock' | 'log' | 'changes' | 'reports' | 'signal'> & Readonly<{ client: AgentClient }>

/** A restart is a dozen events; they are told once. */
const settleMs = 2000
const againMs = 15_000

/** Reports boxes after something happened to their containers, whoever did it. Best effort: hello and each command report too. */
export async function tellChanges(session: Session): Promise<void> {
  const { changes, clock, log, signal } = session
  if (!changes) return
  while (!signal.aborted) {
    try {
      await orAborted(follow(session, changes(signal)), signal) // a source that does not hear the signal must not hold the drain
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, 'the container engine does not tell its events')
    }
    await clock.sleep(againMs, signal)
  }
}

async function follow(session: Session, events: AsyncIterable<unknown>): Promise<void> {
  let telling = false
  for await (const _ of events) {
    if (telling) continue
    telling = true
    void tell(session).then(() => {
      telling = false
    })
  }
}

async function tell({ client, clock, log, reports, signal }: Session): Promise<void> {
  await clock.sleep(settleMs, signal)
  if (signal.aborted) return
  const send = async () => client.postReports({ body: { reports: [...(await reports())] } }, { signal })
  await send().catch((err) => log.debug({ err }, 'could not report a change'))
}
