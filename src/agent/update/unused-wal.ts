import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

/** Timeline, and the number of the segment in two halves. */
const segmentName = /^[0-9A-F]{8}([0-9A-F]{8})([0-9A-F]{8})$/

/** The header of a segment's first page has the page's address at 8. */
const headerBytes = 16

/**
 * True for a WAL segment that PostgreSQL has set aside for later: it keeps the content of an older segment, or zeros, until it is written. They
 * are often as large as the database, and a server that has shut down starts without them. PostgreSQL itself knows one by the address in it,
 * which is not that of its name.
 */
export async function isUnusedSegment(path: string, bytes: number): Promise<boolean> {
  const name = segmentName.exec(basename(path))
  if (!name || basename(dirname(path)) !== 'pg_wal') return false
  const [, high, low] = name
  const address = (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`) * BigInt(bytes)
  const header = Buffer.alloc(headerBytes)
  // The container of the server may put a pipe there, which would be waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const { bytesRead } = await file.read(header, 0, headerBytes, 0)
    if (bytesRead < headerBytes) return false
  } finally {
    await file.close()
  }
  return header.readBigUInt64LE(8) !== address
}
