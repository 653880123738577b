import type { CommandSecrets, Service } from '../../core/boxes/index.ts'

/**
 * A compose project of the agent's host. Everything is given explicitly, so that no variable of the environment can redirect it.
 * All three paths are absolute.
 */
export type Project = Readonly<{ name: string; folder: string; composeFile: string; envFile?: string }>

export type ContainerState = Readonly<{
  id: string
  service: Service
  image: string
  /** Registry digest of the image that RUNS; null for one that was never in a registry. */
  digest: string | null
  state: 'created' | 'running' | 'restarting' | 'exited'
  exitCode: number | null
  restartCount: number
  /** Compose's own label; compared with `configHashes` to see whom `up` would recreate. */
  configHash: string | null
  startedAt: string
  /** Address on the project's network, reachable from the host; null unless running. */
  address: string | null
  /** Names of the volumes it has mounted. */
  volumes: readonly string[]
}>

export type PullProgress = Readonly<{ percent: number; detail: string }>

export type PullOptions = Readonly<{
  digest?: string
  onProgress?: (progress: PullProgress) => void
  signal?: AbortSignal
  registries?: CommandSecrets['registries']
}>

export type ResolveOptions = Pick<PullOptions, 'registries' | 'signal'>

export type ExecResult = Readonly<{ exitCode: number; stdout: string; stderr: string }>
export type ExecOptions = Readonly<{
  stdin?: string | NodeJS.ReadableStream
  stdoutFile?: string
  /** Told of output as it comes, for a program that is talked to while it runs; not together with `stdoutFile`. */
  onStdout?: (part: Buffer) => void
  signal?: AbortSignal
}>

/** `since` is a time as the engine tells it; lines from that moment on. */
export type LogOptions = Readonly<{ since?: string; timestamps?: boolean }>

/** The C library of an image: what sorts text, and with it every index that is not of collation C. */
export type LibC = 'glibc' | 'musl'

/** An image on the host. `namedAt`: when it last got a name, by a pull or a pin; null where the engine does not say. */
export type LocalImage = Readonly<{
  id: string
  /** `repository:tag`, or `repository@digest` for one that has no tag any more. */
  names: readonly string[]
  /** It has a digest of a registry, where it can be had again. */
  pulled: boolean
  pinned: boolean
  /** A container has it, running or not. */
  used: boolean
  namedAt: string | null
}>

export type EngineEvent = Readonly<{ project: string; service: string; action: string }>

/**
 * The container engine of a host. Two implementations pass one contract suite: `docker/` (dockerode and the compose plugin) and `simulated/`.
 * Failures are Problems: DOCKER_UNAVAILABLE, PULL_FAILED, REGISTRY_UNAVAILABLE, DISK_FULL, COMPOSE_INVALID.
 */
export type ContainerEngine = Readonly<{
  /** Engine and compose versions; throws DOCKER_UNAVAILABLE. */
  info(): Promise<{ engine: string; compose: string }>
  /**
   * Pulls `repository:tag`, or exactly `digest` when given (and then tags it), and answers the registry digest. `registries` names mirrors to
   * be asked first, and accounts; the image bears the name that was asked for wherever it came from.
   */
  pull(image: string, options: PullOptions): Promise<string>
  /** The digest that a pull of `repository:tag` would answer now, asked of the same registries; nothing is pulled. */
  resolve(image: string, options: ResolveOptions): Promise<string>
  /** Registry digest of a local image; null when it has none; undefined when the image is not here. */
  localDigest(image: string): Promise<string | null | undefined>
  /** Of a local image; null where it cannot be told. Throws NOT_FOUND for one that is not here. */
  imageLibc(image: string): Promise<LibC | null>
  /** Keeps an image from being pruned until `unpin(label)`. Idempotent. */
  pin(image: string, label: string): Promise<void>
  unpin(label: string): Promise<void>
  /** All that are on the host, whoever brought them. */
  images(): Promise<readonly LocalImage[]>
  /**
   * Removes one image with its names, as `images` told it, and nothing else. One that is pinned, used or has another name by now is left with
   * all that it has: CONFLICT. One that is gone is no failure.
   */
  removeImage(image: Pick<LocalImage, 'id' | 'names'>): Promise<void>
  containers(project: Project): Promise<readonly ContainerState[]>
  /** What compose would label each service with now, from the file as it stands. Throws COMPOSE_INVALID. */
  configHashes(project: Project): Promise<Readonly<Record<string, readonly string[]>>>
  /**
   * Creates or recreates only the named services and starts them; dependents are left alone. One whose file now names another image
   * or other volumes than its container has is recreated; images must be on the host already.
   */
  up(project: Project, services: readonly Service[], signal?: AbortSignal): Promise<void>
  /** Stops and waits for the exit. A service that is not running is no failure. */
  stop(project: Project, services: readonly Service[]): Promise<void>
  /** Starts stopped containers as they are. A service without one is no failure. */
  start(project: Project, services: readonly Service[]): Promise<void>
  /** Removes containers of the named services running or not, whatever the file says; volumes stay. One that is not there is no failure. */
  discard(project: Project, services: readonly Service[]): Promise<void>
  /** Removes containers and network of the project; volumes only with `volumes`. */
  down(project: Project, options?: { volumes?: boolean }): Promise<void>
  /**
   * Removes all that bears the project's name: containers by force, networks, volumes that were made for it. It needs no compose file.
   * Answers what was removed, as a person reads it; nothing there is no failure. With `onlyVolumes`, keys in the compose file, what is of
   * others than the four services stays: their containers, the volumes that those mount, volumes of other keys. It is answered as `left: `.
   */
  removeProject(name: string, onlyVolumes?: readonly string[]): Promise<readonly string[]>
  /** Names of projects that begin so and of which anything is left: a container, a network or a volume. */
  projects(prefix: string): Promise<readonly string[]>
  exec(containerId: string, argv: readonly string[], options?: ExecOptions): Promise<ExecResult>
  /** The last lines of what a container printed, running or not; with `timestamps` each begins with the engine's time and a space. */
  logs(containerId: string, lines: number, options?: LogOptions): Promise<string>
  /** Folder of a named volume on the host; undefined when there is no such volume. */
  volumePath(name: string): Promise<string | undefined>
  /** Folder on this host in which named volumes lie; undefined when the engine keeps them on another machine. */
  volumesFolder(): Promise<string | undefined>
  /** Folders on this host below which images lie; none when the engine keeps them on another machine. */
  imageFolders(): Promise<readonly string[]>
  /** Makes an empty named volume of the project, as compose would; `key` is its name in the file. One that exists stays as it is. */
  createVolume(project: Project, key: string, name: string): Promise<void>
  /** A volume that does not exist is no failure; one in use is CONFLICT. */
  removeVolume(name: string): Promise<void>
  /** Starts, deaths and restarts of containers of compose projects, until the signal aborts. */
  events(signal: AbortSignal): AsyncIterable<EngineEvent>
}>
