import { mkdir } from 'node:fs/promises'
import { isProblem, problem } from '../../core/kit/index.ts'
import { type Ended, type ResticOptions, runRestic, runWaiting } from '../../node/restic/index.ts'
import type { Repository } from '../ports/index.ts'

type Wanted = Readonly<{ id: string; path: string; into: string; signal?: AbortSignal | undefined }>

/** Writes a path of a snapshot into a folder; it is the kernel's, not yet the disk's, when it resolves. Throws RESTORE_FAILED. */
export async function writeBack(options: ResticOptions, repository: Repository, { id, path, into, signal }: Wanted): Promise<void> {
  await mkdir(into, { recursive: true, mode: 0o700 })
  const args = ['restore', '--json', '--target', into, '--', `${id}:${path}`]
  await readWithoutLock(options, repository, args, signal).catch((error) => {
    throw isProblem(error, 'SNAPSHOT_FAILED')
      ? problem('RESTORE_FAILED', `the snapshot ${id} was not written back: ${error.message}`, { cause: error })
      : error
  })
}

/**
 * Taking the lock means to write into the store and then to wait for whoever did so at the same time, which a box that is away pays for, and
 * which a store that is full or lost its way of writing refuses. It only keeps a prune from taking packs away meanwhile, and restic misses
 * each that is gone, by its name: then it is read once more, under the lock.
 */
async function readWithoutLock(options: ResticOptions, repository: Repository, args: string[], signal?: AbortSignal): Promise<Ended> {
  try {
    return await runRestic(options, repository, { args: ['--no-lock', ...args], signal })
  } catch (error) {
    if (!isProblem(error, 'SNAPSHOT_FAILED')) throw error
    return await runWaiting(options, repository, { args, signal }).catch((second) => {
      // One that could not even take the lock does not say what is missed.
      if (!isProblem(second) || second.message === error.message) throw second
      throw problem(second.code, `${second.message}; and without the lock: ${error.message}`, { cause: second })
    })
  }
}
