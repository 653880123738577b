import { expect, test } from 'vitest'
import { eraseUserRuns, flowsFeature } from '../../../../src/daemon/flows/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, type TasksWorld } from '../../../support/tasks-world.ts'
import { aBoard, aRun, storedSpace } from './a-board.ts'

const note = { name: 'note', label: 'Note', kind: 'text', maxLength: 10_000 }
const plan = { name: 'plan', label: 'Plan', kind: 'file' }
const loop = 's > f1 > c1 > e; c1 -rejected-> f1'

type Row = Readonly<{ run_id: string; seq: number; input: string }>

const submissions = ({ db }: TasksWorld, rows: readonly Row[]) =>
  db
    .insertInto('run_history')
    .values(
      rows.map((row) => ({
        ...{ tenant_id: 'ten_one', key: null, at: '2026-01-05T00:00:00.000Z', by_user: 'tim', type: 'submit', element_id: 'f1' },
        ...{ request: null, answer: null, ...row },
      })),
    )
    .execute()

const input = (values: object) => JSON.stringify({ type: 'submit', elementId: 'f1', by: 'tim', values })

onBothDialects('runs with a long history', (fresh) => {
  const started = async (fields: readonly object[]) => {
    const one = await aTasksWorld(await fresh())
    await storedSpace(one, 'spc_4b')
    const board = await aBoard(one, loop, { f1: { assignedRole: 'teacher', fields } }, { retentionDays: 30 })
    const run = await aRun(one, board, { spaceId: 'spc_4b' })
    const pages: string[][] = []
    const eraseFiles = async (_: string, files: readonly Readonly<{ id: string }>[]) => void pages.push(files.map(({ id }) => id))
    const deleteRun = async () => {
      await one.db.updateTable('runs').set({ expires_at: one.clock.now().toISOString() }).execute()
      return flowsFeature.cleanup?.({ ...one, eraseFiles } as never)[0]?.(new AbortController().signal)
    }
    return { one, run, pages, eraseFiles, deleteRun }
  }

  test('the files of its forms are read in pages when it is deleted', async () => {
    const { one, run, pages, deleteRun } = await started([note, plan])
    const rows = Array.from({ length: 120 }, (_, n) => ({ run_id: run.id, seq: n + 2, input: input({ plan: `fil_${n}` }) }))
    await submissions(one, rows)
    expect(await deleteRun()).toBe('1 old run')
    expect(pages.map(({ length }) => length)).toEqual([50, 50, 20])
    expect(pages.flat()).toEqual(rows.map((_, n) => `fil_${n}`))
  })

  test('its forms are not read for a board without fields for files', async () => {
    const { one, run, pages, deleteRun } = await started([note])
    await submissions(one, [{ run_id: run.id, seq: 2, input: 'this would fail' }])
    expect(await deleteRun()).toBe('1 old run')
    expect(pages).toEqual([])
  })

  test('all of its values are emptied when the user who started it is erased', async () => {
    const { one, run, eraseFiles } = await started([note])
    const rows = Array.from({ length: 120 }, (_, n) => ({ run_id: run.id, seq: n + 3, input: input({ note: 'measles' }) }))
    await submissions(one, rows)
    await eraseUserRuns({ ...one, eraseFiles }, { id: 'anna', tenantId: 'ten_one', slug: 'one' })
    const history = await one.db.selectFrom('run_history').select('input').where('type', '!=', 'cancel').orderBy('seq').execute()
    expect(JSON.parse(history[0]?.input as string)).toEqual({ type: 'start', by: 'anna', variables: {} })
    expect(new Set(history.slice(1).map((row) => row.input))).toEqual(new Set([input({})]))
  })

  test('lists of its steps read no values', async () => {
    const { one, run } = await started([note])
    await submissions(one, [{ run_id: run.id, seq: 2, input: 'this would fail' }])
    const ofUser = await one.as('anna').runHistory({ params: { id: run.id } })
    const ofOperator = await one.operator.tenantRunHistory({ params: { slug: 'one', id: run.id } })
    for (const { entries } of [ofUser, ofOperator]) expect(entries.map(({ type }) => type)).toEqual(['start', 'submit'])
  })

  test('an operator with support access reads its first steps and its last reports, up to 4 million characters of each', async () => {
    const { one, run } = await started([note])
    const rows = Array.from({ length: 60 }, (_, n) => ({ run_id: run.id, seq: n + 2, input: input({ note: 'x'.repeat(100_000) }) }))
    await submissions(one, rows)
    const report = { run_id: run.id, tenant_id: 'ten_one', element_id: 'r1', title: 'Report', missing: '[]', status: 'ready' as const }
    const files = { markdown_file_id: null, pdf_file_id: null, markdown: 'x'.repeat(1_500_000) }
    for (const n of [1, 2, 3])
      await one.db
        .insertInto('run_reports')
        .values({ ...report, ...files, id: `rep_${n}`, token_id: `t${n}`, created_at: `2026-01-0${n}T00:00:00.000Z` })
        .execute()
    await one.as('mia').grantSupportAccess()
    const read = await one.operator.readTenantRun({ params: { slug: 'one', id: run.id } })
    expect([read.steps.length, read.moreSteps]).toEqual([40, true])
    expect(read.reports.map(({ id }) => id)).toEqual(['rep_2', 'rep_3'])
    expect((await one.as('anna').showRun({ params: { id: run.id } })).reports.map(({ id }) => id)).toEqual(['rep_1', 'rep_2', 'rep_3'])
  })
})
