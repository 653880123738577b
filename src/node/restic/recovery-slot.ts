import { mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import type { Repository } from './repository.ts'
import { type ResticOptions, runRestic, runWaiting, storeTimeoutOf } from './run-restic.ts'

const wrongPassword = 12

/** Lets the recovery password open the repository too. Does nothing where none is given, or where it does so already. */
export async function addRecoverySlot(options: ResticOptions, repository: Repository): Promise<void> {
  const { recoveryPassword } = repository
  if (recoveryPassword === undefined || recoveryPassword === repository.password) return
  if (await opens(options, { ...repository, password: recoveryPassword })) return
  const args = ['key', 'add', '--user', 'recovery', '--host', 'tenantry', '--new-password-file', '/dev/fd/3']
  await withNamelessFile(recoveryPassword, (file) => runWaiting(options, repository, { args, file, timeoutMs: storeTimeoutOf(options) }))
}

async function opens(options: ResticOptions, repository: Repository): Promise<boolean> {
  const run = { args: ['cat', 'config', '--no-lock'], timeoutMs: storeTimeoutOf(options), accept: [wrongPassword] }
  return (await runRestic(options, repository, run)).exitCode === 0
}

/** A file in memory that has no name any more when it is used: only who is given its descriptor can read it. */
async function withNamelessFile<Result>(content: string, use: (file: number) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join('/dev/shm', 'tenantry-')).catch((cause) => {
    throw problem('SNAPSHOT_FAILED', 'the recovery key cannot be added: this machine has no /dev/shm to hand it to restic', { cause })
  })
  const file = await open(join(folder, 'secret'), 'wx+', 0o600)
  try {
    await rm(folder, { recursive: true })
    await file.writeFile(content)
    return await use(file.fd)
  } finally {
    await file.close()
  }
}
