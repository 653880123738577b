import type { Db } from '../daemon/db/index.ts'
import type { RolloutEngine } from '../daemon/rollouts/index.ts'
import { untilIdle, type VirtualClock } from '../node/index.ts'
import { type CommandAnswer, expireLate, failureOf, type QueuedCommand, queuedCommands, storeAnswer, storeTaken } from './commands.ts'

export type PlayDeps = Readonly<{
  db: Db
  clock: VirtualClock
  engine: RolloutEngine
  signal: AbortSignal
  /** Does a command as the agent of its host would; undefined where no agent answers. */
  perform(command: QueuedCommand): Promise<unknown> | undefined
  /** When something changes for which nobody sleeps, such as a window that opens. */
  nextChangeMs(): Promise<number | undefined>
  /** Called when nothing can come any more by itself; false ends the play. */
  goOn(): Promise<boolean>
}>

/**
 * Engine and agents in turn, until neither has anything to do; then time passes, to the next moment for which somebody waits. All that is
 * under way comes to rest before the clock moves and before the engine looks, and answers are given in the order of their names: nothing
 * depends on which of two is computed first.
 */
export async function play({ db, clock, engine, signal, perform, nextChangeMs, goOn }: PlayDeps): Promise<void> {
  const waitedFor = new Map<string, number>()
  const said: CommandAnswer[] = []
  let changeMs: number | undefined

  const takeIn = async (): Promise<boolean> => {
    const answers = said.splice(0).sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const answer of answers) {
      waitedFor.delete(answer.id)
      await storeAnswer(db, clock, answer)
    }
    return answers.length > 0
  }
  const handOut = async () => {
    for (const command of await queuedCommands(db)) {
      if (waitedFor.has(command.id)) continue
      waitedFor.set(command.id, clock.monotonicMs() + Date.parse(command.deadlineAt) - clock.now().getTime())
      const work = perform(command)
      if (!work) continue
      await storeTaken(db, clock, command.id)
      void work.then(
        (result) => said.push({ id: command.id, result, error: null }),
        (error) => said.push({ id: command.id, result: null, error: failureOf(error) }),
      )
    }
  }
  const look = async () => {
    await engine.tick(signal)
    await handOut()
    changeMs = await nextChangeMs()
  }
  /** Lets time pass; answers whether the engine must look again. */
  const pass = async (toMs: number): Promise<boolean> => {
    clock.advanceTo(toMs)
    const late = [...waitedFor].filter(([, ms]) => ms <= toMs)
    if (late.length > 0) await expireLate(db, clock)
    for (const [id] of late) waitedFor.delete(id)
    return late.length > 0 || (changeMs !== undefined && changeMs <= toMs)
  }

  for (let news = true; !signal.aborted; ) {
    await untilIdle()
    if ((await takeIn()) || news) {
      await look()
      news = false
      continue
    }
    const next = [clock.nextDueMs(), changeMs, ...waitedFor.values()].filter((ms) => ms !== undefined)
    news = next.length > 0 ? await pass(Math.min(...next)) : await goOn()
    if (next.length === 0 && !news) return
  }
  signal.throwIfAborted()
}
