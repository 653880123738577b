import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { FlowBundle } from '../../../../src/core/boards/index.ts'
import { fireTimers } from '../../../../src/daemon/flows/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aSpace, aTasksWorld, codeOf, type TasksWorld } from '../../../support/tasks-world.ts'
import { joined, storedSpace } from './a-board.ts'

// The shipped crisis flow, from the check of a broken copy to its report.

const file = resolve(import.meta.dirname, '../../../../config/flows/crisis-alert.yaml')
const shipped = parse(readFileSync(file, 'utf8'))
// Two principals must agree here, as a school with several of them may want.
shipped.templateExport.components.find((one: { _localId: string }) => one._localId === 'decide').config.requiredApprovals = 2
const bundle = FlowBundle.parse(shipped)
const bindings = { roles: { principal: 'school-principal', custodian: 'teacher' }, rooms: {} }

onBothDialects('the crisis flow', (fresh) => {
  async function room() {
    const one = await aTasksWorld(await fresh())
    for (const id of ['anna', 'ben'])
      await one.db.updateTable('users').set({ roles: '["school-principal"]' }).where('id', '=', id).execute()
    await storedSpace(one, 'spc_staff')
    for (const id of ['tim', 'mia']) await joined(one, id, 'spc_staff')
    one.spaces.set('olga', [aSpace('spc_staff')])
    return one
  }
  async function publish(one: TasksWorld, who: string) {
    const board = await one.as(who).importBoard({ body: { bundle, bindings } })
    return one.as(who).publishBoard({ params: { id: board.id } })
  }
  const advance = (one: TasksWorld, who: string, id: string, body: object, key?: string) =>
    one.as(who).advanceRun({ params: { id }, body: body as never }, key === undefined ? {} : { headers: { 'idempotency-key': key } })
  const alarm = { elementId: 'alarm', action: 'submit', data: { incident: 'fire', place: 'Hall', injured: 0 } }
  const begin = (one: TasksWorld, id: string) => one.as('tim').startRun({ params: { id }, body: { spaceId: 'spc_staff' } })

  test('a broken copy is refused with the path to the deadlock', async () => {
    const one = await room()
    const { id } = await one.as('mia').importBoard({ body: { bundle, bindings } })
    const { definition } = await one.as('mia').showBoard({ params: { id } })
    const edges = definition.edges.map((edge) => (edge.source === 'other-measures' ? { ...edge, target: 'end' } : edge))
    await one.as('mia').saveBoard({ params: { id }, body: { name: 'Broken', definition: { ...definition, edges }, version: 1 } })
    const { findings } = await one.as('mia').checkBoard({ params: { id } })
    expect(findings.find(({ code }) => code === 'DEADLOCK')).toMatchObject({
      elementId: 'all-done',
      path: expect.arrayContaining(['start', 'decide']),
    })
    expect(await codeOf(one.as('mia').publishBoard({ params: { id } }))).toBe('BOARD_INVALID')
  })

  test('wrong inputs have their own answers and move nothing; one key is one input', async () => {
    const one = await room()
    const run = await begin(one, (await publish(one, 'mia')).id)
    expect(await codeOf(advance(one, 'anna', run.id, alarm))).toMatch(/FORBIDDEN|NOT_FOUND/)
    expect(await codeOf(advance(one, 'tim', run.id, { ...alarm, expectedSeq: 9 }))).toBe('RUN_CHANGED')
    expect(await codeOf(advance(one, 'tim', run.id, { ...alarm, data: { ...alarm.data, colour: 'red' } }))).toBe('VALIDATION')
    expect((await one.as('tim').showRun({ params: { id: run.id } })).seq).toBe(run.seq)
    const first = await advance(one, 'tim', run.id, alarm, 'k1')
    expect(await advance(one, 'tim', run.id, alarm, 'k1')).toEqual(first)
    expect(first.activeElementIds.toSorted()).toEqual(['decide', 'secure'])
  })

  test('two people approve, the late task is escalated, and the run ends as the version it began with', async () => {
    const one = await room()
    const board = await publish(one, 'mia')
    const run = await begin(one, board.id)
    await advance(one, 'tim', run.id, alarm)
    const { definition } = await one.as('mia').showBoard({ params: { id: board.id } })
    const elements = definition.elements.map((own) => (own.id === 'end' ? { ...own, label: 'Over' } : own))
    await one
      .as('mia')
      .saveBoard({ params: { id: board.id }, body: { name: 'Crisis 2', definition: { ...definition, elements }, version: 1 } })
    await one.as('mia').publishBoard({ params: { id: board.id } })
    for (const who of ['anna', 'anna']) await advance(one, who, run.id, { elementId: 'decide', action: 'approve' })
    expect((await one.as('mia').showRun({ params: { id: run.id } })).activeElementIds).toContain('decide')
    await advance(one, 'ben', run.id, { elementId: 'decide', action: 'approve' })
    await one.clock.advance(2 * 3_600_000)
    while ((await fireTimers(one)) > 0);
    await one.as('mia').archiveBoard({ params: { id: board.id } })
    expect(await codeOf(begin(one, board.id))).toBe('BOARD_NOT_ACTIVE')
    const ended = await advance(one, 'mia', run.id, { elementId: 'secure', action: 'complete' })
    expect(ended).toMatchObject({ status: 'completed', boardVersion: 1 })
    const types = (await one.db.selectFrom('events').select('event_type').orderBy('seq').execute()).map((row) => row.event_type)
    expect(types.filter((type) => type === 'sla.warning').length).toBeGreaterThan(0)
    const { reports } = await one.as('mia').showRun({ params: { id: run.id } })
    const report = await one.as('mia').showReport({ params: { id: reports[0]?.id as string } })
    expect(report).toMatchObject({ missing: [], markdown: expect.stringContaining('Incident: fire, Hall. Injured people: 0.') })
  })

  test('exported and imported in another tenant, it behaves the same', async () => {
    const one = await room()
    const exported = await one.as('mia').exportBoard({ params: { id: (await publish(one, 'mia')).id } })
    const theirs = await one.as('olga').importBoard({ body: { bundle: exported, bindings } })
    await one.as('olga').publishBoard({ params: { id: theirs.id } })
    const run = await one.as('olga').startRun({ params: { id: theirs.id }, body: { spaceId: 'spc_staff' } })
    expect((await advance(one, 'olga', run.id, alarm)).activeElementIds.toSorted()).toEqual(['decide', 'secure'])
  })
})
