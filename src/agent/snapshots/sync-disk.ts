import { execa } from 'execa'
import { printable, problem } from '../../core/kit/index.ts'
import { searchPath } from '../../node/restic/index.ts'

/** On disk when it resolves: all that was written to the file system of a folder. Throws RESTORE_FAILED. */
export type SyncDisk = (folder: string, environment: Readonly<Record<string, string>>, signal?: AbortSignal) => Promise<void>

export const syncDisk: SyncDisk = async (folder, environment, signal) => {
  signal?.throwIfAborted()
  const { failed, stderr, shortMessage } = await execa('sync', ['-f', folder], {
    env: { PATH: searchPath(), ...environment },
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    ...(signal ? { cancelSignal: signal } : {}),
  })
  signal?.throwIfAborted()
  if (!failed) return
  const said = printable(stderr.trim() || (shortMessage ?? '')).slice(0, 300)
  throw problem('RESTORE_FAILED', `what was written back to ${folder} cannot be brought to the disk: ${said}`)
}
