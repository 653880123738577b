import { constants } from 'node:fs'
import { mkdtemp, open, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { searchPath } from '../../node/restic/index.ts'

/**
 * Runs a backup that begins before its files are complete: restic opens its repository meanwhile, which takes half a second, and waits before it
 * reads any of them. On a host without pipes it begins later. Throws what `ready` or the backup throws, once restic has ended.
 */
export async function behindGate<Value>(ready: Promise<unknown>, backUp: (gate: readonly string[]) => Promise<Value>): Promise<Value> {
  const gate = await closedGate().catch(() => undefined)
  if (!gate) {
    await ready
    return backUp([])
  }
  const backing = backUp(gate.args)
  const opening = ready.then(gate.open)
  try {
    await Promise.race([backing, opening])
    await opening
    return await backing
  } finally {
    await gate.remove()
    await Promise.allSettled([backing])
  }
}

type Gate = Readonly<{ args: readonly string[]; open(): Promise<void>; remove(): Promise<void> }>

/**
 * After it has opened the repository, restic reads the files of excluded names. The first is a pipe that this process holds open, so restic waits;
 * the second exists once the gate is open. The pipe also ends with this process, and restic then fails for want of the second, so that no
 * incomplete snapshot is left by an agent that was killed.
 */
async function closedGate(): Promise<Gate> {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-gate-'))
  const [pipe, pass, empty] = ['pipe', 'pass', 'empty'].map((name) => join(folder, name)) as [string, string, string]
  await execa('mkfifo', ['-m', '600', pipe], { env: { PATH: searchPath() }, extendEnv: false, stdin: 'ignore' })
  // A pipe that is opened for reading alone would end at once, and for writing alone would wait for restic.
  const held = await open(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  return {
    args: ['--exclude-file', pipe, '--exclude-file', pass],
    open: async () => {
      await writeFile(pass, '')
      await writeFile(empty, '')
      // For a restic that has not come to it yet.
      await rename(empty, pipe)
      await held.close()
    },
    remove: async () => {
      await held.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
