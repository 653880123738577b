import { readFile } from 'node:fs/promises'
import { execa } from 'execa'
import { isMap, type Node, parseDocument } from 'yaml'
import { duration, type ProblemCode, problem } from '../../core/kit/index.ts'
import type { Project } from '../ports/index.ts'
import { type DockerSettings, limitsOf } from './connect.ts'
import { outputProblem } from './engine-problem.ts'

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const killAfterMs = 10_000

/** Explicit project settings; without them compose would derive names and files from its working directory. */
export const composeArguments = (project: Project, args: readonly string[]): string[] => [
  'compose',
  '--project-name',
  project.name,
  '--file',
  project.composeFile,
  ...(project.extraFile === undefined ? [] : ['--file', project.extraFile]),
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

/** The complete environment of a child process; a stray COMPOSE_ variable could select another project. */
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

/** Runs the docker client and returns its output. On abort or timeout its whole process group is ended. */
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
  if (limit.aborted) throw problem('DOCKER_UNAVAILABLE', `${what}: docker timed out after ${duration(timeoutMs)}`)
  const said = stderr.trim() || stdout.trim() || shortMessage || ''
  throw outputProblem(said, what, exitCode === undefined ? 'DOCKER_UNAVAILABLE' : otherwise)
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
    // Already ended.
  }
}

/** Returns both possible hashes of a service: compose includes `depends_on` in the hash when it starts all services, and omits it for a single one. */
export async function configHashes(settings: DockerSettings, project: Project): Promise<Record<string, readonly string[]>> {
  const [whole, alone] = await Promise.all([hashes(settings, project), hashesAlone(settings, project)])
  return Object.fromEntries(Object.entries(whole).map(([service, hash]) => [service, [...new Set([hash, alone?.[service] ?? hash])]]))
}

async function hashesAlone(settings: DockerSettings, project: Project): Promise<Record<string, string> | undefined> {
  const input = withoutDependsOn(await readFile(project.composeFile, 'utf8').catch(() => ''))
  return input === undefined ? undefined : hashes(settings, { ...project, composeFile: '-' }, input)
}

/** The file with empty `depends_on`, otherwise unchanged; undefined when no service has any. */
export function withoutDependsOn(text: string): string | undefined {
  const document = parseDocument(text, { merge: true })
  const services = document.get('services', true)
  if (document.errors.length > 0 || !isMap(services)) return undefined
  const places = services.items.flatMap(({ value }) => {
    const range = isMap(value) ? (value.get('depends_on', true) as Node | undefined)?.range : undefined
    return range ? [range] : []
  })
  if (places.length === 0) return undefined
  return places.toSorted((one, other) => other[0] - one[0]).reduce((now, [start, end]) => emptied(now, start, end), text)
}

const emptied = (text: string, start: number, end: number): string => {
  const line = text.slice(start, end).endsWith('\n') ? '\n' : ''
  return `${text.slice(0, start)}[]${line}${text.slice(end)}`
}

async function hashes(settings: DockerSettings, project: Project, input?: string): Promise<Record<string, string>> {
  const printed = await runDocker(settings, composeArguments(project, ['config', '--hash', '*']), {
    what: `Compose file of ${project.name}`,
    otherwise: 'COMPOSE_INVALID',
    timeoutMs: limitsOf(settings).composeReadMs,
    input,
  })
  const lines = printed.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(lines.map((line) => line.trim().split(/\s+/) as [string, string]))
}
