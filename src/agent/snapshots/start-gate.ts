import { constants } from 'node:fs'
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { searchPath } from '../../node/restic/index.ts'

type Waiting = Readonly<{
  /** For the files of the gate; restic must see it. Removed at the end, and before the next use. */
  folder: string
  /** Resolves when the files of the backup are complete. */
  ready: Promise<unknown>
  signal?: AbortSignal | undefined
}>

/**
 * Runs a backup that begins before its files are complete: restic opens its repository meanwhile, which takes half a second, and waits before it
 * reads any of them. On a host without pipes it begins later. Throws what `ready` or the backup throws, once restic has ended.
 */
export async function behindGate<Value>(
  { folder, ready, signal }: Waiting,
  backUp: (gate: readonly string[]) => Promise<Value>,
): Promise<Value> {
  ready.catch(() => undefined)
  const gate = await closedGate(folder).catch(() => undefined)
  if (!gate) {
    await ready
    return backUp([])
  }
  const backing = backUp(gate.args)
  const opening = ready.then(gate.open)
  // A restic that waits ends only with the pipe.
  const end = () => void gate.remove().catch(() => undefined)
  signal?.addEventListener('abort', end, { once: true })
  if (signal?.aborted) end()
  try {
    await Promise.race([backing, opening])
    await opening
    return await backing
  } finally {
    signal?.removeEventListener('abort', end)
    await gate.remove().catch(() => undefined)
    await Promise.allSettled([backing])
  }
}

type Gate = Readonly<{ args: readonly string[]; open(): Promise<void>; remove(): Promise<void> }>

/**
 * After it has opened the repository, restic reads the files of excluded names. The first is a pipe that this process holds open, so restic waits;
 * the second exists once the gate is open. The pipe also ends with this process, and restic then fails for want of the second, so that no
 * incomplete snapshot is left by an agent that was killed. A restic that has not come to the pipe by then waits on; the next agent ends it.
 */
async function closedGate(folder: string): Promise<Gate> {
  const [pipe, pass, empty, later] = ['pipe', 'pass', 'empty', 'later'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ]
  const clear = () => rm(folder, { recursive: true, force: true })
  await clear()
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    for (const path of [empty, later]) await writeFile(path, '')
    await execa('mkfifo', ['-m', '600', pipe], { env: { PATH: searchPath() }, extendEnv: false, stdin: 'ignore' })
    // A pipe that is opened for reading alone would end at once, and for writing alone would wait for restic.
    const held = await open(pipe, constants.O_RDWR | constants.O_NONBLOCK)
    return {
      args: ['--exclude-file', pipe, '--exclude-file', pass],
      open: async () => {
        await rename(later, pass)
        // For a restic that has not come to the pipe yet.
        await rename(empty, pipe)
        await held.close()
      },
      // Removed first: restic would wait forever for a pipe without a writer.
      remove: () => clear().finally(() => held.close()),
    }
  } catch (error) {
    await clear()
    throw error
  }
}
