import { expect, test } from 'vitest'
import { compiledBoards } from '../../../../src/daemon/flows/runs/compiled-boards.ts'
import { sketch } from '../../../core/boards/sketch.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld } from '../../../support/tasks-world.ts'

onBothDialects('compiled boards', (fresh) => {
  test('are reused up to a number and to a size of their definitions', async () => {
    const one = await aTasksWorld(await fresh())
    const [small, large] = [sketch('s > m1 > e'), sketch('s > m1 > e', { m1: { body: 'x'.repeat(3_000) } })]
    const saved = async (definition: typeof small) => (await one.as('mia').createBoard({ body: { name: 'Crisis', definition } })).id
    const ids = { a: await saved(small), b: await saved(small), c: await saved(large), d: await saved(large) }
    const boards = compiledBoards({ boards: 2, characters: 5_000 })
    const compiled = async (name: keyof typeof ids) => boards(one.db, { tenantId: 'ten_one', boardId: ids[name], version: 1 })
    const a = await compiled('a')
    expect(await compiled('a')).toBe(a)
    await compiled('b')
    await compiled('c')
    expect(await compiled('a')).not.toBe(a)
    const c = await compiled('c')
    await compiled('d')
    expect(await compiled('c')).not.toBe(c)
  })
})
