import type { VersionsReport } from '../../core/boxes/index.ts'
import type { ArchiveOrders, ArchiveReport, DisownedBox, EngineInfo, HostResources, SpokenProtocols } from '../../core/hosts/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { Logger, Tracing } from '../../node/index.ts'
import type { CommandExecutors } from '../ports/index.ts'
import type { CommandStore } from './command-store.ts'
import type { AgentIdentity, AgentPrivateKey } from './identity.ts'

/** `rotateAfterMs`: maximum age of the key; absent: no automatic rotation. `asked`: an operator requested a rotation. */
export type AgentKeys = KeyStore & Readonly<{ rotateAfterMs?: number; asked?(): Promise<boolean> }>

/** Reports what was stored of archives, and returns the boxes that have one; with `secrets` also their repositories. */
export type ExchangeArchives = (
  body: Readonly<{ reports: ArchiveReport[]; secrets: boolean }>,
  signal: AbortSignal,
) => Promise<Readonly<ArchiveOrders>>

/** Dependencies of one agent, all injected, so that one process can simulate thousands of agents. */
export type AgentDeps = Readonly<{
  clock: Clock
  random: Random
  log: Logger
  /** Absent: off. */
  tracing?: Tracing | undefined
  identity: AgentIdentity
  agentVersion: string
  fetch?: typeof globalThis.fetch
  executors: CommandExecutors
  store: CommandStore
  /** Cleans up after a killed agent; runs before commands are resumed. */
  resume?(): Promise<void>
  /** Called once the daemon has the outcome of a command. */
  acknowledge?(commandId: string): Promise<void>
  /** Stops a box that now belongs to another host. Returns whether it was here; throws when it cannot be stopped, and then no command is accepted. */
  disown?(box: DisownedBox): Promise<boolean>
  /** Reports of all boxes, or of those asked for. */
  reports(of?: ReportsOf): Promise<readonly VersionsReport[]>
  machine(): Promise<{ engine: EngineInfo | null; resources: HostResources | null }>
  /** Current resource usage; called once a minute, so it must be cheap. */
  resources?(): Promise<HostResources | null>
  /** Key storage; without it the key is never rotated. */
  keys?: AgentKeys
  /** Protocol versions of this agent; default: those of this program. */
  speaks?: SpokenProtocols
  /** Emits an event for each change of a container, also of stacks that are no boxes. */
  changes?(signal: AbortSignal): AsyncIterable<Readonly<{ project: string }>>
  /** Looks at the boxes until the signal aborts; calls back when what `reports` says of the box of a project, or of any, changed. */
  watch?(onChange: (project?: string) => void, signal: AbortSignal): Promise<void>
  /** Stores the archives of boxes until the signal aborts. */
  archive?(exchange: ExchangeArchives, signal: AbortSignal): Promise<void>
  /** Maximum number of boxes changed at once; default 4. */
  slots?: number
  /** Time for running commands after the signal, default 30 s; unfinished ones resume at the next start. */
  drainMs?: number
  /** SIGTERM: accept no new commands and drain. */
  signal: AbortSignal
}>

/** One box, or the one of a compose project. */
export type ReportsOf = Readonly<{ boxId: string } | { project: string }>

/** Key storage of the agent. The next key is stored before it is announced, so after a crash one stored key is always valid. */
export type KeyStore = Readonly<{
  /** The new key of an unfinished rotation. */
  pending(): Promise<AgentPrivateKey | undefined>
  /** Creates and stores a new key. */
  prepare(): Promise<AgentPrivateKey>
  /** Stores the new identity and clears the pending key. */
  adopt(identity: AgentIdentity): Promise<void>
}>
