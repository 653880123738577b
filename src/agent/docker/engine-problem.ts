import { isProblem, type Problem, type ProblemCode, printable, problem } from '../../core/kit/index.ts'

/** A registry that answers, and has no time: HTTP 429, 500 to 504. */
const busy =
  /toomanyrequests|too many requests|bad gateway|service unavailable|gateway time-?out|(status( code)?:?|parsing HTTP) (429|50[0-4])/i

/** Messages of Docker, containerd and compose by problem code; the first match decides. */
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
    /connection refused|no such host|i\/o timeout|handshake timeout|server gave HTTP response|deadline exceeded|connection reset|unexpected EOF|: EOF$/i,
    'REGISTRY_UNAVAILABLE',
  ],
  [busy, 'REGISTRY_UNAVAILABLE'],
  [
    /yaml|no such service|undefined (volume|service|network|secret)|additional propert|invalid compose|invalid interpolation|is invalid|must be a|no configuration file|invalid reference format|neither an image nor a build|decoding failed|include/i,
    'COMPOSE_INVALID',
  ],
]

/** A registry that hides private repositories says `denied` too: that proves nothing. */
const isMissing = (said: string): boolean =>
  /manifest unknown|manifest for .* not found|name unknown|not found: manifest|: not found$/i.test(said) &&
  !/denied|unauthorized|authentication required/i.test(said)

/** An error of a question to a registry: IMAGE_NOT_FOUND where it says that it has no such image. */
export function registryProblem(error: unknown, what: string): Problem {
  const found = engineProblem(error, what, 'PULL_FAILED')
  if (found.code !== 'PULL_FAILED' || !isMissing(found.message)) return found
  return problem('IMAGE_NOT_FOUND', found.message, { cause: error })
}

type ApiError = Error & Readonly<{ code?: string; statusCode?: number; json?: { message?: string } }>

/** Maps an error of the engine's API to a problem; `otherwise` is the code of unknown errors. */
export function engineProblem(error: unknown, what: string, otherwise: ProblemCode): Problem {
  if (isProblem(error)) return error
  const { statusCode, message, code } = error as ApiError
  // Without a status the socket is missing, closed or not accessible.
  if (statusCode === undefined && code !== undefined && /^E[A-Z]+$/.test(code))
    return problem('DOCKER_UNAVAILABLE', `The container engine does not answer (${code}). fix: start it, and check access to its socket`, {
      cause: error,
    })
  const said = (error as ApiError).json?.message ?? message
  return problem(codeOf(said) ?? otherwise, `${what}: ${exitReason(said)}`, { cause: error })
}

/** Maps printed output to a problem. */
export const outputProblem = (said: string, what: string, otherwise: ProblemCode): Problem =>
  problem(codeOf(said) ?? otherwise, `${what}: ${exitReason(said)}`)

const codeOf = (said: string): ProblemCode | undefined => causes.find(([words]) => words.test(said))?.[1]

const exitReason = (said: string): string => {
  const reason = printable(plainer(said.trim().split('\n').at(-1) ?? '')).slice(0, 400) || 'no error message'
  return busy.test(said) ? `${reason} (the registry is busy). fix: try again in a few minutes` : reason
}

/** Removes dockerode's prefix and a registry's repeated text. */
const plainer = (line: string): string =>
  line
    .replace(/^\(HTTP code \d+\) [^-]* - /, '')
    .replace(/^manifest for \S+ not found: manifest unknown.*/, 'the registry has no such tag (manifest unknown)')

export const hasStatus = (error: unknown, ...statuses: number[]): boolean => statuses.includes((error as ApiError).statusCode ?? 0)
