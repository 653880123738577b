import type { CommandSecrets, Service } from '../../core/boxes/index.ts'

/**
 * A compose project of the agent's host, fully explicit, so that no environment variable can redirect it. All paths are absolute.
 */
export type Project = Readonly<{
  name: string
  folder: string
  composeFile: string
  envFile?: string
  /** The operator's own additions, which compose merges. */
  extraFile?: string
}>

/** A volume by its real name or a host path, and its place in the container. Anonymous volumes and tmpfs are left out. */
export type ContainerMount = Readonly<{ kind: 'volume' | 'bind'; source: string; target: string }>

/** Values of variables are hashed: many are secrets. */
export type ContainerSettings = Readonly<{
  environment: Readonly<Record<string, string>>
  command: readonly string[]
  entrypoint: readonly string[]
}>

/** A service as compose would bring it up now. */
export type ComposedService = Readonly<{
  /** The possible config hashes; see `configHashes`. */
  hashes: readonly string[]
  image: string | null
  /** Without what the file leaves to the image. */
  settings: Partial<ContainerSettings>
  mounts: readonly ContainerMount[]
  /** Real names; null where the service uses another container's network or the host's. */
  networks: readonly string[] | null
}>

export type ContainerState = Readonly<{
  id: string
  service: Service
  image: string
  /** Registry digest of the running image; null for an image that was never in a registry. */
  digest: string | null
  state: 'created' | 'running' | 'restarting' | 'exited'
  exitCode: number | null
  restartCount: number
  /** Compose's label; compared with `configHashes` to predict what `up` would recreate. */
  configHash: string | null
  /** Version of compose that created the container; null where compose did not record it. */
  composeVersion: string | null
  settings: ContainerSettings
  /** The defaults of its image. */
  imageSettings: ContainerSettings
  startedAt: string
  /** Address on the project's network, reachable from the host; null unless running. */
  address: string | null
  /** Names of mounted volumes. */
  volumes: readonly string[]
  mounts: readonly ContainerMount[]
  /** Real names of its networks. */
  networks: readonly string[]
  /** The compose files and the env files that it was brought up from, absolute; empty where compose did not record them. */
  composeFiles: readonly string[]
  envFiles: readonly string[]
}>

/** A running container of any project, or of none. */
export type HostContainer = Readonly<{
  id: string
  name: string
  project: string | null
  service: string | null
  image: string
  command: readonly string[]
  /** In all its networks, IPv4 and IPv6. */
  addresses: readonly string[]
  /** Folders and files of the host, by their place in the container; volumes by their folder. */
  mounts: readonly Readonly<{ source: string; target: string }>[]
  /** TCP ports of the host that lead into it; an empty address is all addresses. */
  published: readonly Readonly<{ address: string; port: number }>[]
  /** The engine starts it again after a restart of its own, even where it was stopped. */
  alwaysRestarts: boolean
}>

/** A network of a project. Compose before 2.32 recorded no hash, and compose recreates no network without one. */
export type ProjectNetwork = Readonly<{
  name: string
  configHash: string | null
  composeVersion: string | null
  /** As the engine runs it, in the form of a compose file; without the labels of compose itself. */
  settings: Readonly<Record<string, unknown>>
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
  /** Receives output as it arrives, for interactive programs; not together with `stdoutFile`. */
  onStdout?: (part: Buffer) => void
  signal?: AbortSignal
}>

/** `since` is a timestamp of the engine; inclusive. */
export type LogOptions = Readonly<{ since?: string; timestamps?: boolean }>

/** The resources that a container uses now. `cpuPercent` is of one core; the limit is that of the container, or the memory of the host. */
export type ContainerUsage = Readonly<{ cpuPercent: number | null; memoryBytes: number | null; memoryLimitBytes: number | null }>

/** C library of an image. It defines the sort order, and so all indexes that do not use collation C. */
export type LibC = 'glibc' | 'musl'

/** An image on the host. `namedAt`: when it was last tagged, by a pull or a pin; null where unknown. */
export type LocalImage = Readonly<{
  id: string
  /** `repository:tag`, or `repository@digest` for an untagged image. */
  names: readonly string[]
  /** It has a registry digest, so it can be pulled again. */
  pulled: boolean
  pinned: boolean
  /** Used by a container, running or not. */
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
   * Pulls `repository:tag`, or `digest` when given (and then tags it), and returns the registry digest. `registries` contains mirrors, tried
   * first, and credentials. The image always gets the requested name.
   */
  pull(image: string, options: PullOptions): Promise<string>
  /** The digest that a pull of `repository:tag` would return now; nothing is pulled. */
  resolve(image: string, options: ResolveOptions): Promise<string>
  /**
   * Why an image does not run on the processor of this host; undefined where it does, or where that is unknown. Asks its registry for an image that
   * is not here.
   */
  misfit(image: string, options: ResolveOptions): Promise<string | undefined>
  /** Registry digest of a local image; null when it has none, undefined when the image is missing. */
  localDigest(image: string): Promise<string | null | undefined>
  /** C library of a local image; null when unknown. Throws NOT_FOUND for a missing image. */
  imageLibc(image: string): Promise<LibC | null>
  /** Protects an image from pruning until `unpin(label)`. Idempotent. */
  pin(image: string, label: string): Promise<void>
  unpin(label: string): Promise<void>
  /** All images on the host. */
  images(): Promise<readonly LocalImage[]>
  /**
   * Removes one image with the names listed by `images`. Throws CONFLICT and changes nothing when it is pinned, in use or has a new name. A
   * missing image is ignored.
   */
  removeImage(image: Pick<LocalImage, 'id' | 'names'>): Promise<void>
  containers(project: Project): Promise<readonly ContainerState[]>
  /** All running containers of the host. */
  hostContainers(): Promise<readonly HostContainer[]>
  /** Containers of a project, of all services and running or not, by name. */
  projectContainers(name: string): Promise<readonly Readonly<{ id: string; name: string; isRunning: boolean }>[]>
  /** Names of the volumes that compose created for a project. */
  projectVolumes(name: string): Promise<readonly string[]>
  /**
   * Stops containers of any project, one after the other, so that also a restart of the engine does not start them. Ignores stopped and missing
   * ones.
   */
  stopContainers(ids: readonly string[]): Promise<void>
  /** Starts stopped containers unchanged, one after the other. Throws BOX_UNHEALTHY for a missing one. */
  startContainers(containers: readonly Readonly<{ id: string; alwaysRestarts: boolean }>[]): Promise<void>
  /** Removes containers of any project; all their volumes stay. Ignores missing ones. */
  removeContainers(ids: readonly string[]): Promise<void>
  networks(project: Project): Promise<readonly ProjectNetwork[]>
  /** Config hashes that compose would set now, by service. Throws COMPOSE_INVALID. */
  configHashes(project: Project): Promise<Readonly<Record<string, readonly string[]>>>
  /** The services that compose would bring up now; without those of inactive profiles. Throws COMPOSE_INVALID. */
  composedServices(project: Project): Promise<Readonly<Record<string, ComposedService>>>
  /**
   * A text as compose would read it in place of the compose file: variables, anchors and defaults resolved, real names of volumes set, services
   * of inactive profiles left out. Throws COMPOSE_INVALID.
   */
  resolveCompose(project: Project, text: string): Promise<Readonly<Record<string, unknown>>>
  /**
   * Creates or recreates the given services and starts them; dependents stay untouched. A service with another image or other volumes than its
   * container is recreated. Images must be on the host.
   */
  up(project: Project, services: readonly Service[], signal?: AbortSignal): Promise<void>
  /** Like `up`, but leaves what it creates for `start`. */
  create(project: Project, services: readonly Service[], signal?: AbortSignal): Promise<void>
  /** Stops services and waits for their exit. Ignores stopped services. */
  stop(project: Project, services: readonly Service[]): Promise<void>
  /** Starts stopped containers unchanged. Ignores services without a container. */
  start(project: Project, services: readonly Service[]): Promise<void>
  /** Removes containers of the given services, running or not; volumes stay. Ignores missing ones. */
  discard(project: Project, services: readonly Service[]): Promise<void>
  /** Removes containers and network of the project; volumes only with `volumes`. */
  down(project: Project, options?: { volumes?: boolean }): Promise<void>
  /**
   * Removes all containers, networks and volumes of a project, without a compose file, and returns readable names. With `onlyVolumes` (keys of
   * the compose file), containers of other services, their volumes and volumes of other keys stay and are returned with the prefix `left: `.
   */
  removeProject(name: string, onlyVolumes?: readonly string[]): Promise<readonly string[]>
  /** Names of projects with this prefix that have a container, network or volume. */
  projects(prefix: string): Promise<readonly string[]>
  exec(containerId: string, argv: readonly string[], options?: ExecOptions): Promise<ExecResult>
  /** Last log lines of a container; with `timestamps` each starts with the engine's timestamp and a space. */
  logs(containerId: string, lines: number, options?: LogOptions): Promise<string>
  /** Log lines with timestamps as they are written, from `since` on (inclusive), until the signal aborts or the container stops. */
  followLogs(containerId: string, since: string, signal: AbortSignal): AsyncIterable<string>
  /** One measurement, which takes about two seconds; null for a container that does not run. */
  usage(containerId: string): Promise<ContainerUsage | null>
  /** Host folder of a named volume; undefined when it does not exist. */
  volumePath(name: string): Promise<string | undefined>
  /** Host folder of all named volumes; undefined when the engine is on another machine. */
  volumesFolder(): Promise<string | undefined>
  /** Host folders of images; empty when the engine is on another machine. */
  imageFolders(): Promise<readonly string[]>
  /** Creates an empty named volume as compose would; `key` is its name in the file. An existing volume stays unchanged. */
  createVolume(project: Project, key: string, name: string): Promise<void>
  /** Ignores a missing volume; throws CONFLICT for one in use. */
  removeVolume(name: string): Promise<void>
  /** Starts, deaths and restarts of containers of compose projects, until the signal aborts. */
  events(signal: AbortSignal): AsyncIterable<EngineEvent>
}>
