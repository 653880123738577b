import type { VersionsReport } from '../../core/boxes/index.ts'
import type { DisownedBox, EngineInfo, HostResources, SpokenProtocols } from '../../core/hosts/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { CommandExecutors } from '../ports/index.ts'
import type { CommandShelf } from './command-store.ts'
import type { AgentIdentity } from './identity.ts'
import type { KeyStore } from './keys.ts'

/** `rotateAfterMs`: the age at which the key is replaced; absent: never by itself. `asked`: a person wants it now. */
export type AgentKeys = KeyStore & Readonly<{ rotateAfterMs?: number; asked?(): Promise<boolean> }>

/** What one agent runs with. Nothing in it is the machine's own unless the program puts it there: thousands fit into one process. */
export type AgentDeps = Readonly<{
  clock: Clock
  random: Random
  log: Logger
  identity: AgentIdentity
  agentVersion: string
  fetch?: typeof globalThis.fetch
  executors: CommandExecutors
  shelf: CommandShelf
  /** Ends or awaits what a killed agent left behind; runs before anything is gone on with. */
  resume?(): Promise<void>
  /** The daemon has the command's outcome. */
  acknowledge?(commandId: string): Promise<void>
  /** Stops a box that is another host's by now. Answers whether it was here; throws when it goes on: then no command is taken. */
  disown?(box: DisownedBox): Promise<boolean>
  /** Of all boxes, or of one, as they run. */
  reports(boxId?: string): Promise<readonly VersionsReport[]>
  machine(): Promise<{ engine: EngineInfo | null; resources: HostResources | null }>
  /** What of the machine is in use now; asked for once a minute, so it must be cheap. */
  resources?(): Promise<HostResources | null>
  /** Where the keys are; without it the key never changes. */
  keys?: AgentKeys
  /** Versions of the channel that this agent speaks; those of this program when absent. */
  speaks?: SpokenProtocols
  /** Says each time when something happened to a container of a box. */
  changes?(signal: AbortSignal): AsyncIterable<unknown>
  /** Boxes worked on at once; the default is 4. */
  slots?: number
  /** How long commands may go on after the signal; what is not over then goes on at the next start. The default is 30 s. */
  drainMs?: number
  /** SIGTERM: no new command is taken. */
  signal: AbortSignal
}>
