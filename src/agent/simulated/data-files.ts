import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Hex } from '../../core/kit/index.ts'

// The files of a simulated database that a copy of its data folder needs: its identity, and a write-ahead log. The last segment of the log has
// the whole content, and how far it was written. A server that starts on a backup takes the content of the log, as recovery would.

const control = join('global', 'pg_control')
const label = 'backup_label'
const segmentBytes = 16_384
const [inProduction, shutDown] = [6, 1]
/** A checkpoint record takes this much, and so does the header of a segment. */
const [recordBytes, headerBytes] = [0x78n, 0x28n]
const contentAt = 28

const segmentName = (number: number): string => `0000000100000000${number.toString(16).toUpperCase().padStart(8, '0')}`
const numberOf = (name: string): number => Number.parseInt(name.slice(16), 16)
const startOf = (number: number): bigint => BigInt(number) * BigInt(segmentBytes)
const lsnText = (lsn: bigint): string => `0/${lsn.toString(16).toUpperCase()}`

const segmentsIn = (folder: string): string[] => readdirSync(join(folder, 'pg_wal')).sort()
const lastIn = (folder: string): string => segmentsIn(folder).at(-1) as string

/** Writes the content to the log, where there is one. `end`: the position up to which it was written. */
export function writeLog(folder: string, content: string, end?: bigint): void {
  if (existsSync(join(folder, 'pg_wal'))) writeSegment(folder, lastIn(folder), { content, end })
}

function writeSegment(folder: string, name: string, { content, end }: Readonly<{ content: string; end?: bigint | undefined }>): void {
  const segment = Buffer.alloc(Math.max(segmentBytes, contentAt + content.length))
  segment.writeBigUInt64LE(startOf(numberOf(name)), 8)
  segment.writeBigUInt64LE(end ?? startOf(numberOf(name)), 16)
  segment.writeUInt32LE(Buffer.byteLength(content), 24)
  segment.write(content, contentAt)
  writeFileSync(join(folder, 'pg_wal', name), segment)
}

function readSegment(folder: string, name: string): { content: string; end: bigint } {
  const segment = readFileSync(join(folder, 'pg_wal', name))
  return { content: segment.toString('utf8', contentAt, contentAt + segment.readUInt32LE(24)), end: segment.readBigUInt64LE(16) }
}

type Control = Readonly<{ state: number; checkpoint: bigint }>

function writeControl(folder: string, identity: Buffer, { state, checkpoint }: Control): void {
  const bytes = Buffer.alloc(64)
  identity.copy(bytes, 0, 0, 8)
  bytes.writeUInt32LE(1300, 8)
  bytes.writeUInt32LE(state, 16)
  bytes.writeBigUInt64LE(checkpoint, 32)
  bytes.writeBigUInt64LE(checkpoint, 40)
  bytes.writeUInt32LE(1, 48)
  writeFileSync(join(folder, control), bytes)
}

const checkpointIn = (folder: string): bigint => readFileSync(join(folder, control)).readBigUInt64LE(40)

/** A checkpoint behind the last one, in the segment that is written to. */
function writeCheckpoint(folder: string, state: number): bigint {
  const first = startOf(numberOf(lastIn(folder))) + headerBytes
  const next = checkpointIn(folder) + recordBytes
  const checkpoint = next > first ? next : first
  writeControl(folder, readFileSync(join(folder, control)), { state, checkpoint })
  return checkpoint
}

/** The major version of the files; undefined before the first start. */
export const majorOfFiles = (folder: string): string | undefined =>
  existsSync(join(folder, 'PG_VERSION')) ? readFileSync(join(folder, 'PG_VERSION'), 'utf8').trim() : undefined

/** Like PostgreSQL, gives new files an identity of their own, and recovers a backup. */
export function startDatabaseFiles(folder: string, major: string): void {
  if (!existsSync(join(folder, control))) {
    for (const name of ['global', 'pg_wal', 'pg_replslot']) mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, 'PG_VERSION'), `${major}\n`)
    writeControl(folder, Buffer.from(sha256Hex(folder), 'hex'), { state: inProduction, checkpoint: startOf(1) + headerBytes })
    writeSegment(folder, segmentName(1), { content: contentOf(folder) })
  } else if (existsSync(join(folder, label))) recover(folder)
  else if (existsSync(join(folder, 'pg_wal'))) writeCheckpoint(folder, inProduction)
}

const contentFile = (folder: string): string => join(folder, 'content.json')
const contentOf = (folder: string): string => (existsSync(contentFile(folder)) ? readFileSync(contentFile(folder), 'utf8') : '{}')

function recover(folder: string): void {
  const { content, end } = readSegment(folder, lastIn(folder))
  writeFileSync(contentFile(folder), content)
  renameSync(join(folder, label), join(folder, `${label}.old`))
  writeControl(folder, readFileSync(join(folder, control)), { state: inProduction, checkpoint: end + recordBytes })
}

/** The shutdown checkpoint lets go of all segments before its own. */
export function stopDatabaseFiles(folder: string): void {
  if (!existsSync(join(folder, control)) || !existsSync(join(folder, 'pg_wal'))) return
  const end = writeCheckpoint(folder, shutDown)
  for (const name of segmentsIn(folder).slice(0, -1)) rmSync(join(folder, 'pg_wal', name))
  writeLog(folder, contentOf(folder), end)
}

/** Where a backup begins, after a checkpoint. */
export function beginLog(folder: string): { fromLsn: string; segment: string } {
  return { fromLsn: lsnText(writeCheckpoint(folder, inProduction)), segment: lastIn(folder) }
}

export const labelText = ({ fromLsn, segment }: Readonly<{ fromLsn: string; segment: string }>): string =>
  `START WAL LOCATION: ${fromLsn} (file ${segment})\n`

export function switchLog(folder: string): string {
  const [last, content] = [lastIn(folder), contentOf(folder)]
  const name = segmentName(numberOf(last) + 1)
  // The record of the switch fills the segment.
  writeSegment(folder, last, { content, end: startOf(numberOf(name)) })
  writeSegment(folder, name, { content })
  return name
}
