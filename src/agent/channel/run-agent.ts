import { protocolVersion } from '../../core/hosts/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import type { AgentNeeds } from './agent-needs.ts'
import { CommandDesk } from './command-desk.ts'
import { type AgentClient, connect } from './connection.ts'
import { backoffMs, isEnding, patiently } from './patience.ts'
import { tellChanges } from './tell-changes.ts'

type Session = AgentNeeds & Readonly<{ client: AgentClient; desk: CommandDesk }>

/** A daemon that is closing answers long polls at once. */
const shortestPollMs = 1000

/**
 * Runs an agent until its signal: goes on with what was in hand, says hello, fetches commands, executes them, delivers outcomes.
 * Resolves when it has drained. Throws HOST_REVOKED, HOST_FROZEN, UNAUTHENTICATED or PROTOCOL_VERSION when the daemon shuts it out;
 * commands that were running then are finished first, and their outcomes stay on the shelf.
 */
export async function runAgent(needs: AgentNeeds): Promise<void> {
  const client = connect(needs)
  const desk = new CommandDesk({ ...needs, client })
  await needs.resume?.()
  await desk.resume()
  const ended = new AbortController()
  const signal = AbortSignal.any([needs.signal, ended.signal])
  const session: Session = { ...needs, client, desk, signal }
  try {
    await Promise.all([speak(session), tellChanges(session)])
  } finally {
    ended.abort()
    await desk.drain()
  }
}

/** Hello, then long polls; after each mishap hello again, for the daemon may be another one by now. */
async function speak(session: Session): Promise<void> {
  const { clock, random, log, signal } = session
  for (let failures = 0; !signal.aborted; ) {
    const welcome = await patiently(session, () => greet(session), {
      signal,
      givesUp: isEnding,
      onFailure: (error) => tellMishap(session, error),
    })
    if (!welcome) return
    log.info({ daemon: session.identity.daemonUrl, host: welcome.name }, 'connected')
    const beating = new AbortController()
    const beats = beat(session, welcome.heartbeatMs, AbortSignal.any([signal, beating.signal]))
    try {
      await poll(session, welcome.longPollMs, () => {
        failures = 0
      })
    } catch (error) {
      if (isEnding(error)) throw error
      if (!signal.aborted) tellMishap(session, error)
      failures += 1
      await clock.sleep(backoffMs(random, failures), signal)
    } finally {
      beating.abort()
      await beats
    }
  }
}

async function greet({ client, desk, agentVersion, machine, reports, log, signal }: Session) {
  const found = await reports().catch((err) => {
    log.warn({ err }, 'the boxes cannot be looked at')
    return []
  })
  const body = { protocolVersion, agentVersion, ...(await machine()), reports: [...found], holding: desk.holding() }
  return client.hello({ body }, { signal })
}

async function poll({ client, desk, clock, signal }: Session, longPollMs: number, onAnswer: () => void): Promise<void> {
  while (!signal.aborted) {
    await desk.untilRoom(signal)
    const startMs = clock.monotonicMs()
    const { command } = await client.nextCommand({ body: { holding: desk.holding() } }, { signal: pollSignal(signal, longPollMs) })
    onAnswer()
    if (command) desk.take(command)
    else if (clock.monotonicMs() - startMs < Math.min(shortestPollMs, longPollMs)) await clock.sleep(shortestPollMs, signal)
    // While every slot is taken nothing is polled: say now that the last command arrived.
    if (!desk.hasRoom()) await client.heartbeat({ body: { holding: desk.holding() } }, { signal })
  }
}

const pollSignal = (signal: AbortSignal, longPollMs: number): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(longPollMs + 15_000)])

async function beat({ client, desk, clock, log }: Session, everyMs: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(everyMs, signal)
    if (signal.aborted) return
    const holding = desk.holding()
    if (holding.length === 0) continue
    const answer = await client.heartbeat({ body: { holding } }, { signal }).catch(() => undefined) // the poll meets the same and deals with it
    if (answer && answer.lost.length > 0)
      log.warn({ commandIds: answer.lost }, 'the daemon has given these commands up; they are finished all the same')
  }
}

function tellMishap({ log, identity }: Session, error: unknown): void {
  if (isProblem(error)) log.warn({ code: error.code, daemon: identity.daemonUrl }, error.message)
  else log.warn({ err: error, daemon: identity.daemonUrl }, 'the connection broke')
}
