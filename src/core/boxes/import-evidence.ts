import type { HotCopyFacts } from './hot-copy.ts'

// Evidence about a foreign stack, collected by the agent by asking what runs. It may contain secrets and stays on the host: only the plan that is
// made from it is sent.

/** A file of the chat server's configuration, parsed by the chat server's own YAML library. `line` is where the key stands. */
export type ChatConfigFile = Readonly<{
  path: string
  /** ISO time of the last change. */
  changedAt: string
  /** Why Synapse ignores the file or cannot read it; null for a map of settings. */
  problem: string | null
  settings: Readonly<Record<string, Readonly<{ line: number; value: unknown }>>>
}>

export type ChatEvidence = Readonly<{
  container: string
  image: string
  version: string | null
  /** Start of the process that has read the configuration. */
  startedAt: string
  /** Applications of the running processes, such as `synapse.app.homeserver`. */
  apps: readonly string[]
  /** Containers of the stack with worker processes of the same chat server. */
  workers: readonly string[]
  /** In the order in which the chat server reads them. */
  config: readonly ChatConfigFile[]
  /** Settings of the top level that its own code never names: they have no effect. */
  unread: readonly string[]
  /** Server name by the key API; null where the chat server does not offer it. */
  keyApiName: string | null
  clientApiAnswers: boolean
  /** Id of the signing key that the chat server uses; null where its file cannot be read, or the key API has another one. */
  signingKeyId: string | null
  /** Further keys of the same file: the chat server publishes them, and signs with the first one. */
  otherSigningKeyIds: readonly string[]
}>

/** The database that the chat server is connected to. */
export type DatabaseEvidence = Readonly<{
  container: string
  image: string
  name: string
  user: string
  /** The role that reads it; it may read every table. */
  superuser: string
  /** Backends of the chat server. */
  connections: number
  /** Containers or addresses that are connected to the same database beside the chat server. */
  otherClients: readonly string[]
  bytes: number
  version: string
  encoding: string
  schemaVersion: number | null
  compatVersion: number | null
  backgroundUpdates: readonly string[]
  /** Tables of every Synapse that are not there. */
  missingTables: readonly string[]
  /** Schemas beside `public` that have tables. */
  otherSchemas: readonly string[]
  rows: Readonly<{ users: number; rooms: number; events: number; devices: number; media: number }>
  /** Joined members from other servers. */
  remoteMembers: number
  /** Domains of the accounts. */
  accountDomains: readonly string[]
  /** Application services that own accounts. */
  appservices: readonly string[]
  /** Tables and sequences that the reading role may not read. */
  unreadable: readonly string[]
  /** Extensions beside plpgsql, and objects of the chat server's schema that use one. */
  extensions: readonly string[]
  extensionUses: readonly string[]
  /** Databases of other programs in the same server. */
  otherDatabases: readonly string[]
  /** Its data folder, where the role may know it. */
  dataFolder: string | null
  /** Mount that holds the folder: a volume with a name or a folder, a volume without a name, or the container alone. */
  dataMount: 'named' | 'anonymous' | 'none'
  /** Made with its files. */
  systemId: string | null
  hotCopy: HotCopyFacts | null
  /** Collation, character type and provider of its sort order, where they are not those of a box. */
  locale: string | null
  /** Objects that only a superuser makes and that a box does not have, such as event triggers. */
  ownObjects: readonly string[]
}>

export type MediaEvidence = Readonly<{
  path: string
  bytes: number
  /** Rows that name a file; those checked are all of them, or a random sample. */
  named: number
  checked: number
  missing: readonly string[]
  /** Files of another size than the database says. */
  damaged: readonly string[]
  /** Its files and the volumes of a new box share a file system. */
  isLinkable: boolean
}>

export type ObjectsEvidence = Readonly<{ container: string; path: string; bytes: number }>

/** A part that could not be found, with the reason and a fix; empty where that follows from another part. */
type NotFound = Readonly<{ failure: string }>
export const isFound = <Found extends object>(part: Found | NotFound): part is Found => !('failure' in part)

export type ImportEvidence = Readonly<{
  chat: ChatEvidence | NotFound
  database: DatabaseEvidence | NotFound
  media: MediaEvidence | NotFound
  /** Null where the stack has no object store. */
  objects: ObjectsEvidence | NotFound | null
  /** Published addresses of the project that answer as the chat server, over plain HTTP; an empty address is all addresses. */
  addresses: readonly Readonly<{ container: string; address: string; port: number }>[]
  /** Images of the new box that this host cannot run or get now, with the reason. */
  imageFaults: readonly string[]
  /** Other running containers of the project. */
  otherContainers: readonly string[]
  freeBytes: number
}>
