import { expect, test } from 'vitest'
import { eraseFilesOf } from '../../../../src/daemon/files/index.ts'
import { eraseUserRuns, flowsFeature } from '../../../../src/daemon/flows/index.ts'
import { replaceNames } from '../../../../src/daemon/privacy/replace-names.ts'
import { silentLogger } from '../../../../src/node/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, type TasksWorld } from '../../../support/tasks-world.ts'
import { aBoard, aRun, storedSpace } from './a-board.ts'

const sign = { name: 'sign', label: 'Signature', kind: 'signature' }
const note = { name: 'note', label: 'Note', kind: 'file' }
const anna = { id: 'anna', tenantId: 'ten_one', slug: 'one' }
const earlier = '2025-01-05T00:00:00.000Z'

const uploaded = ({ db }: TasksWorld, id: string, { by, at }: { by: string; at: string }) => {
  const row = { id, tenant_id: 'ten_one', space_id: 'spc_4b', folder_id: null, name: id, bytes: 28, content_type: 'image/png' }
  const times = { created_at: at, updated_at: at, deleted_at: null, erase_at: null }
  return db
    .insertInto('files')
    .values({ ...row, ...times, shown_as: 'image/png', sha256: 'ab', state: 'ready', created_by: by })
    .execute()
}

onBothDialects('files in forms of an erased user', (fresh) => {
  const room = async () => {
    const one = await aTasksWorld(await fresh())
    await storedSpace(one, 'spc_4b')
    const files = { ...one, log: silentLogger(), objects: { remove: async () => undefined } as never }
    const deps = {
      ...one,
      eraseFiles: (tenantId: string, found: Parameters<typeof eraseFilesOf>[2]) => eraseFilesOf(files, tenantId, found),
    }
    const stored = async () => (await one.db.selectFrom('files').select('id').orderBy('id').execute()).map(({ id }) => id)
    return { one, deps, stored }
  }

  test('signatures made in its runs are deleted; an older file of another user that served as one is not', async () => {
    const { one, deps, stored } = await room()
    const form = { assignedRole: 'teacher', fields: [sign] }
    const run = await aRun(one, await aBoard(one, 's > f1 > f2 > e', { f1: form, f2: form }), { spaceId: 'spc_4b' })
    await uploaded(one, 'fil_mine', { by: 'tim', at: earlier })
    await uploaded(one, 'fil_sign', { by: 'tim', at: run.startedAt })
    for (const [elementId, id] of [
      ['f1', 'fil_mine'],
      ['f2', 'fil_sign'],
    ] as const)
      await one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId, action: 'submit', data: { sign: id } } })
    await eraseUserRuns(deps, anna)
    expect(await stored()).toEqual(['fil_mine'])
  })

  test('its own signatures in runs of others are deleted, also older ones', async () => {
    const { one, deps, stored } = await room()
    const form = { assignedRole: 'teacher', fields: [sign] }
    const run = await aRun(one, await aBoard(one, 's > f1 > e', { f1: form }), { spaceId: 'spc_4b' })
    await uploaded(one, 'fil_mine', { by: 'tim', at: earlier })
    await uploaded(one, 'fil_other', { by: 'ben', at: run.startedAt })
    await one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data: { sign: 'fil_mine' } } })
    await eraseUserRuns(deps, { ...anna, id: 'tim' })
    expect(await stored()).toEqual(['fil_other'])
  })

  test('uploads in its forms are deleted with the run, as those of other users', async () => {
    const { one, deps, stored } = await room()
    const form = { assignedTo: 'starter', assignedRole: undefined, fields: [note, { name: 'illness', label: 'Illness', kind: 'text' }] }
    const run = await aRun(one, await aBoard(one, 's > f1 > e', { f1: form }, { retentionDays: 30 }), { spaceId: 'spc_4b' })
    await uploaded(one, 'fil_sick', { by: 'anna', at: run.startedAt })
    const data = { note: 'fil_sick', illness: 'measles' }
    await one.as('anna').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data } })
    await eraseUserRuns(deps, anna)
    const rows = await one.db.selectFrom('run_history').select('input').where('type', '=', 'submit').execute()
    expect(rows.map(({ input }) => JSON.parse(input).values)).toEqual([{ note: 'fil_sick' }])
    expect(await stored()).toEqual(['fil_sick'])
    // The name goes last, from the history and the file alike.
    await replaceNames(one.db, anna)
    await one.clock.advance(31 * 86_400_000)
    await flowsFeature.cleanup?.(deps as never)[0]?.(new AbortController().signal)
    expect(await one.db.selectFrom('runs').select('id').execute()).toEqual([])
    expect(await stored()).toEqual([])
  })

  test('a file of another user in its forms stays, also when that user is erased later', async () => {
    const { one, deps, stored } = await room()
    const form = { assignedTo: 'starter', assignedRole: undefined, fields: [note, { ...note, name: 'other' }] }
    const run = await aRun(one, await aBoard(one, 's > f1 > e', { f1: form }, { retentionDays: 30 }), { spaceId: 'spc_4b' })
    await uploaded(one, 'fil_mine', { by: 'anna', at: run.startedAt })
    await uploaded(one, 'fil_theirs', { by: 'tim', at: run.startedAt })
    const data = { note: 'fil_mine', other: 'fil_theirs' }
    await one.as('anna').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data } })
    for (const id of ['anna', 'tim']) {
      await eraseUserRuns(deps, { ...anna, id })
      await replaceNames(one.db, { ...anna, id })
    }
    await one.clock.advance(31 * 86_400_000)
    await flowsFeature.cleanup?.(deps as never)[0]?.(new AbortController().signal)
    expect(await stored()).toEqual(['fil_theirs'])
  })
})
