import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { checkBoard } from '../../../../src/core/boards/index.ts'
import { loadRoleBook } from '../../../../src/daemon/users/index.ts'
import { sketch } from '../../../core/boards/sketch.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aSpace, aTasksWorld } from '../../../support/tasks-world.ts'

// The examples of docs/boards.md, as a stranger types them.

const root = resolve(import.meta.dirname, '../../../..')
const text = readFileSync(resolve(root, 'docs/boards.md'), 'utf8')
const blocks = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) => JSON.parse(json as string) as Record<string, unknown>)
const [visitors, , triggers] = blocks as [{ name: string; definition: Record<string, unknown> }, object, { triggers: object[] }]
const roles = new Set(Object.keys((await loadRoleBook(resolve(root, 'config/roles.yaml'))).roles))

test('the triggers pass the check on a board with a space', () => {
  const place = { spaceId: 'spc_1', roomId: '!r:one', encryptedRooms: new Set<string>(), unknownRooms: new Set<string>() }
  const at = { timeZone: 'Europe/Berlin', now: new Date('2026-11-23T12:00:00Z') }
  const context = { roles, rooms: new Set(['!r:one']), place: { ...place, ...at } }
  expect(checkBoard(sketch('s > t1 > e', {}, triggers), context)).toEqual([])
})

onBothDialects('docs/boards.md', (fresh) => {
  test('its board is created, checked, published, run, exported and imported', async () => {
    const one = await aTasksWorld(await fresh())
    const mia = one.as('mia')
    one.spaces.set('tim', [aSpace('spc_4b')])
    const elements = z.array(z.looseObject({ config: z.looseObject({ assignedRole: z.string() }).optional() }))
    for (const { config } of elements.parse(visitors.definition.elements)) if (config) expect(roles).toContain(config.assignedRole)
    const board = JSON.parse(JSON.stringify(visitors).replaceAll('"principal"', '"school-principal"')) as never
    const { id } = await mia.createBoard({ body: board })
    expect((await mia.checkBoard({ params: { id } })).findings).toEqual([])
    await mia.publishBoard({ params: { id } })
    expect((await one.as('tim').listStartableBoards()).boards.map((each) => each.id)).toEqual([id])
    const run = await one.as('tim').startRun({ params: { id }, body: { spaceId: 'spc_4b', key: 'drill-1' } })
    expect(run).toMatchObject({ status: 'waiting', activeElementIds: ['guest'], seq: 1 })
    const advance = (who: string, body: object) =>
      one.as(who).advanceRun({ params: { id: run.id }, body: body as never }, { headers: { 'idempotency-key': '1f0c' } })
    const guest = { elementId: 'guest', action: 'submit', data: { guest: 'Ada', people: 3 }, expectedSeq: 1 }
    expect(await advance('tim', guest)).toMatchObject({ activeElementIds: ['allow'], seq: 2 })
    await one.db.updateTable('users').set({ roles: '["school-principal"]' }).where('id', '=', 'ben').execute()
    expect(await advance('ben', { elementId: 'allow', action: 'approve' })).toMatchObject({ status: 'completed' })
    const bundle = await mia.exportBoard({ params: { id } })
    const imported = await one.as('olga').importBoard({ body: { bundle } })
    expect(imported).toMatchObject({ name: 'Visitors', status: 'draft', version: 1 })
    expect(imported.definition.elements).toEqual((await mia.showBoard({ params: { id } })).definition.elements)
  })
})
