import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { uploadFile } from '../../../src/daemon/files/upload-file.ts'
import { emptyDatabase, onBothDialects } from '../../support/databases.ts'
import { aFilesWorld, anUpload, inPieces } from '../../support/files-world.ts'

const isFull = (error: unknown) => isProblem(error, 'QUOTA_EXCEEDED')
const sent = (bytes: number, known = true) => ({
  content: Buffer.alloc(bytes),
  bytes: known ? { least: Math.max(0, bytes - 100), most: bytes + 100 } : { least: 0, most: 10_000 },
})

onBothDialects('the quota of a tenant', (fresh) => {
  test('is usable to the last byte and not beyond', async () => {
    const room = await aFilesWorld(await fresh(), 1000)
    const anna = await room.aUser('anna')
    const { id: spaceId } = await room.aSpace(anna)
    await room.send(anna, spaceId, sent(400))
    await expect(room.send(anna, spaceId, sent(601))).rejects.toSatisfy(isFull)
    await expect(room.send(anna, spaceId, sent(601, false))).rejects.toSatisfy(isFull)
    await room.send(anna, spaceId, sent(600, false))
    await expect(room.send(anna, spaceId, sent(1))).rejects.toSatisfy(isFull)
    expect(await room.usage()).toBe(1000)
    await room.agree()
  })

  test('is shared by all spaces of the tenant, and set by its plan', async () => {
    const room = await aFilesWorld(await fresh(), 1000)
    const anna = await room.aUser('anna')
    const [one, two] = [await room.aSpace(anna), await room.aSpace(anna, { name: '5c' })]
    const plans = { ...room, quotas: { light: 0, pro: 1000, dedicated: 2000 } }
    await room.db.updateTable('tenants').set({ plan: 'pro' }).where('id', '=', room.tenantId).execute()
    await room.send(anna, one.id, sent(700), plans)
    await expect(room.send(anna, two.id, sent(700), plans)).rejects.toSatisfy(isFull)
    await room.db.updateTable('tenants').set({ plan: 'dedicated' }).where('id', '=', room.tenantId).execute()
    await room.send(anna, two.id, sent(700), plans)
  })

  test('applies to concurrent uploads: a reservation of one upload is not available to others', async () => {
    const room = await aFilesWorld(await fresh(), 1000)
    const anna = await room.aUser('anna')
    const { id: spaceId } = await room.aSpace(anna)
    const ends = await Promise.allSettled(Array.from({ length: 12 }, () => room.send(anna, spaceId, { content: Buffer.alloc(200) })))
    const refused = ends.filter((end) => end.status === 'rejected')
    expect(refused.map(({ reason }) => isFull(reason))).toEqual(Array.from({ length: 7 }, () => true))
    expect(await room.usage()).toBe(1000)
    await room.agree()
  })

  test('is released by a failed upload', async () => {
    const room = await aFilesWorld(await fresh(), 1000)
    const anna = await room.aUser('anna')
    const { id: spaceId } = await room.aSpace(anna)
    const upload = anUpload(sent(900))
    const broken = {
      ...upload,
      receive: (take: Parameters<typeof upload.receive>[0]) =>
        upload.receive((part) =>
          take({
            ...part,
            content: (async function* () {
              yield* inPieces(Buffer.alloc(500))
              throw new Error('the network went')
            })(),
          }),
        ),
    }
    await expect(uploadFile(room, anna, { spaceId, upload: broken as never })).rejects.toThrow()
    expect([await room.usage(), await room.kept()]).toEqual([0, []])
    await room.send(anna, spaceId, sent(1000))
  })
})

test('concurrent uploads never exceed the quota, and refused uploads leave nothing', async () => {
  const one = fc.record({ bytes: fc.nat(500), known: fc.boolean() })
  const { db } = await emptyDatabase('sqlite')
  const room = await aFilesWorld(db, 1200)
  const anna = await room.aUser('anna')
  const { id: spaceId } = await room.aSpace(anna)
  let most = 0
  const objects = {
    ...room.objects,
    put: async (...given: Parameters<typeof room.objects.put>) => {
      most = Math.max(most, await room.usage())
      return room.objects.put(...given)
    },
  }
  await fc.assert(
    fc.asyncProperty(fc.array(one, { minLength: 2, maxLength: 6 }), async (uploads) => {
      const ends = await Promise.allSettled(
        uploads.map(({ bytes, known }) => room.send(anna, spaceId, sent(bytes, known), { ...room, objects })),
      )
      for (const end of ends) if (end.status === 'rejected') expect(isFull(end.reason)).toBe(true)
      await room.agree()
      expect(most).toBeLessThanOrEqual(1200)
      for (const { id } of await room.rows()) await room.objects.remove(`files/${room.tenantId}/${id}`)
      await db.deleteFrom('files').execute()
      await db.updateTable('file_usage').set({ bytes: 0 }).execute()
    }),
    { numRuns: 25 },
  )
})
