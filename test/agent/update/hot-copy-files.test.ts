import { rmSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { controlOf, dataFolderIn, readControl, stableControl } from '../../../src/agent/update/control-file.ts'
import { copyLiveFolder } from '../../../src/agent/update/copy-folder.ts'
import { pacer } from '../../../src/agent/update/copy-running.ts'
import { firstDifference } from '../../../src/agent/update/hot-copy.ts'
import { copySegments, segmentOf, segmentsBetween } from '../../../src/agent/update/log-segments.ts'
import { lsnText } from '../../../src/core/boxes/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'

const signal = new AbortController().signal
const MiB = 1024 * 1024

describe('pg_control', () => {
  const bytes = (change: (buffer: Buffer) => void = () => undefined) => {
    const buffer = Buffer.alloc(8192)
    buffer.writeBigUInt64LE(7_713_634_912_345_678_901n, 0)
    buffer.writeUInt32LE(1300, 8)
    buffer.writeUInt32LE(1, 16)
    buffer.writeBigUInt64LE(0x1_460d_20e8n, 32)
    buffer.writeBigUInt64LE(0x1_460d_2070n, 40)
    buffer.writeUInt32LE(1, 48)
    change(buffer)
    return buffer
  }

  test('is read as PostgreSQL prints it', () => {
    expect(readControl(bytes())).toEqual({
      ...{ systemId: '7713634912345678901', isShutDown: true, checkpoint: 0x1_460d_20e8n, redo: 0x1_460d_2070n, timeline: 1 },
    })
    expect(lsnText(0x1_460d_20e8n)).toBe('1/460D20E8')
  })

  test.each([
    ['in production', 6],
    ['in crash recovery', 4],
    ['shut down in recovery', 2],
  ])('of a server %s is not that of a clean shutdown', (_, state) => {
    expect(readControl(bytes((buffer) => buffer.writeUInt32LE(state, 16))).isShutDown).toBe(false)
  })

  test.each([
    ['of another version', bytes((buffer) => buffer.writeUInt32LE(1201, 8))],
    ['of a newer one', bytes((buffer) => buffer.writeUInt32LE(1900, 8))],
    ['that is cut off', bytes().subarray(0, 20)],
  ])('%s is refused', (_, buffer) => {
    expect(() => readControl(buffer)).toThrow(/pg_control of version \d+ cannot be read/)
  })

  test('tells the data folder of the database that runs from others in the volume', async () => {
    const root = await mkdtemp(join(tmpdir(), 'tenantry-control-'))
    for (const [name, id] of [
      ['old', 1n],
      ['18/docker', 2n],
    ] as const) {
      await mkdir(join(root, name, 'global'), { recursive: true })
      await writeFile(
        join(root, name, 'global', 'pg_control'),
        bytes((buffer) => buffer.writeBigUInt64LE(id, 0)),
      )
    }
    expect(await dataFolderIn(root, '2')).toBe(join(root, '18/docker'))
    expect((await controlOf(join(root, 'old'))).systemId).toBe('1')
    expect((await stableControl(join(root, 'old'))).equals(await readFile(join(root, 'old', 'global', 'pg_control')))).toBe(true)
    await expect(dataFolderIn(root, '3')).rejects.toThrow(/no data folder/)
    await expect(dataFolderIn(root, undefined)).rejects.toThrow(/no data folder/)
  })
})

describe('segments of the write-ahead log', () => {
  test.each<[checkpoint: bigint, bytes: number, name: string]>([
    [0x500_0028n, 16 * MiB, '000000010000000000000005'],
    [0x1_460d_20e8n, 16 * MiB, '000000010000000100000046'],
    [0xffff_ffffn, 16 * MiB, '0000000100000000000000FF'],
    [0x1_460d_20e8n, 1024 * MiB, '000000010000000100000001'],
  ])('the position %s is in its segment of %s bytes', (checkpoint, bytes, name) => {
    expect(segmentOf({ timeline: 1, checkpoint }, bytes)).toBe(name)
  })

  test('are counted on past the end of a file group', () => {
    expect(segmentsBetween('0000000100000000000000FE', '000000010000000100000001', 16 * MiB)).toEqual([
      '0000000100000000000000FE',
      '0000000100000000000000FF',
      '000000010000000100000000',
      '000000010000000100000001',
    ])
    expect(segmentsBetween('000000010000000000000005', '000000010000000000000004', 16 * MiB)).toEqual([])
    expect(() => segmentsBetween('000000010000000000000005', '000000020000000000000006', 16 * MiB)).toThrow(/changed its timeline/)
  })

  const folders = async () => {
    const root = await mkdtemp(join(tmpdir(), 'tenantry-log-'))
    const [from, into] = [join(root, 'from'), join(root, 'into')]
    for (const folder of [from, into]) await mkdir(join(folder, 'pg_wal'), { recursive: true })
    await writeFile(join(into, 'PG_VERSION'), '15\n', { mode: 0o600 })
    const write = (name: string, address: bigint) => {
      const segment = Buffer.alloc(MiB)
      segment.writeBigUInt64LE(address, 8)
      return writeFile(join(from, 'pg_wal', name), segment)
    }
    return { from, into, write }
  }

  test('are copied by name, over what was copied before, with the mode of the data', async () => {
    const { from, into, write } = await folders()
    const name = '000000010000000000000005'
    await writeFile(join(into, 'pg_wal', name), 'half of it')
    await write(name, 5n * BigInt(MiB))
    await write('000000010000000000000009', 9n * BigInt(MiB))
    await copySegments({ from, into }, [name], signal)
    expect(await readdir(join(into, 'pg_wal'))).toEqual([name])
    expect((await stat(join(into, 'pg_wal', name))).mode & 0o777).toBe(0o600)
    expect((await stat(join(into, 'pg_wal', name))).size).toBe(MiB)
  })

  test('that PostgreSQL has removed, or set aside for later, are missing', async () => {
    const { from, into, write } = await folders()
    const name = '000000010000000000000005'
    await expect(copySegments({ from, into }, [name], signal)).rejects.toThrow(/has removed the segment 0+1/)
    await write(name, 2n * BigInt(MiB))
    await expect(copySegments({ from, into }, [name], signal)).rejects.toThrow(/has removed the segment/)
  })
})

describe('the copy of a folder that a server writes to', () => {
  const aTree = async () => {
    const root = await mkdtemp(join(tmpdir(), 'tenantry-live-'))
    const from = join(root, 'from')
    for (const folder of ['base', 'pg_replslot/standby']) await mkdir(join(from, folder), { recursive: true })
    for (let file = 0; file < 20; file++) await writeFile(join(from, 'base', `${file}`), `content of ${file}`)
    await writeFile(join(from, 'pg_replslot', 'standby', 'state'), 'x')
    return { from, into: join(root, 'into') }
  }

  test('leaves out what belongs to the server, with its folders', async () => {
    const { from, into } = await aTree()
    const isLeftOut = (path: string) => path.startsWith('pg_replslot/')
    const bytes = await copyLiveFolder(from, into, { signal, isLeftOut, pace: async () => undefined })
    expect(await readdir(join(into, 'pg_replslot'))).toEqual([])
    expect(await readFile(join(into, 'base', '7'), 'utf8')).toBe('content of 7')
    expect(bytes).toBe(10 * 'content of 7'.length + 10 * 'content of 17'.length)
  })

  test('goes on without files that vanish meanwhile', async () => {
    const { from, into } = await aTree()
    let paced = 0
    const pace = async () => void (++paced === 1 && (await rm(join(from, 'base', '19'))))
    await copyLiveFolder(from, into, { signal, isLeftOut: () => false, pace })
    expect(await readdir(join(into, 'base'))).not.toContain('19')
    expect(await readdir(join(into, 'base'))).toHaveLength(19)
  })

  test('has the mode of a file that vanishes while it is copied: recovery could not open it otherwise', async () => {
    const { from, into } = await aTree()
    const path = join(from, 'base', '7')
    await chmod(path, 0o600)
    const pace = () => rm(path, { force: true })
    await copyLiveFolder(join(from, 'base'), into, { signal, isLeftOut: (name) => name !== '7', pace })
    expect((await stat(join(into, '7'))).mode & 0o777).toBe(0o600)
  })

  test('goes on without a folder that vanishes meanwhile, as that of temporary tables', async () => {
    const { from, into } = await aTree()
    await mkdir(join(from, 'base', 'pgsql_tmp'))
    const isLeftOut = (path: string) => {
      if (path === 'base/pgsql_tmp') rmSync(join(from, path), { recursive: true })
      return false
    }
    await copyLiveFolder(from, into, { signal, isLeftOut, pace: async () => undefined })
    expect(await readdir(join(into, 'base'))).toHaveLength(20)
    const lost = copyLiveFolder(join(from, 'lost'), into, { signal, isLeftOut, pace: async () => undefined })
    await expect(lost).rejects.toThrow('ENOENT')
  })

  test('ends with an abort, and with a failure of its pace', async () => {
    const { from, into } = await aTree()
    const options = { isLeftOut: () => false, pace: async () => undefined }
    await expect(copyLiveFolder(from, into, { ...options, signal: AbortSignal.abort(new Error('drained')) })).rejects.toThrow('drained')
    const full = async () => Promise.reject(new Error('the disk filled up'))
    await expect(copyLiveFolder(from, into, { ...options, signal, pace: full })).rejects.toThrow('the disk filled up')
  })
})

test('the pace keeps to its bytes per second, and time without work is not made up for', async () => {
  const clock = manualClock()
  const waits: number[] = []
  const sleep: typeof clock.sleep = async (ms) => {
    waits.push(ms)
    await clock.advance(ms)
  }
  const pace = pacer({ ...clock, sleep }, 1000)
  await pace(1000, signal)
  await pace(10, signal)
  await clock.advance(60_000)
  await pace(500, signal)
  expect(waits).toEqual([1000, 500])
})

test.each<[what: string, copied: Parameters<typeof firstDifference>[1], difference: string | undefined]>([
  ['the same', { sequences: { events: 40 }, writers: [{ stream: 'events', instance: 'master', position: 40 }] }, undefined],
  [
    'a sequence that recovery took further, and one more',
    { sequences: { events: 72, other: 1 }, writers: [{ stream: 'events', instance: 'master', position: 40 }] },
    undefined,
  ],
  [
    'a sequence that is behind',
    { sequences: { events: 39 }, writers: [{ stream: 'events', instance: 'master', position: 40 }] },
    'the sequence events is at 39 instead of 40',
  ],
  ['no sequence', { sequences: {}, writers: [] }, 'the sequence events is at no value instead of 40'],
  [
    'a writer that is behind',
    { sequences: { events: 40 }, writers: [{ stream: 'events', instance: 'master', position: 39 }] },
    'the stream events master is at 39 instead of 40',
  ],
])('streams of a copy: %s', (_, copied, difference) => {
  const left = { sequences: { events: 40 }, writers: [{ stream: 'events', instance: 'master', position: 40 }] }
  expect(firstDifference(left, copied)).toBe(difference)
})
