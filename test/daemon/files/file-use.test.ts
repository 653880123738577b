import { expect, test } from 'vitest'
import { summarizeUsage } from '../../../src/core/files/index.ts'
import { deleteFile } from '../../../src/daemon/files/change-file.ts'
import { fileUsageOf, usageBySpace } from '../../../src/daemon/files/file-usage.ts'
import { addUsage, insertUpload } from '../../../src/daemon/files/files.repo.ts'
import { onBothDialects } from '../../support/databases.ts'
import { explained } from '../../support/explained.ts'
import { aFilesWorld } from '../../support/files-world.ts'

test('the five largest spaces are listed, largest first, and equal sizes by id', () => {
  const bytes = [3, 9, 3, 1, 7, 2, 3]
  const uses = bytes.map((size, n) => ({ spaceId: `s${n}`, as: 'kept', count: 1, bytes: size }) as const)
  const { largestSpaces } = summarizeUsage([...uses, { spaceId: 's5', as: 'deleted', count: 2, bytes: 6 }])
  expect(largestSpaces).toEqual([
    { id: 's1', count: 1, bytes: 9 },
    { id: 's5', count: 3, bytes: 8 },
    { id: 's4', count: 1, bytes: 7 },
    { id: 's0', count: 1, bytes: 3 },
    { id: 's2', count: 1, bytes: 3 },
  ])
})

onBothDialects('file storage of a tenant', (fresh, dialect) => {
  test('is the number checked at uploads, and its parts match the stored files', async () => {
    const room = await aFilesWorld(await fresh(), 5000)
    const anna = await room.aUser('anna')
    const [small, large] = [await room.aSpace(anna, { name: 'Small' }), await room.aSpace(anna, { name: 'Large' })]
    const of = (bytes: number) => ({ content: Buffer.alloc(bytes) })
    await room.send(anna, small.id, of(10))
    const gone = await room.send(anna, large.id, of(100))
    await room.send(anna, large.id, of(1000))
    await deleteFile(room, anna, { spaceId: large.id, fileId: gone.id, forGood: false })
    const at = '2026-01-05T02:00:00.000Z'
    const begun = { id: 'fil_1', tenantId: room.tenantId, spaceId: small.id, bytes: 2000, createdBy: anna.userId, at, eraseAt: at }
    await room.db.transaction().execute(async (tx) => {
      await insertUpload(tx, begun)
      await addUsage(tx, room.tenantId, 2000)
    })
    const use = await fileUsageOf(room.quotas)(room.db, { id: room.tenantId, plan: 'light' })
    expect(use).toEqual({
      ...{ usedBytes: 3110, quotaBytes: 5000 },
      ...{ kept: { count: 2, bytes: 1010 }, deleted: { count: 1, bytes: 100 }, underWay: { count: 1, bytes: 2000 } },
      largestSpaces: [
        { id: small.id, name: 'Small', count: 2, bytes: 2010 },
        { id: large.id, name: 'Large', count: 2, bytes: 1100 },
      ],
    })
    expect(use.usedBytes).toBe(await room.usage())
    await expect(room.send(anna, small.id, of(1891))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
  })

  test('of a tenant without files is zero', async () => {
    const room = await aFilesWorld(await fresh(), 5000)
    const none = { count: 0, bytes: 0 }
    expect(await fileUsageOf(room.quotas)(room.db, { id: room.tenantId, plan: 'pro' })).toEqual({
      ...{ usedBytes: 0, quotaBytes: 5000, kept: none, deleted: none, underWay: none, largestSpaces: [] },
    })
  })

  test('is read from an index alone, whatever else is stored', async () => {
    const { db, tenantId } = await aFilesWorld(await fresh())
    const [plan] = await explained(db, dialect, (tx) => usageBySpace(tx, tenantId))
    expect(plan).toMatch(
      dialect === 'sqlite' ? /SEARCH files USING COVERING INDEX files_of_tenant \(tenant_id=\?\)/ : /Index Only Scan using files_of_tenant/,
    )
    expect(plan).not.toMatch(/TEMP B-TREE|Sort/)
  })
})
