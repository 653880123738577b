import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { readBeginning } from '../boxes/index.ts'

// `global/pg_control` of a data folder, read without a server. Its first fields are the same in PostgreSQL 13 to 18.

export type ControlFile = Readonly<{
  systemId: string
  /** The server has ended by itself, after its shutdown checkpoint. */
  isShutDown: boolean
  /** Position of the latest checkpoint, and where recovery would begin from it. */
  checkpoint: bigint
  redo: bigint
  timeline: number
}>

const controlPath = join('global', 'pg_control')
const shutDown = 1
/** `pg_control` versions with these offsets. */
const [oldest, newest] = [1300, 1899]

/** Throws CONFLICT for a file that cannot be read. */
export function readControl(bytes: Buffer): ControlFile {
  const version = bytes.length < 52 ? 0 : bytes.readUInt32LE(8)
  if (version < oldest || version > newest) throw problem('CONFLICT', `pg_control of version ${version} cannot be read`)
  return {
    systemId: bytes.readBigUInt64LE(0).toString(),
    isShutDown: bytes.readUInt32LE(16) === shutDown,
    checkpoint: bytes.readBigUInt64LE(32),
    redo: bytes.readBigUInt64LE(40),
    timeline: bytes.readUInt32LE(48),
  }
}

/** PostgreSQL writes 8 KB. */
const maxControlBytes = 64 * 1024

const controlBytes = (folder: string): Promise<Buffer> => readBeginning(folder, controlPath, maxControlBytes)

export const controlOf = async (folder: string): Promise<ControlFile> => readControl(await controlBytes(folder))

/** The file while a server may write it: two equal reads are of one write. */
export async function stableControl(folder: string): Promise<Buffer> {
  const read = () => controlBytes(folder)
  for (let tries = 0, last = await read(); tries < maxReads; tries++) {
    const next = await read()
    if (next.equals(last)) return next
    last = next
  }
  throw problem('CONFLICT', `pg_control of ${folder} changes all the time`)
}
const maxReads = 20

/** The data folder of a database in a volume, by its identity; images put it at most a few folders deep. Throws CONFLICT. */
export async function dataFolderIn(root: string, systemId: string | undefined): Promise<string> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && entry.name === 'pg_control').map(({ parentPath }) => dirname(parentPath))
  for (const folder of files) if ((await controlOf(folder)).systemId === systemId) return folder
  throw problem('CONFLICT', `${root} has no data folder of the database that runs`)
}
