import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { copyFolder } from '../../../src/agent/update/copy-folder.ts'
import { isUnusedSegment } from '../../../src/agent/update/unused-wal.ts'
import { embeddedPostgres } from '../../support/embedded-postgres.ts'

const folders: string[] = []
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})
const aFolder = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-wal-'))
  folders.push(folder)
  await chmod(folder, 0o755)
  return folder
}

const query = async (url: string, ...texts: string[]) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const rows = []
  for (const text of texts) rows.push(...(await client.query(text)).rows)
  await client.end()
  return rows
}

const segmentBytes = 16 * 1024 * 1024
const segment = (address: bigint, bytes = 64) => {
  const page = Buffer.alloc(bytes)
  if (bytes >= 16) page.writeBigUInt64LE(address, 8)
  return page
}

test.each([
  ['a segment that is in use', 'pg_wal/000000010000000200000003', segment((2n << 32n) + 3n * 16_777_216n), false],
  ['one of an older timeline in the file of the new one', 'pg_wal/000000020000000000000003', segment(3n * 16_777_216n), false],
  ['one that was recycled', 'pg_wal/000000010000000200000003', segment((2n << 32n) + 1n * 16_777_216n), true],
  ['one that was never written', 'pg_wal/000000010000000200000003', segment(0n), true],
  ['one that is too short to tell', 'pg_wal/000000010000000200000003', segment(0n, 8), false],
  ['a history of timelines', 'pg_wal/00000002.history', segment(0n), false],
  ['a partial segment', 'pg_wal/000000010000000200000003.partial', segment(0n), false],
  ['a file of another folder with such a name', 'base/000000010000000200000003', segment(0n), false],
])('%s', async (_, path, content, isUnused) => {
  const folder = await aFolder()
  await mkdir(join(folder, 'pg_wal'))
  await mkdir(join(folder, 'base'))
  await writeFile(join(folder, path), content)
  expect(await isUnusedSegment(join(folder, path), segmentBytes)).toBe(isUnused)
})

test('a real database that was shut down starts from a copy without its unused segments, with every row', async () => {
  const folder = await aFolder()
  const [from, into] = [join(folder, 'from'), join(folder, 'into')]
  const server = await embeddedPostgres(from)
  await query(server.url, 'create table kept as select n, md5(n::text) as word from generate_series(1, 5000) n')
  for (let round = 0; round < 3; round++)
    await query(
      server.url,
      `insert into kept select 5000 + ${round} * 100 + n, 'later' from generate_series(1, 100) n`,
      'select pg_switch_wal()',
    )
  // The first checkpoint sets the former segments aside under later names.
  await query(server.url, 'checkpoint', "insert into kept values (9999, 'last')")
  await server.close()
  await mkdir(into)
  await copyFolder(from, into, { signal: new AbortController().signal, leaveOut: isUnusedSegment })
  const segments = async (data: string) => (await readdir(join(data, 'pg_wal'))).filter((name) => /^[0-9A-F]{24}$/.test(name)).toSorted()
  const [all, copied] = [await segments(from), await segments(into)]
  expect(copied.length).toBeGreaterThan(0)
  expect(copied.length).toBeLessThan(all.length)
  const again = await embeddedPostgres(into)
  const [row] = await query(again.url, 'select count(*)::int as rows, max(n) as last, count(distinct word)::int as words from kept')
  expect(row).toEqual({ rows: 5301, last: 9999, words: 5002 })
  await query(again.url, 'insert into kept select n, n::text from generate_series(1, 100000) n', 'select pg_switch_wal()', 'checkpoint')
  await again.close()
})
