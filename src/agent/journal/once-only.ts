import type { BoxLocks } from './box-lock.ts'
import type { Beginning, CommandJournal, CommandRecord } from './journal.ts'

type Deps = Readonly<{ journal: CommandJournal; locks: BoxLocks }>

/** `admit` refuses a command before anything is written, and is not asked again when one goes on after a crash. */
type Work<Result> = Readonly<{ admit(): Promise<void>; perform(record: CommandRecord): Promise<Result> }>

export type OnceOnly = <Result>(command: Beginning, work: Work<Result>) => Promise<Result>

/**
 * Does a command once, whatever the daemon sends twice: one that runs is waited for, one that is over answers its stored result,
 * one that broke off goes on, all under the box's lock. What `perform` throws leaves the command open.
 */
export function onceOnly({ journal, locks }: Deps): OnceOnly {
  const running = new Map<string, Promise<unknown>>()

  const locked = async <Result>(command: Beginning, work: Work<Result>): Promise<Result> => {
    const lock = await locks.acquire(command.slug)
    try {
      if (!(await journal.find(command.commandId))) await work.admit()
      const record = await journal.begin(command)
      if (record.closed) return record.closed.result as Result
      const result = await work.perform(record)
      await journal.close(command.commandId, result)
      return result
    } finally {
      await lock.release()
    }
  }

  const start = async <Result>(command: Beginning, work: Work<Result>): Promise<Result> => {
    const over = (await journal.find(command.commandId))?.closed
    return over ? (over.result as Result) : locked(command, work)
  }

  return <Result>(command: Beginning, work: Work<Result>): Promise<Result> => {
    const now = running.get(command.commandId)
    if (now) return now as Promise<Result>
    const result = start(command, work).finally(() => running.delete(command.commandId))
    running.set(command.commandId, result)
    return result
  }
}
