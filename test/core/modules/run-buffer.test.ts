import { describe, expect, test } from 'vitest'
import { CallRefused, maxDataBytes, RunBuffer, type RunReads, type StoredDocument } from '../../../src/core/modules/index.ts'

const events = { subscribes: [], publishes: [{ name: 'missed', notify: false }] }

function aRun(
  documents: Readonly<Record<string, unknown>> = {},
  given: { dataBytes?: number; publishedBefore?: number; keepsReads?: boolean } = {},
) {
  const stored = Object.entries(documents).map(([key, value], n): StoredDocument => ({ key, json: JSON.stringify(value), version: n + 1 }))
  const reads: RunReads = {
    document: async (key) => stored.find((one) => one.key === key),
    documents: async ({ prefix, after, limit }) =>
      stored
        .filter(({ key }) => key.startsWith(prefix) && key > after)
        .sort((a, b) => (a.key < b.key ? -1 : 1))
        .slice(0, limit),
    bytesOf: async (keys) =>
      stored.filter(({ key }) => keys.includes(key)).reduce((sum, { key, json }) => sum + key.length + json.length, 0),
    spaces: async () => [{ id: 'spc_1' }],
    assertSpace: async (spaceId) => {
      if (spaceId !== 'spc_1') throw new CallRefused('NOT_FOUND', `there is no space ${spaceId}`)
    },
    files: async () => [{ id: 'fil_0', name: 'old.txt' }],
    readFile: async () => ({ name: 'old.txt', content: 'old' }),
  }
  let files = 0
  const buffer = new RunBuffer({
    reads,
    manifest: { events },
    dataBytes: 0,
    publishedBefore: 0,
    newFileId: () => `fil_${++files}`,
    ...given,
  })
  const { handlers: svc } = buffer
  const list = (options = {}) => svc['data.list']({ prefix: '', limit: 100, ...options })
  return { buffer, svc, list, put: (key: string, value: never | unknown) => svc['data.put']({ key, value: value as never }) }
}

test('the size of documents is that of their last values', async () => {
  const { svc, put } = aRun({}, { dataBytes: maxDataBytes - 100 })
  const text = (length: number) => 'x'.repeat(length - 3) // with quotes and key
  await put('a', text(100))
  await expect(put('b', text(10))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
  await put('a', text(90))
  await put('b', text(10))
  await expect(put('b', text(11))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
  await svc['data.delete']({ key: 'a' })
  await put('b', text(100))
  expect(await svc['data.get']({ key: 'b' })).toHaveLength(97)
})

test('a list of own documents that is too large for a result is refused before it is read', async () => {
  const { put, list } = aRun()
  for (const key of ['a', 'b']) await put(key, 'x'.repeat(150_000))
  await expect(list()).rejects.toMatchObject({ code: 'TOO_LARGE' })
  expect(await list({ limit: 1 })).toHaveLength(1)
})

describe('reads of a run see its own writes', () => {
  test('one document', async () => {
    const { svc, put, buffer } = aRun({ a: 1 })
    expect(await svc['data.get']({ key: 'a' })).toBe(1)
    await put('a', { n: 2 })
    expect(await svc['data.get']({ key: 'a' })).toEqual({ n: 2 })
    await svc['data.delete']({ key: 'a' })
    expect(await svc['data.get']({ key: 'a' })).toBeNull()
    expect(buffer.effects()).toMatchObject({ documents: [{ key: 'a', json: null }], reads: new Map([['a', 1]]) })
  })

  test('a list, in the order of keys and up to its limit', async () => {
    const { svc, list, put } = aRun({ 'l:1': 1, 'l:2': 2, 'l:4': 4, x: 0 })
    await put('l:3', 3)
    await svc['data.delete']({ key: 'l:1' })
    expect(await list({ prefix: 'l:', limit: 2 })).toEqual([
      { key: 'l:2', value: 2 },
      { key: 'l:3', value: 3 },
    ])
    expect(await list({ prefix: 'l:', after: 'l:3' })).toEqual([{ key: 'l:4', value: 4 }])
  })

  test('a value that the module changes afterwards is stored as it was put', async () => {
    const { svc, put } = aRun()
    const value = { n: 1 }
    await put('a', value)
    value.n = 2
    expect(await svc['data.get']({ key: 'a' })).toEqual({ n: 1 })
  })

  test('files', async () => {
    const { svc } = aRun()
    const file = await svc['files.write']({ spaceId: 'spc_1', name: 'new.txt', content: 'né' })
    expect(file).toEqual({ id: 'fil_1' })
    expect(await svc['files.list']({ spaceId: 'spc_1' })).toEqual([
      { id: 'fil_0', name: 'old.txt' },
      { id: 'fil_1', spaceId: 'spc_1', name: 'new.txt', bytes: 3 },
    ])
    expect(await svc['files.read']({ fileId: 'fil_1' })).toEqual({ name: 'new.txt', content: 'né' })
    await expect(svc['files.write']({ spaceId: 'spc_2', name: 'x', content: '' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

test('what was read is part of the result: missing documents and lists too', async () => {
  const { svc, list, buffer } = aRun({ a: 1, b: 2 })
  await svc['data.get']({ key: 'none' })
  await list({ limit: 1 })
  const { reads, ranges } = buffer.effects()
  expect(reads).toEqual(new Map([['none', 0]]))
  expect(ranges).toEqual([{ prefix: '', after: '', limit: 1, seen: [['a', 1]] }])
})

test('a run whose documents nobody else changes keeps nothing of what it read', async () => {
  const { svc, list, put, buffer } = aRun({ a: 1, b: 2 }, { keepsReads: false })
  await svc['data.get']({ key: 'a' })
  await put('b', 3)
  expect(await list()).toEqual([
    { key: 'a', value: 1 },
    { key: 'b', value: 3 },
  ])
  expect(buffer.effects()).toMatchObject({ documents: [{ key: 'b', json: '3' }], reads: new Map(), ranges: [] })
})

test('documents of 50 MB are the limit, and replacing one counts the difference', async () => {
  const { put, buffer } = aRun({ a: 'x'.repeat(1000) }, { dataBytes: maxDataBytes })
  await put('a', 'y'.repeat(900))
  await expect(put('b', 'x'.repeat(200))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', violation: 'data_size' })
  await put('b', 'x')
  expect(buffer.effects().documents.map(({ key }) => key)).toEqual(['a', 'b'])
})

test('an event must be declared, small, within the rate, and of a space that the run may use', async () => {
  const { svc, buffer } = aRun({}, { publishedBefore: 98 })
  const publish = (event: object) => svc['events.publish']({ name: 'missed', payload: {}, ...event } as never)
  await expect(publish({ name: 'other' })).rejects.toMatchObject({ code: 'ARGUMENT' })
  await expect(publish({ payload: 'x'.repeat(16_385) })).rejects.toMatchObject({ code: 'ARGUMENT' })
  await expect(publish({ spaceId: 'spc_9' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await publish({ spaceId: 'spc_1' })
  await publish({})
  await expect(publish({})).rejects.toMatchObject({ code: 'RATE_LIMITED', violation: 'publishes' })
  expect(buffer.effects().published).toHaveLength(2)
})
