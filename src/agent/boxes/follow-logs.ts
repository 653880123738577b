import { boxCommands, type LogBatch, type LogLine, type Service } from '../../core/boxes/index.ts'
import { type Clock, isoNow, makeWatcher } from '../../core/kit/index.ts'
import type { CommandContext, CommandExecutor, ContainerEngine, LocalBox } from '../ports/index.ts'
import { boxOfCommand, type LocalBoxes } from './local-boxes.ts'
import { comparable, inOrder, logLines, parseLogLine } from './logs.ts'
import { logRedactor } from './redact-logs.ts'

type Deps = Readonly<{ clock: Clock; engine: ContainerEngine; boxes: LocalBoxes }>

/** Lines are sent together, at most this often. */
const paceMs = 1_000
/** Without lines an empty batch asks whether the follower is still there. */
const keepAliveMs = 3_000
/** A follower that takes nothing for this time is gone. */
const patienceMs = 20_000
/** With the pace this is the limit of bytes per second. */
const maxPendingBytes = 64 * 1024
const maxBatchLines = 1_000
/** A service that writes more than can be sent is read again so often. */
const fullMs = 200
/** When the services write more than can be sent, lines this old are left out. */
const maxLagMs = 5_000
/** Pause before the log of a container is read again that stopped or was replaced. */
const againMs = 2_000

/** Sends the newest lines, then each new one, until the follower is gone. */
export const followLogs =
  (deps: Deps): CommandExecutor<'tenant-box.follow_logs'> =>
  async ({ signal, sendLines }, input) => {
    const { slug, boxId, ownershipEpoch, services, lines, since } = boxCommands['tenant-box.follow_logs'].payload.parse(input)
    const box = await boxOfCommand(deps.boxes, { slug, boxId, ownershipEpoch })
    const pending = new PendingLines(await logRedactor(box))
    const begun = isoNow(deps.clock)
    const first = lines === 0 ? [] : await logLines(deps.engine, box, { services, lines, since })
    for (const line of first) pending.add(line)
    const lastOf = (service: Service) => first.findLast((line) => line.service === service)?.at ?? begun
    const ended = new AbortController()
    const reading = AbortSignal.any([signal, ended.signal])
    const reads = services.map((service) => readService(deps, box, { service, since: lastOf(service), pending, signal: reading }))
    try {
      await Promise.race([sendAll(deps.clock, pending, { sendLines, signal }), Promise.all(reads)])
    } finally {
      ended.abort()
      await Promise.allSettled(reads)
    }
    return {}
  }

/** Lines that were read and not sent yet, without secrets. */
class PendingLines {
  /** Notifies of each line. */
  readonly added = makeWatcher()
  readonly #redact: (line: LogLine) => LogLine
  #lines: LogLine[] = []
  #bytes = 0
  #leftOut = false

  constructor(redact: (line: LogLine) => LogLine) {
    this.#redact = redact
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0 && !this.#leftOut
  }

  get isFull(): boolean {
    return this.#bytes >= maxPendingBytes || this.#lines.length >= maxBatchLines
  }

  add(line: LogLine): void {
    const shown = this.#redact(line)
    this.#lines.push(shown)
    this.#bytes += bytesOf(shown)
    this.added.notify()
  }

  leaveOut(): void {
    this.#leftOut = true
    this.added.notify()
  }

  /** Takes the lines of one batch; `back` returns what was not sent. */
  take(): Readonly<{ batch: LogBatch; back: () => void }> {
    let bytes = 0
    const count = this.#lines.findIndex((line, at) => {
      bytes += bytesOf(line)
      return bytes >= maxPendingBytes || at + 1 === maxBatchLines
    })
    const lines = this.#lines.splice(0, count < 0 ? this.#lines.length : count + 1)
    const leftOut = this.#leftOut
    this.#bytes -= bytes
    this.#leftOut = false
    const back = () => {
      this.#lines.unshift(...lines)
      this.#bytes += bytes
      this.#leftOut ||= leftOut
    }
    return { batch: { lines: inOrder(lines), leftOut }, back }
  }
}

/** The frame of a line counts too. */
const bytesOf = ({ text }: LogLine): number => text.length + 50

/** Sends what is pending until the follower is gone. */
async function sendAll(
  clock: Clock,
  pending: PendingLines,
  { sendLines, signal }: Pick<CommandContext, 'sendLines' | 'signal'>,
): Promise<void> {
  let sentMs = Number.NEGATIVE_INFINITY
  let acceptedMs = clock.monotonicMs()
  while (!signal.aborted) {
    const nowMs = clock.monotonicMs()
    const untilMs = sentMs + (pending.isEmpty ? keepAliveMs : paceMs)
    if (nowMs < untilMs) {
      if (pending.isEmpty) await pending.added.wait(clock, untilMs - nowMs, signal)
      else await clock.sleep(untilMs - nowMs, signal)
      continue
    }
    const { batch, back } = pending.take()
    const answer = await sendLines(batch)
    // Followers of a host are answered together, and so send together.
    sentMs = clock.monotonicMs()
    if (answer === 'ended') return
    if (answer === 'accepted') acceptedMs = clock.monotonicMs()
    else back()
    if (clock.monotonicMs() - acceptedMs > patienceMs) return
  }
}

type Reading = Readonly<{ service: Service; since: string; pending: PendingLines; signal: AbortSignal }>

/** Reads the log of a service, also of the container that replaces this one. */
async function readService(deps: Deps, box: LocalBox, reading: Reading): Promise<void> {
  const { clock, engine } = deps
  const { service, signal } = reading
  let { since } = reading
  while (!signal.aborted) {
    const container = (await engine.containers(box.project)).find((one) => one.service === service)
    const read = container && (await readContainer(deps, container.id, { ...reading, since }))
    since = read?.since ?? since
    if (!read?.isBehind) await clock.sleep(againMs, signal)
  }
}

/** Returns where to continue; `isBehind`: older lines were left out. */
async function readContainer(
  { clock, engine }: Deps,
  id: string,
  { service, since, pending, signal }: Reading,
): Promise<Readonly<{ since: string; isBehind: boolean }>> {
  let last = since
  for await (const text of engine.followLogs(id, since, signal)) {
    const line = parseLogLine(service, text)
    if (!line || comparable(line.at) <= comparable(since)) continue
    const isWaiting = pending.isFull
    while (pending.isFull && !signal.aborted) await clock.sleep(fullMs, signal)
    if (signal.aborted) break
    if (isWaiting && clock.now().getTime() - Date.parse(line.at) > maxLagMs) {
      pending.leaveOut()
      return { since: isoNow(clock), isBehind: true }
    }
    pending.add(line)
    last = line.at
  }
  return { since: last, isBehind: false }
}
