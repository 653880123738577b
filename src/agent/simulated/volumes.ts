import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AppliedMigration } from '../../core/boxes/index.ts'

/**
 * What a simulated volume holds. The database counts messages and the media it refers to, and knows its schema;
 * the media and object volumes count files. A message that an update loses is missing in the count.
 */
export type VolumeContent = Readonly<{
  messages: number
  media: number
  objects: number
  /** Where the stream of messages stands; a client's token is such a position. */
  stream: number
  /** Rows that only probes wrote; never compared. */
  probes: number
  /** Box migrations that were applied, in order. */
  migrations: readonly AppliedMigration[]
  /** Background updates that have not ended. */
  backgroundUpdates: readonly string[]
  /** Databases of the same server that are none of the chat server's; no dump has them. */
  otherDatabases: readonly string[]
  /** Null until a Synapse made its tables. */
  schema: number | null
  compat: number | null
}>

const emptyContent: VolumeContent = {
  messages: 0,
  media: 0,
  objects: 0,
  stream: 0,
  probes: 0,
  migrations: [],
  backgroundUpdates: [],
  otherDatabases: [],
  schema: null,
  compat: null,
}

const fileName = 'content.json'

/**
 * Named volumes as real, tiny folders, so that whoever copies, snapshots or restores a volume's folder handles true content.
 * Calls are synchronous: a simulated write is never half done.
 */
export type SimulatedVolumes = Readonly<{
  /** All of them lie below it. */
  root: string
  create(name: string): void
  path(name: string): string | undefined
  read(name: string): VolumeContent
  change(name: string, change: Partial<VolumeContent>): void
  remove(name: string): void
  names(): readonly string[]
}>

export function simulatedVolumes(root: string): SimulatedVolumes {
  const known = new Set<string>()
  const folder = (name: string) => join(root, name, '_data')
  const read = (name: string): VolumeContent => readContent(join(folder(name), fileName))
  const create = (name: string) => {
    if (known.has(name)) return
    mkdirSync(folder(name), { recursive: true })
    known.add(name)
  }
  return {
    root,
    create,
    path: (name) => (known.has(name) ? folder(name) : undefined),
    read,
    change: (name, change) => {
      create(name)
      writeContent(folder(name), { ...read(name), ...change })
    },
    remove: (name) => {
      known.delete(name)
      rmSync(join(root, name), { recursive: true, force: true })
    },
    names: () => [...known].sort(),
  }
}

export function readContent(path: string): VolumeContent {
  try {
    return { ...emptyContent, ...(JSON.parse(readFileSync(path, 'utf8')) as Partial<VolumeContent>) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return emptyContent
    throw error
  }
}

export function writeContent(folder: string, content: VolumeContent, { name = fileName, mode = 0o777 } = {}): void {
  mkdirSync(folder, { recursive: true, mode })
  writeFileSync(join(folder, name), JSON.stringify(content))
}
