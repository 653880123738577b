import { type DisownedBox, type LeasedCommand, oldestProtocol, protocolVersion } from '../../core/hosts/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import type { AgentDeps } from './agent-deps.ts'
import { CommandDesk } from './command-runner.ts'
import { type AgentClient, type Connection, openConnection } from './connection.ts'
import { beat, tellChanges } from './keep-alive.ts'
import { settleKey } from './keys.ts'
import { backoffMs, isEnding, retry, spreadMs } from './retry.ts'

export type Session = AgentDeps & Readonly<{ client: AgentClient; connection: Connection; desk: CommandDesk }>

const ours = { newest: protocolVersion, oldest: oldestProtocol }

/** A daemon that is closing answers long polls at once. */
const shortestPollMs = 1000

/**
 * Runs an agent until its signal: goes on with what was in hand, says hello, fetches commands, executes them, delivers outcomes.
 * Resolves when it has drained. Throws HOST_REVOKED, HOST_FROZEN, UNAUTHENTICATED or PROTOCOL_VERSION when the daemon shuts it out;
 * changes of boxes that were running then are finished first, unless the signal comes, and their outcomes stay on the shelf.
 */
export async function runAgent(deps: AgentDeps): Promise<void> {
  const connection = openConnection(deps)
  const { client } = connection
  const desk = new CommandDesk({ ...deps, client })
  await deps.resume?.()
  const ended = new AbortController()
  const signal = AbortSignal.any([deps.signal, ended.signal])
  const session: Session = { ...deps, client, connection, desk, signal }
  const settling = deps.keys && settleKey(session, connection, deps.keys).catch((err) => deps.log.warn({ err }, 'the key was not replaced'))
  await desk.resume()
  try {
    await Promise.all([speak(session), tellChanges(session)])
  } catch (error) {
    // Shut out, it may not be let in again for days, and an update that is broken off at every start would leave its box fenced.
    if (isEnding(error)) await finishChanges(session, deps.signal, error)
    throw error
  } finally {
    ended.abort()
    await desk.drain()
    await settling
  }
}

async function finishChanges({ desk, log }: Session, signal: AbortSignal, error: unknown): Promise<void> {
  log.error({ code: isProblem(error) ? error.code : undefined }, 'shut out by the daemon; what is being done to boxes is finished first')
  await desk.untilUnchanged(signal)
}

/** Hello, then long polls; after each mishap hello again, for the daemon may be another one by now. */
async function speak(session: Session): Promise<void> {
  const { clock, random, log, signal } = session
  for (let failures = 0; !signal.aborted; ) {
    const welcome = await retry(session, () => greet(session), {
      signal,
      givesUp: isEnding,
      onFailure: (error) => tellMishap(session, error),
    })
    if (!welcome) return
    log.info({ daemon: session.identity.daemonUrl, host: welcome.name }, 'connected')
    const beating = new AbortController()
    const beats = beat(session, welcome, AbortSignal.any([signal, beating.signal]))
    try {
      await giveUpBoxes(session, welcome.disowned)
      await poll(session, welcome.longPollMs, () => {
        failures = 0
      })
    } catch (error) {
      if (isEnding(error)) throw error
      if (!signal.aborted) tellMishap(session, error)
      failures += 1
      // All agents of the daemon are in the same moment; the first time they come back one after the other.
      await clock.sleep(backoffMs(random, failures) + (failures === 1 ? spreadMs(random, welcome.reconnectSpreadMs) : 0), signal)
    } finally {
      beating.abort()
      await beats
    }
  }
}

/**
 * Stops what is another host's by now, before anything is asked for: two hosts must never serve one box. What cannot be stopped throws, and
 * hello is said again; until then this agent takes no command.
 */
async function giveUpBoxes({ client, desk, disown, reports, log, signal }: Session, disowned: readonly DisownedBox[]): Promise<void> {
  if (disowned.length === 0 || !disown) return
  for (const box of disowned) {
    await desk.abandon(box)
    if (await disown(box)) log.warn({ slug: box.slug, epoch: box.ownershipEpoch }, 'the box has another owner by now and was stopped here')
  }
  const found = await reports()
  await client.postReports({ body: { reports: [...found] } }, { signal }).catch((err) => log.debug({ err }, 'could not report'))
}

async function greet({ client, connection, desk, speaks = ours, agentVersion, machine, reports, log, signal }: Session) {
  const found = await reports().catch((err) => {
    log.warn({ err }, 'the boxes cannot be looked at')
    return []
  })
  const spoken = { protocolVersion: speaks.newest, oldestProtocol: speaks.oldest, agentVersion }
  const here = { ...(await machine()), clockOffsetMs: connection.clockOffsetMs(), reports: [...found], holding: desk.holding() }
  const welcome = await client.hello({ body: { ...spoken, ...here } }, { signal })
  connection.heard(welcome.serverTime)
  if (welcome.protocol <= speaks.newest && welcome.protocol >= speaks.oldest) return welcome
  throw problem(
    'PROTOCOL_VERSION',
    `the daemon wants to speak version ${welcome.protocol}, this agent ${speaks.oldest} to ${speaks.newest}: upgrade tenantry-agent`,
  )
}

async function poll(session: Session, longPollMs: number, onAnswer: () => void): Promise<void> {
  const { desk, client, clock, signal } = session
  while (!signal.aborted) {
    await desk.untilRoom('questions', signal)
    const startMs = clock.monotonicMs()
    const answer = await ask(session, longPollMs)
    onAnswer()
    if (!answer) continue
    if (answer.command) desk.take(answer.command)
    else if (clock.monotonicMs() - startMs < Math.min(shortestPollMs, longPollMs)) await clock.sleep(shortestPollMs, signal)
    // With all hands full nothing is polled: say now that the last command arrived.
    if (desk.room() === 'none') await client.heartbeat({ body: { holding: desk.holding() } }, { signal })
  }
}

/** One long poll; undefined when it only asked for questions, and a hand became free meanwhile. */
async function ask({ client, desk, signal }: Session, longPollMs: number): Promise<{ command: LeasedCommand | null } | undefined> {
  const room = desk.room() === 'all' ? 'all' : 'questions'
  const freed = new AbortController()
  if (room === 'questions') void desk.untilRoom('all', freed.signal).then(() => freed.abort())
  try {
    const either = AbortSignal.any([signal, freed.signal])
    return await client.nextCommand({ body: { holding: desk.holding(), room } }, { signal: pollSignal(either, longPollMs) })
  } catch (error) {
    if (freed.signal.aborted && !signal.aborted) return undefined
    throw error
  } finally {
    freed.abort()
  }
}

const pollSignal = (signal: AbortSignal, longPollMs: number): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(longPollMs + 15_000)])

function tellMishap({ log, identity }: Session, error: unknown): void {
  if (isProblem(error)) log.warn({ code: error.code, daemon: identity.daemonUrl }, error.message)
  else log.warn({ err: error, daemon: identity.daemonUrl }, 'the connection broke')
}
