import { expect, test } from 'vitest'
import { sketch } from '../../../core/boards/sketch.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aSpace, aTasksWorld, codeOf, type TasksWorld } from '../../../support/tasks-world.ts'
import { storedSpace } from '../runs/a-board.ts'

const secret = { t1: { assignedRole: 'teacher' }, m1: { room: 'space', body: 'Call {phone}' } }
const definition = sketch('s > f1 > t1 > m1 > e', {
  ...secret,
  f1: { assignedRole: 'school-principal', fields: [{ name: 'phone', label: 'Phone', kind: 'text', required: true }] },
})

onBothDialects('boards for operators', (fresh) => {
  const room = async () => aTasksWorld(await fresh())
  const create = (one: TasksWorld) => one.as('mia').createBoard({ body: { name: 'Crisis', definition } })
  const audited = async ({ db }: TasksWorld) =>
    (await db.selectFrom('audit').select(['action', 'actor', 'subject']).orderBy('seq').execute()).map(({ action, actor, subject }) => [
      action,
      actor.split(':')[0],
      subject,
    ])

  test('an operator sees structure and findings, and no role, form, text or expression', async () => {
    const one = await room()
    const board = await create(one)
    const named = { slug: 'one', id: board.id }
    expect((await one.operator.listTenantBoards({ params: { slug: 'one' } })).boards.map(({ id }) => id)).toEqual([board.id])
    const shown = await one.operator.showTenantBoard({ params: named })
    expect(shown.elements[1]).toEqual({ id: 'f1', kind: 'form', label: 'f1', columnId: null })
    expect(shown.edges[0]).toEqual({ source: 's', target: 'f1', condition: 'always' })
    expect(JSON.stringify(shown)).not.toMatch(/principal|teacher|phone|Call/)
    expect((await one.operator.checkTenantBoard({ params: named })).findings).toEqual([])
    await one.as('mia').saveBoard({ params: { id: board.id }, body: { version: 1, name: 'B', definition: sketch('s > e') } })
    const ids = async (query: object) =>
      (await one.operator.showTenantBoard({ params: named, query })).elements.map((element) => element.id)
    expect([await ids({}), (await ids({ version: 1 })).includes('f1')]).toEqual([['s', 'e'], true])
    expect(await codeOf(ids({ version: 9 }))).toBe('NOT_FOUND')
    for (const call of [
      () => one.operator.showTenantBoard({ params: { ...named, slug: 'two' } }),
      () => one.operator.checkTenantBoard({ params: { ...named, slug: 'two' } }),
      () => one.operator.exportTenantBoard({ params: { ...named, slug: 'two' } }),
      () => one.operator.listTenantBoards({ params: { slug: 'nobody' } }),
    ])
      expect(await codeOf(call())).toBe('NOT_FOUND')
  })

  test('a board is listed and shown with the name of its space, also of a deleted one', async () => {
    const one = await room()
    await storedSpace(one, 'spc_4b')
    one.spaces.set('mia', [aSpace('spc_4b')])
    const { id } = await one.as('mia').createBoard({ body: { name: 'Crisis', spaceId: 'spc_4b', definition } })
    await one.as('mia').createBoard({ body: { name: 'Anywhere', definition } })
    await one.db.updateTable('spaces').set({ name: 'Class 4b', deleted_at: one.clock.now().toISOString() }).execute()
    const { boards } = await one.operator.listTenantBoards({ params: { slug: 'one' } })
    const names = Object.fromEntries(boards.map(({ name, spaceName }) => [name, spaceName]))
    expect(names).toEqual({ Crisis: 'Class 4b', Anywhere: null })
    expect((await one.operator.showTenantBoard({ params: { slug: 'one', id } })).spaceName).toBe('Class 4b')
  })

  test('findings have no role, text and condition of a faulty board', async () => {
    const one = await room()
    const faulty = sketch("s > d1; d1 -vars.diagnosis == 'HIV'-> t1; d1 -else-> e; t1 > e", { t1: { assignedRole: 'betriebsrat' } })
    const { id } = await one.as('mia').createBoard({ body: { name: 'B', definition: faulty } })
    const { findings } = await one.operator.checkTenantBoard({ params: { slug: 'one', id } })
    expect(findings.map(({ code, elementId }) => [code, elementId])).toEqual(
      expect.arrayContaining([
        ['ROLE_UNKNOWN', 't1'],
        ['EXPRESSION_INVALID', 'd1'],
      ]),
    )
    expect(JSON.stringify(findings)).not.toMatch(/betriebsrat|diagnosis|HIV/)
  })

  test('the content needs the support access of the tenant, which lasts 24 hours; each use is audited', async () => {
    const one = await room()
    const { id } = await create(one)
    const read = [
      () => one.operator.exportTenantBoard({ params: { slug: 'one', id } }),
      () => one.operator.simulateTenantBoard({ params: { slug: 'one', id } }),
    ]
    const codes = () => Promise.all(read.map((call) => codeOf(call())))
    expect(await codes()).toEqual(['FORBIDDEN', 'FORBIDDEN'])
    expect(await codeOf(one.as('tim').grantSupportAccess())).toBe('FORBIDDEN')
    await one.as('olga').grantSupportAccess()
    expect(await codes()).toEqual(['FORBIDDEN', 'FORBIDDEN'])
    const { expiresAt } = await one.as('mia').grantSupportAccess()
    expect(Date.parse(expiresAt as string) - one.clock.now().getTime()).toBe(24 * 3_600_000)
    expect(await codes()).toEqual(['ok', 'ok'])
    await one.clock.advance(24 * 3_600_000)
    expect(await codes()).toEqual(['FORBIDDEN', 'FORBIDDEN'])
    expect(await one.as('mia').showSupportAccess()).toEqual({ expiresAt: null, grantedBy: null })
    await one.as('mia').grantSupportAccess()
    await one.as('mia').revokeSupportAccess()
    expect(await codes()).toEqual(['FORBIDDEN', 'FORBIDDEN'])
    const count = async (action: string) => (await audited(one)).filter(([name, , subject]) => name === action && subject === 'one').length
    expect([await count('support.granted'), await count('support.used'), await count('support.revoked')]).toEqual([2, 2, 1])
  })

  test('an operator imports a draft, audited; a room of another tenant is refused', async () => {
    const one = await room()
    await create(one)
    const bundle = await one.as('mia').exportBoard({ params: { id: (await create(one)).id } })
    const board = await one.operator.importTenantBoard({ params: { slug: 'two' }, body: { bundle, name: 'Ours' } })
    expect(board).toMatchObject({ name: 'Ours', status: 'draft' })
    expect((await one.as('olga').showBoard({ params: { id: board.id } })).definition.elements).toHaveLength(5)
    const foreign = { bundle: structuredClone(bundle) }
    const message = foreign.bundle.templateExport.components.find(({ kind }) => kind === 'message') as { config: { room: string } }
    message.config.room = '!hall:school'
    expect(await codeOf(one.operator.importTenantBoard({ params: { slug: 'two' }, body: foreign }))).toBe('VALIDATION')
    expect((await one.as('olga').listBoards()).boards).toHaveLength(1)
    expect(await audited(one)).toEqual([['board.imported', 'admin', 'two']])
  })
})
