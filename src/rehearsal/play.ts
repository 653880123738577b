import type { Db } from '../daemon/db/index.ts'
import type { RolloutEngine } from '../daemon/rollouts/index.ts'
import { type VirtualClock, yieldUntilIdle } from '../node/index.ts'
import { type CommandAnswer, expireLate, failureOf, type QueuedCommand, queuedCommands, storeAnswer, storeTaken } from './commands.ts'

export type PlayDeps = Readonly<{
  db: Db
  clock: VirtualClock
  engine: RolloutEngine
  signal: AbortSignal
  /** Runs a command as the agent of its host; undefined when no agent answers. */
  perform(command: QueuedCommand): Promise<unknown> | undefined
  /** The next change that no timer announces, such as an opening window. */
  nextChangeMs(): Promise<number | undefined>
  /** Called when nothing is left to do; false ends the run. */
  shouldContinue(): Promise<boolean>
}>

/**
 * Alternates engine and agents until both are idle, then advances the clock to the next due moment. The clock moves and the engine runs only
 * when all work is idle, and answers are stored in id order, so that results never depend on scheduling.
 */
export async function play({ db, clock, engine, signal, perform, nextChangeMs, shouldContinue }: PlayDeps): Promise<void> {
  const deadlines = new Map<string, number>()
  const answers: CommandAnswer[] = []
  let changeMs: number | undefined

  const storeAnswers = async (): Promise<boolean> => {
    const ready = answers.splice(0).sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const answer of ready) {
      deadlines.delete(answer.id)
      await storeAnswer(db, clock, answer)
    }
    return ready.length > 0
  }
  const startCommands = async () => {
    for (const command of await queuedCommands(db)) {
      if (deadlines.has(command.id)) continue
      deadlines.set(command.id, clock.monotonicMs() + Date.parse(command.deadlineAt) - clock.now().getTime())
      const work = perform(command)
      if (!work) continue
      await storeTaken(db, clock, command.id)
      void work.then(
        (result) => answers.push({ id: command.id, result, error: null }),
        (error) => answers.push({ id: command.id, result: null, error: failureOf(error) }),
      )
    }
  }
  const tick = async () => {
    await engine.tick(signal)
    await startCommands()
    changeMs = await nextChangeMs()
  }
  /** Advances the clock; returns true when the engine must run again. */
  const advance = async (toMs: number): Promise<boolean> => {
    clock.advanceTo(toMs)
    const late = [...deadlines].filter(([, ms]) => ms <= toMs)
    if (late.length > 0) await expireLate(db, clock)
    for (const [id] of late) deadlines.delete(id)
    return late.length > 0 || (changeMs !== undefined && changeMs <= toMs)
  }

  for (let isDue = true; !signal.aborted; ) {
    await yieldUntilIdle()
    if ((await storeAnswers()) || isDue) {
      await tick()
      isDue = false
      continue
    }
    const next = [clock.nextDueMs(), changeMs, ...deadlines.values()].filter((ms) => ms !== undefined)
    isDue = next.length > 0 ? await advance(Math.min(...next)) : await shouldContinue()
    if (next.length === 0 && !isDue) return
  }
  signal.throwIfAborted()
}
