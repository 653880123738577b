import semver from 'semver'
import { problem } from '../../core/kit/index.ts'
import type { Repository } from './repository.ts'
import { resticProblem } from './restic-problem.ts'

export type ResticOptions = Readonly<{
  /** The program; `restic` of the PATH unless given. */
  program?: string
  /** By what a child is known to whoever must end it after a kill of the program that started it. */
  childEnvironment?: (commandId: string) => Readonly<Record<string, string>>
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
  /** An open file that the child gets as its descriptor 3. */
  file?: number
  timeoutMs?: number
  signal?: AbortSignal | undefined
  /** Exit codes that the caller answers itself; all others are thrown as Problems. */
  accept?: readonly number[]
}>

export type Ended = Readonly<{ exitCode: number; stdout: string; stderr: string }>

/** One run of restic on a repository, in a process group of its own and in an environment that holds nothing of the caller's. */
export async function runRestic(options: ResticOptions, repository: Repository, run: Run): Promise<Ended> {
  // A daemon is idle for days before it runs restic.
  const { execa } = await import('execa')
  run.signal?.throwIfAborted()
  const child = execa(options.program ?? 'restic', run.args, {
    // restic asks for the password on a stdin that is no terminal.
    input: `${repository.password}\n`,
    // execa takes any descriptor; its types stop at nine.
    stdio: ['pipe', 'pipe', 'pipe', (run.file as 3 | undefined) ?? 'ignore'],
    env: environment(options, repository, run.commandId ?? ''),
    extendEnv: false,
    detached: true,
    reject: false,
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

const locked = 11

/**
 * A run that needs the repository's lock. A lock whose holder died on this machine, or has not been heard of for half an hour, is taken away,
 * which restic itself decides; any other is waited for.
 */
export async function runWaiting(options: ResticOptions, repository: Repository, run: Run): Promise<Ended> {
  const { lockTimeout = '10m' } = options
  const first = await runRestic(options, repository, { ...run, accept: [...(run.accept ?? []), locked] })
  if (first.exitCode !== locked) return first
  await runRestic(options, repository, {
    args: ['unlock'],
    timeoutMs: storeTimeoutOf(options),
    ...(run.signal ? { signal: run.signal } : {}),
  })
  return runRestic(options, repository, { ...run, args: ['--retry-lock', lockTimeout, ...run.args] })
}

/** How long a question to a store may take that does not answer. */
export const storeTimeoutOf = ({ storeTimeoutMs = 60_000 }: ResticOptions): number => storeTimeoutMs

const environment = (options: ResticOptions, repository: Repository, commandId: string) => ({
  PATH: searchPath(),
  ...repository.env,
  ...options.childEnvironment?.(commandId),
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

/** From here on restic tells by exit code what went wrong (10 to 12) and waits for locks. */
const oldest = '0.17.1'

/** Where programs are looked for: the one thing that children take over from the agent's environment. */
export const searchPath = (): string => process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin'

/** Version of the program; throws RESTIC_UNUSABLE when it is missing or older than 0.17.1. */
export async function resticVersion(program: string): Promise<string> {
  const { execa } = await import('execa')
  const { stdout, failed } = await execa(program, ['version'], {
    reject: false,
    extendEnv: false,
    env: { PATH: searchPath() },
    timeout: 10_000,
    forceKillAfterDelay: 1_000,
  })
  const version = /^restic ([0-9]+\.[0-9]+\.[0-9]+)/.exec(stdout ?? '')?.[1]
  if (failed || !version) throw problem('RESTIC_UNUSABLE', `${program} cannot be run: install restic ${oldest} or newer`)
  if (semver.lt(version, oldest)) throw problem('RESTIC_UNUSABLE', `restic ${version} is too old: install ${oldest} or newer`)
  return version
}
