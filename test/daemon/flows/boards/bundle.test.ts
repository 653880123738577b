import { expect, test } from 'vitest'
import { sketch } from '../../../core/boards/sketch.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, codeOf, type TasksWorld } from '../../../support/tasks-world.ts'

const definition = {
  ...sketch('s > t1 > m1 > e', { t1: { assignedRole: { role: 'head' } }, m1: { room: '!hall:school' } }),
  columns: [{ id: 'first', name: 'First', sortOrder: 0 }],
}

onBothDialects('bundles of boards', (fresh) => {
  const room = async () => aTasksWorld(await fresh())
  const exported = async (one: TasksWorld) => {
    const { id } = await one.as('mia').createBoard({ body: { name: 'Crisis', description: 'What to do', definition } })
    return one.as('mia').exportBoard({ params: { id } })
  }

  test('a board of one tenant is a draft of another, with the roles and rooms of that tenant', async () => {
    const one = await room()
    const bundle = await exported(one)
    expect(JSON.stringify(bundle)).not.toContain('!hall:school')
    const olga = one.as('olga')
    const bindings = { roles: { head: 'teacher' }, rooms: { room1: '!hall:other' } }
    const board = await olga.importBoard({ body: { bundle, bindings } })
    expect(board).toMatchObject({ name: 'Crisis', description: 'What to do', status: 'draft', version: 1, definition: { bindings } })
    expect(await olga.publishBoard({ params: { id: board.id } })).toMatchObject({ status: 'active' })
    expect((await olga.exportBoard({ params: { id: board.id } })).templateExport.components).toEqual(bundle.templateExport.components)
  })

  test('open parameters are findings, and publish demands them', async () => {
    const one = await room()
    const { id, name } = await one.as('olga').importBoard({ body: { bundle: await exported(one), name: 'Ours' } })
    expect(name).toBe('Ours')
    const { findings } = await one.as('olga').checkBoard({ params: { id } })
    expect(findings.map(({ code, elementId }) => `${code} ${elementId}`)).toEqual(['BINDING_MISSING t1', 'BINDING_MISSING m1'])
    expect(await codeOf(one.as('olga').publishBoard({ params: { id } }))).toBe('BOARD_INVALID')
  })

  test('a hostile bundle is refused with its reason, and nothing of it is stored', async () => {
    const one = await room()
    const mia = one.as('mia')
    const good = await exported(one)
    const before = (await mia.listBoards()).boards
    const { components, edges } = good.templateExport
    const column = (own: string, groupLocalId: string | null) => ({
      _localId: own,
      groupLocalId,
      kind: 'column' as const,
      label: own,
      config: {},
    })
    const field = { name: 'n', label: 'N', kind: 'text' }
    const form = (count: number) => ({
      assignedRole: 'teacher',
      fields: Array.from({ length: count }, (_, n) => ({ ...field, name: `n${n}` })),
    })
    const hostile: [change: object, reason: string][] = [
      [{ components: [...components, column('a', 'b'), column('b', 'a')] }, 'the column a is in the group b; columns have no group'],
      [{ components: [...components, column('a', 'a')] }, 'the column a is in the group a'],
      [{ components: [...components, { _localId: 'x', kind: 'robot', label: 'X', config: {} }] }, 'must be a column or one of start, task'],
      [{ components: [...components, { _localId: 'f', kind: 'form', label: 'F', config: form(10_000) }] }, 'must have at most 200 entries'],
      [{ components: [...components, components.at(-1)] }, 'is used more than once'],
      [{ components: [...components, { ...components.at(-1), _localId: 'x', groupLocalId: 't1' }] }, 'names t1, which is not a column'],
      [
        { components: [...components, { ...components.at(-1), _localId: 'x', groupLocalId: 'nowhere' }] },
        'names nowhere, which does not exist',
      ],
      [
        {
          components: components.map((own) => (own.kind === 'message' ? { ...own, config: { ...own.config, room: '!hall:other' } } : own)),
        },
        'not a room',
      ],
      [{ components: [...components, ...Array.from({ length: 60 }, (_, n) => column(`c${n}`, null))] }, 'must have at most 50 columns'],
      [{ edges: [...edges, { sourceLocalId: 's', targetLocalId: 'nowhere' }] }, 'names nowhere, which does not exist'],
      [{ edges: [...edges, { sourceLocalId: 's', targetLocalId: 'first' }] }, 'names the column first; an edge joins elements'],
      [{ format: 'svc.process-engine/v2' }, 'format'],
      [{ template: { ...good.templateExport.template, description: 'x'.repeat(2 * 1024 * 1024) } }, 'must have at most 4000 characters'],
      [{ components: Array.from({ length: 200_000 }, () => ({})) }, 'must have at most 2050 entries'],
    ]
    for (const [change, reason] of hostile) {
      const body = { bundle: { templateExport: { ...good.templateExport, ...change } } } as never
      await expect(mia.importBoard({ body })).rejects.toMatchObject({ code: 'VALIDATION', message: expect.stringContaining(reason) })
    }
    const far = { bundle: good, name: 'x'.repeat(6 * 1024 * 1024) }
    expect(await codeOf(mia.importBoard({ body: far }))).toBe('PAYLOAD_TOO_LARGE')
    const foreign = { bundle: good, bindings: { roles: {}, rooms: { room1: '!hall:other' } } }
    expect(await codeOf(mia.importBoard({ body: foreign }))).toBe('VALIDATION')
    expect((await mia.listBoards()).boards).toEqual(before)
    expect(await one.db.selectFrom('board_versions').select('board_id').execute()).toHaveLength(before.length)
  })

  test('another tenant cannot export it, a user without manageBoards cannot import', async () => {
    const one = await room()
    const bundle = await exported(one)
    const id = (await one.as('mia').listBoards()).boards[0]?.id as string
    expect(await codeOf(one.as('olga').exportBoard({ params: { id } }))).toBe('NOT_FOUND')
    expect(await codeOf(one.as('tim').importBoard({ body: { bundle } }))).toBe('FORBIDDEN')
  })
})
