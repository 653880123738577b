import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { type Problem, problem } from '../../core/kit/index.ts'

/** Held until `release`; the kernel releases it when the process dies, in whatever way. */
export type BoxLock = Readonly<{ release(): Promise<void> }>

export type BoxLocks = Readonly<{
  /** Throws BOX_HELD when another command, of this process or another, has the box. */
  acquire(slug: string): Promise<BoxLock>
}>

const held = (slug: string): Problem => problem('BOX_HELD', `another command of this host works on the box ${slug}; wait for its end`)

/**
 * One lock file per box, locked with flock(2): unlike a file with a process id in it, it cannot be left behind by a killed agent.
 * Node has no call for it, so the `flock` program of util-linux locks the open file that it is given, and the lock stays with our handle.
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
    child.on('error', (cause) => reject(problem('CONFIG', 'the program flock (package util-linux) is missing on this host', { cause })))
    child.on('exit', (code) => resolve(code === 0))
  })

/** For simulated hosts: all agents live in one process. */
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
