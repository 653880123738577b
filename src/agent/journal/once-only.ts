import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { type Problem, problem } from '../../core/kit/index.ts'
import type { CommandRecord } from './command-record.ts'
import type { CommandJournal, NewCommand } from './journal.ts'

type Deps = Readonly<{ journal: CommandJournal; locks: BoxLocks }>

/** `admit` refuses a command before anything is written; it is not called for a command that continues after a crash. */
type Work<Result> = Readonly<{ admit(): Promise<void>; perform(record: CommandRecord): Promise<Result> }>

export type OnceOnly = <Result>(command: NewCommand, work: Work<Result>) => Promise<Result>

/**
 * Runs a command once under the lock of its box, however often the daemon sends it: waits for one that runs, returns the stored result of
 * one that is over, continues one that was interrupted. A throw of `perform` leaves the command open.
 */
export function onceOnly({ journal, locks }: Deps): OnceOnly {
  const running = new Map<string, Promise<unknown>>()

  const locked = async <Result>(command: NewCommand, work: Work<Result>): Promise<Result> => {
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

  const start = async <Result>(command: NewCommand, work: Work<Result>): Promise<Result> => {
    const over = (await journal.find(command.commandId))?.closed
    return over ? (over.result as Result) : locked(command, work)
  }

  return <Result>(command: NewCommand, work: Work<Result>): Promise<Result> => {
    const now = running.get(command.commandId)
    if (now) return now as Promise<Result>
    const result = start(command, work).finally(() => running.delete(command.commandId))
    running.set(command.commandId, result)
    return result
  }
}

/** Held until `release`; the kernel releases it when the process dies. */
export type BoxLock = Readonly<{ release(): Promise<void> }>

export type BoxLocks = Readonly<{
  /** Throws BOX_HELD when another command, of this process or another, has the lock. */
  acquire(slug: string): Promise<BoxLock>
}>

const held = (slug: string): Problem =>
  problem('BOX_HELD', `another command of this host works on the box ${slug}. fix: wait until it ends`)

/**
 * One lock file per box, locked with flock(2), which a killed agent cannot leave behind. Node has no call for it, so the `flock` program
 * of util-linux locks our open file, and the lock stays with our handle.
 */
export function fileLocks(folder: string): BoxLocks {
  return {
    acquire: async (slug) => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const file = await open(join(folder, `${slug}.lock`), constants.O_CREAT | constants.O_RDWR, 0o600)
      try {
        if (!(await lockOpenFile(file))) throw held(slug)
      } catch (error) {
        await file.close()
        throw error
      }
      return { release: () => file.close() }
    },
  }
}

const lockOpenFile = (file: FileHandle): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const child = spawn('flock', ['--exclusive', '--nonblock', '3'], { stdio: ['ignore', 'ignore', 'ignore', file.fd] })
    child.on('error', (cause) =>
      reject(problem('CONFIG', 'flock is not installed on this host. fix: install the package util-linux', { cause })),
    )
    child.on('exit', (code) => resolve(code === 0))
  })

/** For simulated hosts: all agents are in one process. */
export function memoryLocks(): BoxLocks {
  const slugs = new Set<string>()
  return {
    acquire: async (slug) => {
      if (slugs.has(slug)) throw held(slug)
      slugs.add(slug)
      return { release: async () => void slugs.delete(slug) }
    },
  }
}
