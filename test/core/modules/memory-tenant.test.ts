import { expect, test } from 'vitest'
import { MemoryTenant, maxDataBytes } from '../../../src/core/modules/index.ts'

const spaces = [{ id: 'spc_1', name: 'Class', type: 'GROUP', visibility: 'TENANT' }]
const tenant = () => new MemoryTenant({ spaces, files: [] }, { events: { publishes: [], subscribes: [] } })

test('lists documents by their keys, from where the last page ended', async () => {
  const { handlers } = tenant().begin()
  const list = async (prefix: string, more: { limit?: number; after?: string } = {}) =>
    ((await handlers['data.list']({ limit: 10, prefix, ...more })) as { key: string }[]).map(({ key }) => key)
  for (const key of ['b/2', 'a', 'b/1', 'c', 'b', 'b/3', 'b/1']) await handlers['data.put']({ key, value: 1 })
  expect(await list('')).toEqual(['a', 'b', 'b/1', 'b/2', 'b/3', 'c'])
  expect(await list('b/')).toEqual(['b/1', 'b/2', 'b/3'])
  expect(await list('b/', { limit: 1, after: 'b/1' })).toEqual(['b/2'])
  expect(await list('b/', { after: 'a' })).toEqual(['b/1', 'b/2', 'b/3'])
  expect(await list('b/', { after: 'c' })).toEqual([])
  await handlers['data.delete']({ key: 'b/2' })
  await handlers['data.delete']({ key: 'missing' })
  expect(await list('', { limit: 3, after: 'a' })).toEqual(['b', 'b/1', 'b/3'])
})

test('a run that fails leaves the documents and their list as they were', async () => {
  const one = tenant()
  const first = one.begin()
  await first.handlers['data.put']({ key: 'kept', value: 1 })
  first.commit()
  const failed = one.begin()
  await failed.handlers['data.put']({ key: 'lost', value: 1 })
  await failed.handlers['data.delete']({ key: 'kept' })
  expect(await one.begin().handlers['data.list']({ prefix: '', limit: 10 })).toEqual([{ key: 'kept', value: 1 }])
})

test('a package that writes many documents gets no more than a list can read in time', async () => {
  const one = tenant()
  const { handlers, commit } = one.begin()
  for (let n = 0; n < 10_000; n++) await handlers['data.put']({ key: `${n}`, value: n })
  commit()
  const next = one.begin().handlers
  await expect(next['data.put']({ key: 'more', value: 1 })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
  await next['data.put']({ key: '7', value: 'other' })
  await next['data.delete']({ key: '8' })
  await next['data.put']({ key: 'more', value: 1 })
})

test.each([
  ['of 250 KB', 250_000, Math.floor(maxDataBytes / 250_000)],
  ['without content', 0, 1000],
])('files %s that a package writes in all its runs do not fill the memory', async (_, length, most) => {
  const one = tenant()
  const content = 'x'.repeat(length)
  let written = 0
  const run = async () => {
    const { handlers, commit } = one.begin()
    for (let n = 0; n < 200; n++) {
      await handlers['files.write']({ spaceId: 'spc_1', name: 'a.txt', content })
      written += 1
    }
    commit()
  }
  await expect(Array.from({ length: 10 }).reduce<Promise<void>>((before) => before.then(run), Promise.resolve())).rejects.toMatchObject({
    code: 'QUOTA_EXCEEDED',
  })
  expect(written).toBe(most)
})

test('a file of more than a call may have, and a list of more than its result may have, are refused as in the platform', async () => {
  const { handlers } = tenant().begin()
  await expect(handlers['files.write']({ spaceId: 'spc_1', name: 'a.txt', content: 'x'.repeat(262_145) })).rejects.toMatchObject({
    code: 'ARGUMENT',
  })
  for (const key of ['a', 'b']) await handlers['data.put']({ key, value: 'x'.repeat(150_000) })
  await expect(handlers['data.list']({ prefix: '', limit: 2 })).rejects.toMatchObject({ code: 'TOO_LARGE' })
  expect(await handlers['data.list']({ prefix: '', limit: 1 })).toHaveLength(1)
})
