import { isProblem, type Problem, type ProblemCode, printable, problem } from '../../core/kit/index.ts'

/** Words of Docker, containerd and compose that tell causes apart; the first that fits decides. */
const causes: readonly [RegExp, ProblemCode][] = [
  [/no space left on device|disk quota exceeded/i, 'DISK_FULL'],
  [
    /cannot connect to the docker daemon|error during connect|docker\.sock.*(permission denied|no such file|connection refused)/i,
    'DOCKER_UNAVAILABLE',
  ],
  [/port is already allocated|address already in use/i, 'PORT_TAKEN'],
  [
    /manifest unknown|manifest for .* not found|name unknown|repository does not exist|no such image|pull access denied|unauthorized|not found: manifest|: not found$/i,
    'PULL_FAILED',
  ],
  [
    /connection refused|no such host|i\/o timeout|handshake timeout|server gave HTTP response|toomanyrequests|service unavailable|deadline exceeded|connection reset|unexpected EOF|: EOF$/i,
    'REGISTRY_UNAVAILABLE',
  ],
  [
    /yaml|no such service|undefined (volume|service|network|secret)|additional propert|invalid compose|invalid interpolation|is invalid|must be a|no configuration file|invalid reference format|neither an image nor a build|decoding failed|include/i,
    'COMPOSE_INVALID',
  ],
]

type ApiError = Error & Readonly<{ code?: string; statusCode?: number; json?: { message?: string } }>

/** What the engine's API or the compose plugin failed with, as a Problem; `otherwise` is the code of what nobody knows. */
export function engineProblem(error: unknown, what: string, otherwise: ProblemCode): Problem {
  if (isProblem(error)) return error
  const { statusCode, message, code } = error as ApiError
  // Without a status nobody answered: the socket is missing, closed or not ours.
  if (statusCode === undefined && code !== undefined && /^E[A-Z]+$/.test(code))
    return problem('DOCKER_UNAVAILABLE', `the container engine does not answer (${code})`, { cause: error })
  return saidProblem((error as ApiError).json?.message ?? message, what, otherwise, error)
}

/** The same for a text that was printed. */
export function saidProblem(said: string, what: string, otherwise: ProblemCode, cause?: unknown): Problem {
  const known = causes.find(([words]) => words.test(said))?.[1]
  return problem(known ?? otherwise, `${what}: ${lastWords(said)}`, { cause })
}

const lastWords = (said: string): string => printable(plainer(said.trim().split('\n').at(-1) ?? '')).slice(0, 400) || 'no reason was given'

/** What dockerode puts before a reason, and what a registry says three times. */
const plainer = (line: string): string =>
  line
    .replace(/^\(HTTP code \d+\) [^-]* - /, '')
    .replace(/^manifest for \S+ not found: manifest unknown.*/, 'the registry has no such tag (manifest unknown)')

export const hasStatus = (error: unknown, ...statuses: number[]): boolean => statuses.includes((error as ApiError).statusCode ?? 0)
