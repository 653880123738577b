import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  copyLog,
  dropStored,
  firstPosition,
  nextPosition,
  putSegments,
  type Server,
  type Spool,
  spoolIn,
} from '../../../src/agent/archive/spool.ts'
import { isOnlyVanished } from '../../../src/agent/snapshots/take-archive-part.ts'

const segmentBytes = 1024 * 1024
const size = BigInt(segmentBytes)
let folder: string
let server: Server
let spool: Spool
const { signal } = new AbortController()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-spool-'))
  server = { dataFolder: join(folder, 'data'), timeline: 1, segmentBytes }
  await mkdir(join(server.dataFolder, 'pg_wal'), { recursive: true })
  spool = spoolIn(join(folder, 'archive', 'north'))
  await spool.clear()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const nameOf = (n: number) => `0000000100000000${n.toString(16).toUpperCase().padStart(8, '0')}`

/** A segment whose first page has its address, as PostgreSQL writes it. */
async function segment(n: number, fill: number) {
  const content = Buffer.alloc(segmentBytes, fill)
  content.writeBigUInt64LE(BigInt(n) * size, 8)
  await writeFile(join(server.dataFolder, 'pg_wal', nameOf(n)), content)
  return content
}
const spooled = async () => (await readdir(join(spool.folder, 'wal'))).sort()

test('full segments are copied whole, and the last one up to the position, followed by zeros', async () => {
  const [first, second] = [await segment(1, 1), await segment(2, 2)]
  expect(await nextPosition(spool, server)).toBeUndefined()
  await copyLog(spool, server, { from: size, to: 2n * size + 5000n, signal })
  expect(await spooled()).toEqual([nameOf(1), `${nameOf(2)}.partial`])
  expect((await readFile(join(spool.folder, 'wal', nameOf(1)))).equals(first)).toBe(true)
  const last = await readFile(join(spool.folder, 'wal', `${nameOf(2)}.partial`))
  expect(last.subarray(0, 5000).equals(second.subarray(0, 5000))).toBe(true)
  expect(last.subarray(5000).every((byte) => byte === 0)).toBe(true)
  expect(last).toHaveLength(segmentBytes)
  expect(await nextPosition(spool, server)).toBe(2n * size)
})

test('a segment that is full by now replaces its beginning, and a new window begins behind full ones', async () => {
  await segment(3, 3)
  await copyLog(spool, server, { from: 2n * size, to: 3n * size + 1n, signal })
  expect(await spooled()).toEqual([nameOf(1), nameOf(2), `${nameOf(3)}.partial`])
  expect(await firstPosition(spool, server)).toBe(size)
  await dropStored(spool)
  expect(await firstPosition(spool, server)).toBe(3n * size)
})

test('log that the server has removed, or has set aside for later, is refused', async () => {
  await expect(copyLog(spool, server, { from: 3n * size, to: 4n * size + 1n, signal })).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED' })
  await segment(9, 9)
  const recycled = await readFile(join(server.dataFolder, 'pg_wal', nameOf(9)))
  await writeFile(join(server.dataFolder, 'pg_wal', nameOf(4)), recycled)
  await expect(copyLog(spool, server, { from: 4n * size, to: 4n * size + 1n, signal })).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED' })
})

test('a later part has more of the same segment', async () => {
  const data = join(folder, 'recovered')
  await mkdir(join(data, 'pg_wal'), { recursive: true })
  const parts = [join(folder, 'one'), join(folder, 'two')]
  for (const [n, part] of parts.entries()) {
    await mkdir(part)
    await writeFile(join(part, n === 0 ? `${nameOf(5)}.partial` : nameOf(5)), `part ${n}`)
    await writeFile(join(part, 'other'), 'never')
    await putSegments(part, data, { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 })
  }
  expect(await readdir(join(data, 'pg_wal'))).toEqual([nameOf(5)])
  expect(await readFile(join(data, 'pg_wal', nameOf(5)), 'utf8')).toBe('part 1')
})

test.each([
  [['lstat /a/b: no such file or directory'], true],
  [['lstat /a/b: no such file or directory', 'read /a/c: input/output error'], false],
  [[], false],
])('an incomplete backup with the errors %j may be kept: %j', (messages, isKept) => {
  const lines = messages.map((message) => JSON.stringify({ message_type: 'error', error: { message }, during: 'archival', item: '/a/b' }))
  expect(
    isOnlyVanished({ exitCode: 3, stdout: '', stderr: ['Warning: at least one source file could not be read', ...lines].join('\n') }),
  ).toBe(isKept)
})
