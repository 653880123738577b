import { execa } from 'execa'
import { duration, type ProblemCode, problem } from '../../core/kit/index.ts'
import type { Project } from '../ports/index.ts'
import type { DockerSettings } from './connect.ts'
import { saidProblem } from './engine-problem.ts'

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const killAfterMs = 10_000

/** Everything about the project is said outright: with less, compose takes names and files from where it was started. */
export const composeArguments = (project: Project, args: readonly string[]): string[] => [
  'compose',
  '--project-name',
  project.name,
  '--file',
  project.composeFile,
  '--project-directory',
  project.folder,
  '--env-file',
  project.envFile ?? '/dev/null',
  '--ansi',
  'never',
  '--progress',
  'plain',
  ...args,
]

/** The whole environment of a child: a stray COMPOSE_ variable would lead to another project. */
export const childEnvironment = ({ dockerHost, dockerConfig, childEnvironment: more }: DockerSettings): Record<string, string> => ({
  PATH: path,
  DOCKER_HOST: dockerHost,
  ...(dockerConfig === undefined ? {} : { DOCKER_CONFIG: dockerConfig }),
  ...more,
})

type RunOptions = Readonly<{
  what: string
  otherwise: ProblemCode
  timeoutMs: number
  signal?: AbortSignal | undefined
  input?: string | undefined
}>

/** Runs the docker client and answers what it printed. Its processes are one group, which an abort or the time limit ends as a whole. */
export async function runDocker(
  settings: DockerSettings,
  args: readonly string[],
  { what, otherwise, timeoutMs, signal, input }: RunOptions,
): Promise<string> {
  signal?.throwIfAborted()
  const child = execa(settings.docker ?? 'docker', [...args], {
    env: childEnvironment(settings),
    extendEnv: false,
    detached: true,
    ...(input === undefined ? { stdin: 'ignore' as const } : { input }),
    reject: false,
    maxBuffer: 4_000_000,
  })
  const limit = AbortSignal.timeout(timeoutMs)
  const forget = endGroupOnAbort(child.pid, signal ? AbortSignal.any([signal, limit]) : limit)
  const { exitCode, stdout, stderr, shortMessage } = await child.finally(forget)
  signal?.throwIfAborted()
  if (exitCode === 0) return stdout
  if (limit.aborted) throw problem('DOCKER_UNAVAILABLE', `${what}: docker did not end within ${duration(timeoutMs)}`)
  const said = stderr.trim() || stdout.trim() || shortMessage || ''
  throw saidProblem(said, what, exitCode === undefined ? 'DOCKER_UNAVAILABLE' : otherwise)
}

function endGroupOnAbort(pid: number | undefined, signal: AbortSignal): () => void {
  if (pid === undefined) return () => undefined
  let last: NodeJS.Timeout | undefined
  const end = () => {
    endGroup(pid, 'SIGTERM')
    last = setTimeout(() => endGroup(pid, 'SIGKILL'), killAfterMs)
  }
  signal.addEventListener('abort', end, { once: true })
  return () => {
    clearTimeout(last)
    signal.removeEventListener('abort', end)
  }
}

function endGroup(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-pid, name)
  } catch {
    // It has ended by itself.
  }
}
