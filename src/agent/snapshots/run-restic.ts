import { execa } from 'execa'
import { ownedEnvironment } from '../journal/index.ts'
import type { Repository } from '../ports/index.ts'
import { resticProblem } from './restic-problem.ts'
import { searchPath } from './restic-version.ts'

export type ResticOptions = Readonly<{
  /** The program; `restic` of the PATH unless given. */
  program?: string
  /** Whose children they are, so that the next agent can end what a killed one left: the agent's data folder. */
  owner: string
  /** restic's cache of repository indexes. */
  cacheFolder: string
  /** How long an unreachable store is waited for before anything is done. */
  storeTimeoutMs?: number
  /** How long the lock of another restic is waited for. */
  lockTimeout?: string
}>

export type Run = Readonly<{
  args: readonly string[]
  commandId?: string
  cwd?: string
  timeoutMs?: number
  signal?: AbortSignal | undefined
  /** Exit codes that the caller answers itself; all others are thrown as Problems. */
  accept?: readonly number[]
}>

export type Ended = Readonly<{ exitCode: number; stdout: string; stderr: string }>

/** One run of restic on a repository, in a process group of its own and in an environment that holds nothing of the agent's. */
export async function runRestic(options: ResticOptions, repository: Repository, run: Run): Promise<Ended> {
  run.signal?.throwIfAborted()
  const child = execa(options.program ?? 'restic', run.args, {
    // restic asks for the password on a stdin that is no terminal.
    input: `${repository.password}\n`,
    env: environment(options, repository, run.commandId ?? ''),
    extendEnv: false,
    detached: true,
    reject: false,
    ...(run.cwd === undefined ? {} : { cwd: run.cwd }),
  })
  const watch = watched(child.pid, run)
  try {
    const { exitCode, stdout, stderr, code } = await child
    run.signal?.throwIfAborted()
    const ended = { exitCode: exitCode ?? -1, stdout, stderr }
    if (ended.exitCode === 0 || run.accept?.includes(ended.exitCode)) return ended
    throw resticProblem({ ...ended, timedOut: watch.timedOut(), missing: code === 'ENOENT' }, repository)
  } finally {
    watch.end()
  }
}

const environment = (options: ResticOptions, repository: Repository, commandId: string) => ({
  PATH: searchPath(),
  ...repository.env,
  ...ownedEnvironment(options.owner, commandId),
  RESTIC_REPOSITORY: repositoryAddress(repository),
  RESTIC_CACHE_DIR: options.cacheFolder,
})

/** `file:/path` is a plain path to restic; `s3:https://…` is its own form. */
const repositoryAddress = ({ repository }: Repository): string => repository.replace(/^file:(\/\/)?(?=\/)/, '')

const killAfterMs = 10_000

// The whole group goes: restic may have children of its own.
function watched(pid: number | undefined, { signal, timeoutMs }: Run) {
  let timedOut = false
  let last: NodeJS.Timeout | undefined
  const end = (name: 'SIGTERM' | 'SIGKILL') => {
    try {
      if (pid !== undefined) process.kill(-pid, name)
    } catch {
      // It ended by itself.
    }
  }
  const kill = () => {
    end('SIGTERM')
    last ??= setTimeout(() => end('SIGKILL'), killAfterMs)
  }
  const timer =
    timeoutMs &&
    setTimeout(() => {
      timedOut = true
      kill()
    }, timeoutMs)
  signal?.addEventListener('abort', kill)
  return {
    timedOut: () => timedOut,
    end: () => {
      clearTimeout(timer)
      clearTimeout(last)
      signal?.removeEventListener('abort', kill)
    },
  }
}
