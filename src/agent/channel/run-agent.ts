import { type DisownedBox, type LeasedCommand, oldestProtocol, protocolVersion } from '../../core/hosts/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import type { AgentDeps } from './agent-deps.ts'
import { CommandRunner } from './command-runner.ts'
import { openConnection } from './connection.ts'
import { sendHeartbeats } from './keep-alive.ts'
import { finishKeyRotation } from './keys.ts'
import { reportChanges } from './report-changes.ts'
import { atMost, backoffMs, isFatal, orAborted, retry, spreadMs } from './retry.ts'
import type { Session } from './session.ts'

const ours = { newest: protocolVersion, oldest: oldestProtocol }

/** A daemon that shuts down answers long polls at once. */
const minPollMs = 1000

/** After the signal: what reads a box whose programs hang would hold the drain. */
const loopsGraceMs = 5000

/**
 * Runs an agent until its signal: resumes stored commands, connects, polls, runs commands and delivers outcomes. Resolves when drained.
 * Throws HOST_REVOKED, HOST_FROZEN, UNAUTHENTICATED or PROTOCOL_VERSION when the daemon rejects it; running changes are finished first and
 * their outcomes stay stored.
 */
export async function runAgent(deps: AgentDeps): Promise<void> {
  const connection = openConnection(deps)
  const { client } = connection
  const runner = new CommandRunner({ ...deps, client })
  await deps.resume?.()
  const ended = new AbortController()
  const signal = AbortSignal.any([deps.signal, ended.signal])
  const session: Session = { ...deps, client, connection, runner, signal }
  const settling =
    deps.keys &&
    finishKeyRotation(session, connection, deps.keys).catch((err) => deps.log.warn({ err }, 'the unfinished key rotation failed'))
  await runner.resume()
  try {
    const archives = deps
      .archive?.((body, within) => client.archives({ body }, { signal: within }), signal)
      .catch((err) => deps.log.error({ err }, 'archives are no longer stored'))
    await untilOver(deps, Promise.all([runSession(session), reportChanges(session), archives]))
  } catch (error) {
    // A rejected agent may stay offline for days; an aborted update would leave its box fenced.
    if (isFatal(error)) await finishChanges(session, deps.signal, error)
    throw error
  } finally {
    ended.abort()
    await runner.drain()
    await settling
  }
}

/** Until the loops end, or for a while after the signal. */
async function untilOver({ clock, signal }: AgentDeps, loops: Promise<unknown>): Promise<void> {
  await orAborted(loops, signal)
  if (signal.aborted) await atMost(clock, loopsGraceMs, loops)
}

async function finishChanges({ runner, log }: Session, signal: AbortSignal, error: unknown): Promise<void> {
  log.error({ code: isProblem(error) ? error.code : undefined }, 'the daemon rejected this agent; finishing running changes of boxes first')
  await runner.untilUnchanged(signal)
}

/** Sends hello, then long polls. Each failure leads to a new hello, because another daemon replica may answer. */
async function runSession(session: Session): Promise<void> {
  const { clock, random, log, signal } = session
  for (let failures = 0; !signal.aborted; ) {
    const welcome = await retry(session, () => sendHello(session), {
      signal,
      isFinal: isFatal,
      onFailure: (error) => logFailure(session, error),
    })
    if (!welcome) return
    log.info({ daemon: session.identity.daemonUrl, host: welcome.name }, 'connected')
    const beating = new AbortController()
    const beats = sendHeartbeats(session, welcome, AbortSignal.any([signal, beating.signal]))
    try {
      await stopDisownedBoxes(session, welcome.disowned)
      await poll(session, welcome.longPollMs, () => {
        failures = 0
      })
    } catch (error) {
      if (isFatal(error)) throw error
      if (!signal.aborted) logFailure(session, error)
      failures += 1
      // All agents lose the daemon at once, so the first reconnect is spread.
      await clock.sleep(backoffMs(random, failures) + (failures === 1 ? spreadMs(random, welcome.reconnectSpreadMs) : 0), signal)
    } finally {
      beating.abort()
      await beats
    }
  }
}

/**
 * Stops boxes that now belong to another host, because two hosts must never serve one box. A failure throws, and no command is accepted until
 * the next hello succeeds.
 */
async function stopDisownedBoxes(
  { client, runner, disown, reports, log, signal }: Session,
  disowned: readonly DisownedBox[],
): Promise<void> {
  if (disowned.length === 0 || !disown) return
  for (const box of disowned) {
    await runner.abandon(box)
    if (await disown(box)) log.warn({ slug: box.slug, epoch: box.ownershipEpoch }, 'stopped a box that now belongs to another host')
  }
  const found = await reports()
  await client.postReports({ body: { reports: [...found] } }, { signal }).catch((err) => log.debug({ err }, 'cannot report boxes'))
}

async function sendHello({ client, connection, runner, speaks = ours, agentVersion, machine, reports, log, signal }: Session) {
  const found = await reports().catch((err) => {
    log.warn({ err }, 'cannot read the boxes')
    return []
  })
  const spoken = { protocolVersion: speaks.newest, oldestProtocol: speaks.oldest, agentVersion }
  const here = { ...(await machine()), clockOffsetMs: connection.clockOffsetMs(), reports: [...found], holding: runner.holding() }
  const welcome = await client.hello({ body: { ...spoken, ...here } }, { signal })
  connection.setServerTime(welcome.serverTime)
  if (welcome.protocol <= speaks.newest && welcome.protocol >= speaks.oldest) return welcome
  throw problem(
    'PROTOCOL_VERSION',
    `The daemon uses protocol version ${welcome.protocol}, this agent supports ${speaks.oldest} to ${speaks.newest}. fix: upgrade tenantry-agent`,
  )
}

async function poll(session: Session, longPollMs: number, onAnswer: () => void): Promise<void> {
  const { runner, client, clock, signal } = session
  while (!signal.aborted) {
    await runner.untilRoom('questions', signal)
    const startMs = clock.monotonicMs()
    const answer = await ask(session, longPollMs)
    onAnswer()
    if (!answer) continue
    if (answer.command) runner.take(answer.command)
    else if (clock.monotonicMs() - startMs < Math.min(minPollMs, longPollMs)) await clock.sleep(minPollMs, signal)
    // Without capacity there is no poll, so a heartbeat confirms the last command.
    if (runner.room() === 'none') await client.heartbeat({ body: { holding: runner.holding() } }, { signal })
  }
}

/** One long poll. Undefined when it asked only for read-only commands and full capacity returned meanwhile. */
async function ask({ client, runner, signal }: Session, longPollMs: number): Promise<{ command: LeasedCommand | null } | undefined> {
  const room = runner.room() === 'all' ? 'all' : 'questions'
  const freed = new AbortController()
  if (room === 'questions') void runner.untilRoom('all', freed.signal).then(() => freed.abort())
  try {
    const either = AbortSignal.any([signal, freed.signal])
    return await client.nextCommand({ body: { holding: runner.holding(), room } }, { signal: pollSignal(either, longPollMs) })
  } catch (error) {
    if (freed.signal.aborted && !signal.aborted) return undefined
    throw error
  } finally {
    freed.abort()
  }
}

const pollSignal = (signal: AbortSignal, longPollMs: number): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(longPollMs + 15_000)])

function logFailure({ log, identity }: Session, error: unknown): void {
  if (isProblem(error)) log.warn({ code: error.code, daemon: identity.daemonUrl }, error.message)
  else log.warn({ err: error, daemon: identity.daemonUrl }, 'connection lost')
}
