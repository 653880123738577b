import { isFollowing, isNonBlocking, isReadOnly } from '../../core/boxes/index.ts'
import { type CommandOutcome, channelLimits, type DisownedBox, type HeldCommand, type LeasedCommand } from '../../core/hosts/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import { inSpan, inTrace } from '../../node/index.ts'
import type { AgentDeps } from './agent-deps.ts'
import type { StoredCommand } from './command-store.ts'
import type { AgentClient } from './connection.types.ts'
import { type LineSender, lineSender } from './line-sender.ts'
import { atMost, isFatal, orAborted, retry } from './retry.ts'
import { outcomeSummary, progressOf, runCommand } from './run-command.ts'

type Deps = AgentDeps & Readonly<{ client: AgentClient }>
type InHand = { command: StoredCommand; executing: boolean; over: Promise<void>; abandoned: AbortController }

/** Time for aborted executors to end at their next step, and for outcomes to be delivered. */
const deliveryGraceMs = 10_000
const lastAnswerMs = 5000
const lastProgressMs = 2000
/** Upper bound for stopping a server or ending a dump; afterwards the box lock protects the box. */
const abandonGraceMs = 150_000

/** Beside the slots, for questions only. */
const questionSlots = 4
/** Log followers, which have slots of their own: the daemon starts no more on one host. */
const followerSlots = channelLimits.followers

/** Capacity for further commands: all kinds, only read-only ones (`questions` on the wire), or none. */
export type Room = 'all' | 'questions' | 'none'

/**
 * Runs commands: stores each one first, executes it, and keeps its outcome until the daemon has it. Changes run one at a time per box;
 * read-only commands and drills run beside them. Deliveries are retried until they succeed.
 */
export class CommandRunner {
  readonly #deps: Deps
  readonly #lines: LineSender
  readonly #slots: number
  readonly #inHand = new Map<string, InHand>()
  readonly #breakOff = new AbortController()
  readonly #stopDelivery = new AbortController()
  #resolveEnd: () => void = () => undefined
  /** Resolves when the next execution ends. */
  #nextEnd: Promise<void>

  constructor(deps: Deps) {
    this.#deps = deps
    this.#lines = lineSender(deps)
    this.#slots = deps.slots ?? 4
    this.#nextEnd = this.#newEnd()
  }

  /** Commands that are running, or whose outcome is not delivered yet. */
  holding(): HeldCommand[] {
    return [...this.#inHand.values()].map(({ command: { id, leaseToken } }) => ({ id, leaseToken }))
  }

  room(): Room {
    const asked = this.#executing((kind) => isReadOnly(kind) && !isFollowing(kind))
    if (asked >= questionSlots) return 'none'
    return this.#executing(isChange) < this.#slots ? 'all' : 'questions'
  }

  /** Waits for capacity, or until the signal aborts. */
  async untilRoom(requested: 'all' | 'questions', signal: AbortSignal): Promise<void> {
    const lacks = () => (requested === 'all' ? this.room() !== 'all' : this.room() === 'none')
    while (lacks() && !signal.aborted) await orAborted(this.#nextEnd, signal)
  }

  /** Resumes stored commands of an earlier run, before new ones are polled. */
  async resume(): Promise<void> {
    for (const command of await this.#deps.store.all()) {
      this.#deps.log.info({ commandId: command.id, kind: command.kind, known: command.outcome !== null }, 'resuming command')
      this.#begin(command, 'stored')
    }
  }

  take(leased: LeasedCommand): void {
    const { id, kind, boxId, payload, leaseToken, trace } = leased
    const known = this.#inHand.get(id)
    // The daemon re-sent a running command: only its lease token changes.
    if (known) known.command = { ...known.command, leaseToken }
    else this.#begin({ id, kind, boxId, payload, leaseToken, ...(trace === undefined ? {} : { trace }), outcome: null }, 'new')
  }

  /** Waits until no command changes a box, or the signal aborts. */
  async untilUnchanged(signal: AbortSignal): Promise<void> {
    while (this.#executing((kind) => !isNonBlocking(kind)) > 0 && !signal.aborted) await orAborted(this.#nextEnd, signal)
  }

  /** Waits up to `drainMs` for commands, aborts the rest and delivers outcomes. Unfinished commands stay stored. */
  async drain(): Promise<void> {
    const { clock, drainMs = 30_000 } = this.#deps
    const all = () => Promise.all([...this.#inHand.values()].map(({ over }) => over))
    const executed = async () => {
      while (this.#executing(() => true) > 0) await this.#nextEnd
    }
    await atMost(clock, drainMs, executed())
    this.#breakOff.abort()
    await atMost(clock, deliveryGraceMs, all())
    this.#stopDelivery.abort()
    await atMost(clock, lastAnswerMs, all())
  }

  /** Aborts commands of an older epoch for a box that now belongs to another host. They end with LEASE_LOST and are not resumed. */
  async abandon({ boxId, ownershipEpoch }: DisownedBox): Promise<void> {
    // Read-only commands and drills do not change the box, so they may finish.
    const isOlder = ({ boxId: of, kind, payload }: StoredCommand) =>
      of === boxId && !isNonBlocking(kind) && (Object(payload).ownershipEpoch ?? 0) < ownershipEpoch
    const ofBox = () => [...this.#inHand.values()].filter(({ command, executing }) => executing && isOlder(command))
    const ended = async () => {
      while (ofBox().length > 0) await this.#nextEnd
    }
    for (const { abandoned } of ofBox()) abandoned.abort(new Error('the box has another owner'))
    await atMost(this.#deps.clock, abandonGraceMs, ended())
  }

  #begin(command: StoredCommand, from: 'new' | 'stored'): void {
    const before = isNonBlocking(command.kind) ? [] : this.#changesOf(command.boxId)
    const hand: InHand = { command, executing: command.outcome === null, over: Promise.resolve(), abandoned: new AbortController() }
    this.#inHand.set(command.id, hand)
    hand.over = this.#work(hand, before, from).catch((err) => {
      this.#deps.log.error({ err, commandId: command.id }, 'command dropped after an internal error; the daemon will send it again')
      this.#inHand.delete(command.id)
      this.#ended(hand)
    })
  }

  async #work(hand: InHand, before: readonly Promise<void>[], from: 'new' | 'stored'): Promise<void> {
    await Promise.all(before)
    const refusal = from === 'new' ? await this.#refusalToStore(hand.command) : undefined
    const outcome = refusal ?? hand.command.outcome ?? (await this.#execute(hand))
    this.#ended(hand)
    if (outcome && (await inTrace(this.#deps.tracing, hand.command.trace, () => this.#deliver(hand, outcome))))
      await this.#forget(hand.command)
  }

  #ended(hand: InHand): void {
    hand.executing = false
    this.#resolveEnd()
    this.#nextEnd = this.#newEnd()
  }

  /** A command that cannot be stored is refused, because a restarted agent could not resume it. */
  async #refusalToStore(command: StoredCommand): Promise<CommandOutcome | undefined> {
    // A follower ends with the agent.
    if (isFollowing(command.kind)) return this.#executing(isFollowing) > followerSlots ? tooManyFollowers : undefined
    try {
      await this.#deps.store.put(command)
      return undefined
    } catch (err) {
      this.#deps.log.error({ err, commandId: command.id }, 'cannot store command; it was not started')
      const why = (err as Error).message
      const isFull = isProblem(err, 'DISK_FULL') || (err as NodeJS.ErrnoException).code === 'ENOSPC'
      const message = `The agent cannot store the command, so it was not started: ${why}`.slice(0, 4000)
      return { ok: false, error: { code: isFull ? 'DISK_FULL' : 'INTERNAL', message } }
    }
  }

  async #execute(hand: InHand): Promise<CommandOutcome | undefined> {
    const { store, log } = this.#deps
    const held = () => hand.command
    const stream = progressOf(this.#deps, held)
    const isFollower = isFollowing(hand.command.kind)
    const signal = AbortSignal.any([this.#breakOff.signal, hand.abandoned.signal, ...(isFollower ? [this.#deps.signal] : [])])
    const ran = signal.aborted ? undefined : await this.#run(hand, { held, stream }, signal)
    const outcome = ran ?? (hand.abandoned.signal.aborted ? ownerChanged : undefined)
    if (outcome) {
      hand.command = { ...hand.command, outcome }
      // Stored before anything waits for the daemon. Without it a restarted agent runs the command again, with the same result.
      const stored = isFollower ? Promise.resolve() : store.put(hand.command)
      await stored.catch((err) => log.warn({ err, commandId: hand.command.id }, 'cannot store the outcome of a command'))
      log.info({ commandId: hand.command.id, kind: hand.command.kind, ...outcomeSummary(outcome) }, 'command finished')
    }
    await atMost(this.#deps.clock, lastProgressMs, stream.end())
    return outcome
  }

  /** In the span of the command, if it was queued in a trace. */
  async #run(hand: InHand, running: Parameters<typeof runCommand>[1], signal: AbortSignal): Promise<CommandOutcome | undefined> {
    const { id, kind, boxId, trace } = hand.command
    const attributes = { 'tenantry.command.id': id, 'tenantry.command.kind': kind, 'tenantry.box.id': boxId }
    const tracing = trace === undefined ? undefined : this.#deps.tracing
    return inSpan(tracing, { name: kind, kind: 'consumer', parent: trace, attributes }, async (span) => {
      const outcome = await runCommand({ ...this.#deps, lines: this.#lines }, running, signal)
      if (span && outcome) {
        const { code, outcome: end = 'done' } = outcomeSummary(outcome)
        span.set({ 'tenantry.outcome': String(outcome.ok ? end : 'failed') })
        if (code !== undefined) span.fail(String(code))
        hand.command = { ...hand.command, trace: span.traceparent }
      }
      return outcome
    })
  }

  async #forget({ id, kind, boxId }: StoredCommand): Promise<void> {
    const { client, reports, log, store } = this.#deps
    this.#inHand.delete(id)
    await store.remove(id).catch((err) => log.warn({ err, commandId: id }, 'cannot remove a finished command from the store'))
    if (isReadOnly(kind)) return // it changed nothing
    const sendReport = async () => client.postReports({ body: { reports: [...(await reports({ boxId }))] } })
    await sendReport().catch((err) => log.debug({ err }, 'could not report after a command')) // hello reports all boxes anyway
  }

  /** True when the daemon has the outcome, or no longer needs it. */
  async #deliver(hand: InHand, outcome: CommandOutcome): Promise<boolean> {
    const { client, log, acknowledge } = this.#deps
    const { id } = hand.command
    const send = (what: CommandOutcome) => async () => {
      await client.postResult({ params: { id }, body: { leaseToken: hand.command.leaseToken, outcome: what } })
      return true
    }
    const patience = { signal: this.#stopDelivery.signal, isFinal: isAnswer }
    try {
      if (!(await retry(this.#deps, send(outcome), patience))) return false
    } catch (error) {
      if (isFatal(error)) return false
      log.error({ commandId: id, err: error }, 'the daemon rejected the outcome of a command')
      if (!isProblem(error, 'NOT_FOUND')) await retry(this.#deps, send(deliveryRefused(error)), patience).catch(() => undefined)
    }
    // Best effort: an unacknowledged record is only retained longer.
    await acknowledge?.(id).catch((err) => log.warn({ err, commandId: id }, 'cannot record in the journal that the outcome was delivered'))
    return true
  }

  #changesOf(boxId: string): Promise<void>[] {
    const changes = [...this.#inHand.values()].filter(({ command }) => command.boxId === boxId && !isNonBlocking(command.kind))
    return changes.map(({ over }) => over)
  }

  #executing(which: (kind: string) => boolean): number {
    return [...this.#inHand.values()].filter(({ executing, command }) => executing && which(command.kind)).length
  }

  #newEnd(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolveEnd = resolve
    })
  }
}

const tooManyFollowers: CommandOutcome = {
  ok: false,
  error: { code: 'RATE_LIMITED', message: `This host follows the logs of ${followerSlots} readers already. fix: end one of them` },
}

const ownerChanged: CommandOutcome = {
  ok: false,
  error: { code: 'LEASE_LOST', message: 'The box now belongs to another host: this host aborted the command and stopped the box' },
}

const isChange = (kind: string): boolean => !isReadOnly(kind)

/** Errors that a retry would repeat. */
const isAnswer = (error: unknown): boolean =>
  isFatal(error) || isProblem(error, 'NOT_FOUND') || isProblem(error, 'VALIDATION') || isProblem(error, 'PAYLOAD_TOO_LARGE')

const deliveryRefused = (error: unknown): CommandOutcome => ({
  ok: false,
  error: {
    code: 'INTERNAL',
    message: `The command finished, but the daemon rejected its result: ${(error as Error).message}`.slice(0, 4000),
  },
})
