import Docker from 'dockerode'
import { problem } from '../../core/kit/index.ts'

/** How this host's engine is reached; all of it from the agent's own config, nothing from the environment. */
export type DockerSettings = Readonly<{
  /** `unix:///var/run/docker.sock` or `tcp://127.0.0.1:2375`. */
  dockerHost: string
  /** Folder with registry credentials and the compose plugin, as DOCKER_CONFIG; the client's own default when absent. */
  dockerConfig?: string
  /** The docker client; found on the usual paths when absent. */
  docker?: string
  /** More of a child's environment: by it a later agent finds what a killed one left running. */
  childEnvironment?: Readonly<Record<string, string>>
  /** Other limits than the usual, for tests. */
  limits?: Partial<EngineLimits>
}>

/** How long the engine may be silent. One that hangs must become a failure: a box may be fenced meanwhile. */
export type EngineLimits = Readonly<{
  /** What is there, and small changes. */
  questionMs: number
  /** Stops, which have a grace period, and removals of what may be large. */
  changeMs: number
  /** A pull without any progress. */
  pullMs: number
  /** A run of compose that asks, and one that changes containers. */
  composeQuestionMs: number
  composeChangeMs: number
}>

const minutes = 60_000

export const limitsOf = ({ limits }: DockerSettings): EngineLimits => ({
  questionMs: minutes,
  changeMs: 5 * minutes,
  pullMs: 10 * minutes,
  composeQuestionMs: 2 * minutes,
  composeChangeMs: 15 * minutes,
  ...limits,
})

/** The engine's API by how long an answer may take; `streams` of running programs and events may be silent for as long as they like. */
export type Connections = Readonly<{ questions: Docker; changes: Docker; pulls: Docker; streams: Docker }>

export function connect(settings: DockerSettings): Connections {
  const { questionMs, changeMs, pullMs } = limitsOf(settings)
  const within = (timeout: number | undefined) =>
    new Docker({ ...notFromEnvironment, ...addressOf(settings), timeout } as Docker.DockerOptions)
  return { questions: within(questionMs), changes: within(changeMs), pulls: within(pullMs), streams: within(undefined) }
}

/** The client fills what is not said from DOCKER_HOST and its kin: then API and compose would speak to two engines. */
const notFromEnvironment = Object.fromEntries(
  ['host', 'port', 'protocol', 'pathPrefix', 'username', 'ca', 'cert', 'key'].map((name) => [name, undefined]),
)

function addressOf({ dockerHost }: DockerSettings): Docker.DockerOptions {
  const url = URL.canParse(dockerHost) ? new URL(dockerHost) : undefined
  if (url?.protocol === 'unix:') return { socketPath: url.pathname }
  if (url?.protocol === 'tcp:') return { protocol: 'http', host: url.hostname, port: Number(url.port || 2375) }
  throw problem('CONFIG_INVALID', `dockerHost must begin with unix:// or tcp://, not ${dockerHost}`)
}

export type { Docker }
