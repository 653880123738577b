import { isNonBlocking, isReadOnly } from '../../core/boxes/index.ts'
import type { CommandOutcome, DisownedBox, HeldCommand, LeasedCommand } from '../../core/hosts/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import type { AgentDeps } from './agent-deps.ts'
import type { ShelvedCommand } from './command-store.ts'
import type { AgentClient } from './connection.ts'
import { isEnding, orAborted, retry } from './retry.ts'
import { howItEnded, progressOf, runCommand } from './run-command.ts'

type Deps = AgentDeps & Readonly<{ client: AgentClient }>
type InHand = { command: ShelvedCommand; executing: boolean; over: Promise<void>; abandoned: AbortController }

/** An executor that was broken off ends at its next step; outcomes are told meanwhile. */
const deliveryGraceMs = 10_000
const lastAnswerMs = 5000
const lastProgressMs = 2000
/** A stop of a server, or the end of a dump, takes this long at most; afterwards the box's lock decides. */
const abandonGraceMs = 150_000

/** Beside the slots, for questions only. */
const questionSlots = 4

/** What else may be taken: anything, only questions, or nothing. */
export type Room = 'all' | 'questions' | 'none'

/**
 * The commands in hand: on the shelf first, then executed, their outcome kept until the daemon has it. One at a time per box; questions
 * and drills beside it.
 * It knows no connection state: a delivery goes on until it succeeds, whatever the daemon does meanwhile.
 */
export class CommandDesk {
  readonly #needs: Deps
  readonly #slots: number
  readonly #inHand = new Map<string, InHand>()
  readonly #breakOff = new AbortController()
  readonly #tellNoMore = new AbortController()
  #tellEnd: () => void = () => undefined
  /** Resolves when the next execution ends. */
  #nextEnd: Promise<void>

  constructor(deps: Deps) {
    this.#needs = deps
    this.#slots = deps.slots ?? 4
    this.#nextEnd = this.#newEnd()
  }

  /** All that must not be offered again: executed now, or its outcome not delivered yet. */
  holding(): HeldCommand[] {
    return [...this.#inHand.values()].map(({ command: { id, leaseToken } }) => ({ id, leaseToken }))
  }

  room(): Room {
    const asked = this.#executing(isReadOnly)
    if (asked >= questionSlots) return 'none'
    return this.#executing(isChange) < this.#slots ? 'all' : 'questions'
  }

  /** Until there is room for what is wanted, or the signal aborts. */
  async untilRoom(wanted: 'all' | 'questions', signal: AbortSignal): Promise<void> {
    const lacks = () => (wanted === 'all' ? this.room() !== 'all' : this.room() === 'none')
    while (lacks() && !signal.aborted) await orAborted(this.#nextEnd, signal)
  }

  /** Goes on with what an earlier run of the agent had in hand. Their boxes are taken before anything new is asked for. */
  async resume(): Promise<void> {
    for (const command of await this.#needs.shelf.all()) {
      this.#needs.log.info({ commandId: command.id, kind: command.kind, known: command.outcome !== null }, 'going on with a command')
      this.#begin(command, 'on the shelf')
    }
  }

  take(leased: LeasedCommand): void {
    const { id, kind, boxId, payload, leaseToken } = leased
    const known = this.#inHand.get(id)
    // The daemon offers again what we have: only the lease is new, the work goes on.
    if (known) known.command = { ...known.command, leaseToken }
    else this.#begin({ id, kind, boxId, payload, leaseToken, outcome: null }, 'new')
  }

  /** Until no box is changed any more, or the signal aborts. */
  async untilUnchanged(signal: AbortSignal): Promise<void> {
    while (this.#executing((kind) => !isNonBlocking(kind)) > 0 && !signal.aborted) await orAborted(this.#nextEnd, signal)
  }

  /** Lets commands finish for `drainMs`, breaks off the rest, tells what became of them, and returns; what is not over stays on the shelf. */
  async drain(): Promise<void> {
    const { drainMs = 30_000 } = this.#needs
    const all = () => Promise.all([...this.#inHand.values()].map(({ over }) => over))
    const executed = async () => {
      while (this.#executing(() => true) > 0) await this.#nextEnd
    }
    await this.#atMost(drainMs, executed())
    this.#breakOff.abort()
    await this.#atMost(deliveryGraceMs, all())
    this.#tellNoMore.abort()
    await this.#atMost(lastAnswerMs, all())
  }

  /** Breaks off what was begun under an older epoch on a box that is another host's by now: it ends as lost, and is not gone on with. */
  async abandon({ boxId, ownershipEpoch }: DisownedBox): Promise<void> {
    // A question or a drill does nothing to the box: it may come to its own end.
    const isOlder = ({ boxId: of, kind, payload }: ShelvedCommand) =>
      of === boxId && !isNonBlocking(kind) && (Object(payload).ownershipEpoch ?? 0) < ownershipEpoch
    const ofBox = () => [...this.#inHand.values()].filter(({ command, executing }) => executing && isOlder(command))
    const ended = async () => {
      while (ofBox().length > 0) await this.#nextEnd
    }
    for (const { abandoned } of ofBox()) abandoned.abort(new Error('the box has another owner'))
    await this.#atMost(abandonGraceMs, ended())
  }

  async #atMost(ms: number, work: Promise<unknown>): Promise<void> {
    const done = new AbortController()
    await Promise.race([work, this.#needs.clock.sleep(ms, done.signal)])
    done.abort()
  }

  #begin(command: ShelvedCommand, from: 'new' | 'on the shelf'): void {
    const before = isNonBlocking(command.kind) ? [] : this.#changesOf(command.boxId)
    const hand: InHand = { command, executing: command.outcome === null, over: Promise.resolve(), abandoned: new AbortController() }
    this.#inHand.set(command.id, hand)
    hand.over = this.#work(hand, before, from).catch((err) => {
      this.#needs.log.error({ err, commandId: command.id }, 'a command is let go of: the daemon offers it again')
      this.#inHand.delete(command.id)
      this.#ended(hand)
    })
  }

  async #work(hand: InHand, before: readonly Promise<void>[], from: 'new' | 'on the shelf'): Promise<void> {
    await Promise.all(before)
    const refusal = from === 'new' ? await this.#refusalToShelve(hand.command) : undefined
    const outcome = refusal ?? hand.command.outcome ?? (await this.#execute(hand))
    this.#ended(hand)
    if (outcome && (await this.#deliver(hand, outcome))) await this.#forget(hand.command)
  }

  #ended(hand: InHand): void {
    hand.executing = false
    this.#tellEnd()
    this.#nextEnd = this.#newEnd()
  }

  /** What cannot be kept is not begun: a restarted agent would know nothing of it. The daemon hears why. */
  async #refusalToShelve(command: ShelvedCommand): Promise<CommandOutcome | undefined> {
    try {
      await this.#needs.shelf.put(command)
      return undefined
    } catch (err) {
      this.#needs.log.error({ err, commandId: command.id }, 'a command cannot be kept, so it is not begun')
      const why = (err as Error).message
      const isFull = isProblem(err, 'DISK_FULL') || (err as NodeJS.ErrnoException).code === 'ENOSPC'
      const message = `the agent cannot write the command down, so it was not begun and nothing was touched: ${why}`.slice(0, 4000)
      return { ok: false, error: { code: isFull ? 'DISK_FULL' : 'INTERNAL', message } }
    }
  }

  async #execute(hand: InHand): Promise<CommandOutcome | undefined> {
    const { shelf, log } = this.#needs
    const held = () => hand.command
    const stream = progressOf(this.#needs, held)
    const signal = AbortSignal.any([this.#breakOff.signal, hand.abandoned.signal])
    const ran = signal.aborted ? undefined : await runCommand(this.#needs, held, stream, signal)
    const outcome = ran ?? (hand.abandoned.signal.aborted ? ofAnother : undefined)
    if (outcome) {
      hand.command = { ...hand.command, outcome }
      // Before anything that waits for the daemon. Where it cannot be kept, an agent that dies now does it again, which answers the same.
      await shelf.put(hand.command).catch((err) => log.warn({ err, commandId: hand.command.id }, 'an outcome cannot be kept'))
      log.info({ commandId: hand.command.id, kind: hand.command.kind, ...howItEnded(outcome) }, 'a command is over')
    }
    await this.#atMost(lastProgressMs, stream.end())
    return outcome
  }

  async #forget({ id, kind, boxId }: ShelvedCommand): Promise<void> {
    const { client, reports, log, shelf } = this.#needs
    this.#inHand.delete(id)
    await shelf.remove(id).catch((err) => log.warn({ err, commandId: id }, 'a command that is over cannot be taken off the shelf'))
    if (isReadOnly(kind)) return // it changed nothing
    const tell = async () => client.postReports({ body: { reports: [...(await reports(boxId))] } })
    await tell().catch((err) => log.debug({ err }, 'could not report after a command')) // hello reports all boxes anyway
  }

  /** True when the daemon has it, or does not want it any more. */
  async #deliver(hand: InHand, outcome: CommandOutcome): Promise<boolean> {
    const { client, log, acknowledge } = this.#needs
    const { id } = hand.command
    const send = (what: CommandOutcome) => async () => {
      await client.postResult({ params: { id }, body: { leaseToken: hand.command.leaseToken, outcome: what } })
      return true
    }
    const patience = { signal: this.#tellNoMore.signal, givesUp: isAnswer }
    try {
      if (!(await retry(this.#needs, send(outcome), patience))) return false
    } catch (error) {
      if (isEnding(error)) return false
      log.error({ commandId: id, err: error }, 'the daemon does not take the outcome of a command')
      if (!isProblem(error, 'NOT_FOUND')) await retry(this.#needs, send(asRefusal(error)), patience).catch(() => undefined)
    }
    // Unacknowledged it is only remembered for longer.
    await acknowledge?.(id).catch((err) => log.warn({ err, commandId: id }, 'the journal cannot note that the daemon knows the outcome'))
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
      this.#tellEnd = resolve
    })
  }
}

const ofAnother: CommandOutcome = {
  ok: false,
  error: { code: 'LEASE_LOST', message: 'the box has another owner by now: this host broke the command off and stopped the box' },
}

const isChange = (kind: string): boolean => !isReadOnly(kind)

/** The daemon answered, and will answer the same again. */
const isAnswer = (error: unknown): boolean =>
  isEnding(error) || isProblem(error, 'NOT_FOUND') || isProblem(error, 'VALIDATION') || isProblem(error, 'PAYLOAD_TOO_LARGE')

const asRefusal = (error: unknown): CommandOutcome => ({
  ok: false,
  error: { code: 'INTERNAL', message: `the command ended, but the daemon refused its result: ${(error as Error).message}`.slice(0, 4000) },
})
