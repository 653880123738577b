import Docker from 'dockerode'
import { problem } from '../../core/kit/index.ts'
import { engineAgent, withRetries } from './requests.ts'

/** Connection settings of the engine, from the agent's settings only, never from the environment. */
export type DockerSettings = Readonly<{
  /** `unix:///var/run/docker.sock` or `tcp://127.0.0.1:2375`. */
  dockerHost: string
  /** Folder with registry credentials and the compose plugin, as DOCKER_CONFIG; the client's own default when absent. */
  dockerConfig?: string
  /** Path of the docker client; default: the standard paths. */
  docker?: string
  /** Extra environment of child processes, by which a later agent finds the ones left running. */
  childEnvironment?: Readonly<Record<string, string>>
  /** Timeouts for tests. */
  limits?: Partial<EngineLimits>
}>

/** Timeouts of the engine. A hanging engine must become a failure, because a box may be fenced. */
export type EngineLimits = Readonly<{
  /** Reads and small changes. */
  readMs: number
  /** Stops, which have a grace period, and large removals. */
  changeMs: number
  /** A pull without any progress. */
  pullMs: number
  /** Compose runs that read, and ones that change containers. */
  composeReadMs: number
  composeChangeMs: number
  /** The first pause before a request is sent again. */
  retryMs: number
}>

const minutes = 60_000

export const limitsOf = ({ limits }: DockerSettings): EngineLimits => ({
  readMs: minutes,
  changeMs: 5 * minutes,
  pullMs: 10 * minutes,
  composeReadMs: 2 * minutes,
  composeChangeMs: 15 * minutes,
  retryMs: 200,
  ...limits,
})

/** API clients by timeout; `streams` (programs and events) has none. */
export type Connections = Readonly<{ questions: Docker; changes: Docker; pulls: Docker; streams: Docker }>

export function connect(settings: DockerSettings): Connections {
  const { readMs, changeMs, pullMs, retryMs } = limitsOf(settings)
  const within = (timeout: number | undefined) =>
    withRetries(
      new Docker({ ...notFromEnvironment, ...addressOf(settings), timeout, agent: engineAgent() } as Docker.DockerOptions),
      retryMs,
    )
  return { questions: within(readMs), changes: within(changeMs), pulls: within(pullMs), streams: within(undefined) }
}

/** Explicit undefined values, because the client would otherwise read DOCKER_HOST and related variables. */
const notFromEnvironment = Object.fromEntries(
  ['host', 'port', 'protocol', 'pathPrefix', 'username', 'ca', 'cert', 'key'].map((name) => [name, undefined]),
)

function addressOf({ dockerHost }: DockerSettings): Docker.DockerOptions {
  const url = URL.canParse(dockerHost) ? new URL(dockerHost) : undefined
  if (url?.protocol === 'unix:') return { socketPath: url.pathname }
  if (url?.protocol === 'tcp:') return { protocol: 'http', host: url.hostname, port: Number(url.port || 2375) }
  throw problem('CONFIG_INVALID', `dockerHost must start with unix:// or tcp://, not ${dockerHost}`)
}

export type { Docker }
