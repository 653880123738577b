import semver from 'semver'
import { printable, problem } from '../../core/kit/index.ts'
import type { OnWaiting, Repository } from './repository.ts'
import { resticProblem } from './restic-problem.ts'

export type ResticOptions = Readonly<{
  /** Path of restic; default: `restic` from PATH. */
  program?: string
  /** Marks child processes, so that leftovers of a killed program can be found and ended. */
  childEnvironment?: (commandId: string) => Readonly<Record<string, string>>
  /** restic's cache of repository indexes. */
  cacheFolder: string
  /** Timeout for an unreachable store. */
  storeTimeoutMs?: number
  /** Timeout for the lock of another restic. */
  lockTimeout?: string
  /** By repository: the key that its password opens. Without it restic tries one after the other, half a second of CPU each. */
  keys?: Map<string, string>
}>

export type Run = Readonly<{
  args: readonly string[]
  commandId?: string
  /** Open file passed to the child as descriptor 3. */
  file?: number
  timeoutMs?: number
  signal?: AbortSignal | undefined
  /** Non-zero exit codes returned to the caller; others throw. */
  accept?: readonly number[]
  /** Called before a wait for the lock of another restic, which may take minutes, and with undefined at its end. */
  onWaiting?: OnWaiting | undefined
}>

export type Ended = Readonly<{ exitCode: number; stdout: string; stderr: string }>

/** Runs restic in its own process group, with an environment that contains nothing of the caller's. */
export async function runRestic(options: ResticOptions, repository: Repository, run: Run): Promise<Ended> {
  // Loaded lazily: a daemon rarely runs restic.
  const { execa } = await import('execa')
  run.signal?.throwIfAborted()
  const child = execa(options.program ?? 'restic', run.args, {
    // restic reads the password from a non-terminal stdin.
    input: `${repository.password}\n`,
    // execa accepts any descriptor; its types end at 9.
    stdio: ['pipe', 'pipe', 'pipe', (run.file as 3 | undefined) ?? 'ignore'],
    env: environment(options, repository, run.commandId ?? ''),
    extendEnv: false,
    detached: true,
    reject: false,
    stripFinalNewline: false,
  })
  const watch = watched(child.pid, run)
  const endWait = once(() => run.onWaiting?.(undefined))
  // restic writes its first line once it has the lock; without --json it first says that it waits.
  child.stdout.on('data', (part) => {
    if (!/^(?:repo already locked, waiting.*\s*)*$/.test(String(part))) endWait()
  })
  try {
    const { exitCode, stdout, stderr, code } = await child
    run.signal?.throwIfAborted()
    const ended = { exitCode: exitCode ?? -1, stdout, stderr }
    if (ended.exitCode === 0 || run.accept?.includes(ended.exitCode)) {
      endWait()
      return ended
    }
    throw resticProblem({ ...ended, timedOut: watch.timedOut(), missing: code === 'ENOENT' }, repository)
  } finally {
    watch.end()
  }
}

function once(act: () => void): () => void {
  let done = false
  return () => {
    if (!done) act()
    done = true
  }
}

const locked = 11

/** Runs restic with the repository lock. Lets restic remove stale locks, then waits for others. */
export async function runWaiting(options: ResticOptions, repository: Repository, run: Run): Promise<Ended> {
  const { lockTimeout = '10m' } = options
  const { onWaiting = repository.onWaiting, ...work } = run
  const first = await runRestic(options, repository, { ...work, accept: [...(run.accept ?? []), locked] })
  if (first.exitCode !== locked) return first
  onWaiting?.(`the lock of ${lockOwner(first)} on ${repository.repository} (fails after ${lockTimeout})`)
  await runRestic(options, repository, {
    args: ['unlock'],
    timeoutMs: storeTimeoutOf(options),
    ...(run.signal ? { signal: run.signal } : {}),
  })
  return runRestic(options, repository, { ...run, onWaiting, args: ['--retry-lock', lockTimeout, ...run.args] })
}

/** `PID 4711 on backup-host`, as restic names the process that has the lock. */
const lockOwner = ({ stderr }: Ended): string => {
  const owner = /locked (?:exclusively )?by (PID \d+ on \S+)/.exec(stderr)?.[1]
  return owner === undefined ? 'another restic' : `another restic, ${printable(owner).slice(0, 100)},`
}

/** Timeout of a query to an unresponsive store. */
export const storeTimeoutOf = ({ storeTimeoutMs = 60_000 }: ResticOptions): number => storeTimeoutMs

const environment = (options: ResticOptions, repository: Repository, commandId: string) => ({
  PATH: searchPath(),
  ...repository.env,
  ...options.childEnvironment?.(commandId),
  RESTIC_REPOSITORY: repositoryAddress(repository),
  RESTIC_CACHE_DIR: options.cacheFolder,
  // A wrong one costs one try.
  ...keyHint(options, repository),
})

const keyHint = ({ keys }: ResticOptions, { repository }: Repository) => {
  const key = keys?.get(repository)
  return key === undefined ? {} : { RESTIC_KEY_HINT: key }
}

/** restic expects a plain path for `file:/path`; `s3:https://…` is passed unchanged. */
const repositoryAddress = ({ repository }: Repository): string => repository.replace(/^file:(\/\/)?(?=\/)/, '')

const killAfterMs = 10_000

// Ends the whole process group, because restic may have children.
function watched(pid: number | undefined, { signal, timeoutMs }: Run) {
  let timedOut = false
  let last: NodeJS.Timeout | undefined
  const end = (name: 'SIGTERM' | 'SIGKILL') => {
    try {
      if (pid !== undefined) process.kill(-pid, name)
    } catch {
      // Already ended.
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

/** First version with exit codes 10 to 12 and --retry-lock. */
const oldest = '0.17.1'

/** PATH, the only variable that children inherit. */
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
  if (failed || !version) throw problem('RESTIC_UNUSABLE', `Cannot run ${program}. fix: install restic ${oldest} or newer`)
  if (semver.lt(version, oldest)) throw problem('RESTIC_UNUSABLE', `restic ${version} is too old. fix: install ${oldest} or newer`)
  return version
}
