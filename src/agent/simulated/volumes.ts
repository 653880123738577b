import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AppliedMigration } from '../../core/boxes/index.ts'
import { writeLog } from './data-files.ts'

/** Content of a simulated volume: counts of messages, media and objects, and the schema. A lost message shows in the counts. */
export type VolumeContent = Readonly<{
  messages: number
  media: number
  objects: number
  /** Position of the event stream; a sync token is such a position. */
  stream: number
  /** Rows written by probes; never compared. */
  probes: number
  /** Applied box migrations, in order. */
  migrations: readonly AppliedMigration[]
  /** Pending background updates. */
  backgroundUpdates: readonly string[]
  /** Other databases of the same server; not part of dumps. */
  otherDatabases: readonly string[]
  /** Null until Synapse has created its tables. */
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

/** Named volumes as small real folders, so that copies and snapshots handle real files. Synchronous, so that writes are atomic. */
export type SimulatedVolumes = Readonly<{
  /** Parent folder of all volumes. */
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
  writeLog(folder, JSON.stringify(content))
}
