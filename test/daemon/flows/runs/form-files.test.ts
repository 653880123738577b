import { expect, test } from 'vitest'
import type { Db } from '../../../../src/daemon/db/index.ts'
import { advanceRun } from '../../../../src/daemon/flows/runs/advance-run.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, codeOf, principalOf } from '../../../support/tasks-world.ts'
import { aBoard, aRun, storedSpace } from './a-board.ts'

const png = (bytes = 20) => Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(bytes)])
const drawn = (content: Buffer) => `data:image/png;base64,${content.toString('base64')}`
const fields = [
  { name: 'plan', label: 'Plan', kind: 'file' },
  { name: 'sign', label: 'Signature', kind: 'signature' },
]

type FileRow = Readonly<{ id: string; spaceId?: string; by?: string; type?: string | null; state?: 'ready' | 'deleted' }>

const aFile = async (db: Db, { id, spaceId = 'spc_4b', by = 'tim', type = 'image/png', state = 'ready' }: FileRow) => {
  const at = '2026-01-05T00:00:00.000Z'
  const row = {
    id,
    tenant_id: 'ten_one',
    space_id: spaceId,
    folder_id: null,
    name: id,
    bytes: 28,
    content_type: 'image/png',
    shown_as: type,
  }
  await db
    .insertInto('files')
    .values({ ...row, sha256: 'ab', state, created_by: by, created_at: at, updated_at: at, deleted_at: null, erase_at: null } as never)
    .execute()
}

onBothDialects('files of forms', (fresh) => {
  const started = async () => {
    const room = await aTasksWorld(await fresh())
    await storedSpace(room, 'spc_4b')
    await storedSpace(room, 'spc_5c')
    const run = await aRun(room, await aBoard(room, 's > f1 > e', { f1: { assignedRole: 'teacher', fields } }), { spaceId: 'spc_4b' })
    const submit = (data: object) =>
      codeOf(room.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data: { ...data } } }))
    return { room, run, submit }
  }

  test('a file must be in the space of the run', async () => {
    const { room, submit } = await started()
    await aFile(room.db, { id: 'fil_ok' })
    await aFile(room.db, { id: 'fil_other', spaceId: 'spc_5c' })
    await aFile(room.db, { id: 'fil_gone', state: 'deleted' })
    for (const plan of ['fil_nowhere', 'fil_other', 'fil_gone']) expect(await submit({ plan }), plan).toBe('VALIDATION')
    expect(await submit({ plan: 'fil_ok' })).toBe('ok')
  })

  test('a signature is a small PNG of the caller', async () => {
    const { room, submit } = await started()
    await aFile(room.db, { id: 'fil_ben', by: 'ben' })
    await aFile(room.db, { id: 'fil_text', type: null })
    for (const sign of ['fil_ben', 'fil_text', 'data:image/png;base64,aGVsbG8=', drawn(png(210_000)), 'x'])
      expect(await submit({ sign }), sign.slice(0, 30)).toBe('VALIDATION')
  })

  test('a drawn signature is stored as a file of the space by its signer, once', async () => {
    const { room, run } = await started()
    const stored: string[] = []
    const storeFile = async ({ id, spaceId, createdBy }: { id: string; spaceId: string; createdBy: string }) => {
      if (!stored.includes(id)) await aFile(room.db, { id, spaceId, by: createdBy })
      stored.push(id)
      return { id }
    }
    const act = async (who: string, change: object = {}, key = 'k1') => {
      const advance = { id: run.id, elementId: 'f1', action: 'submit', data: { sign: drawn(png()) }, ...change } as const
      return advanceRun({ ...room, storeFile: storeFile as never }, await principalOf(room.db, who), { ...advance, idempotencyKey: key })
    }
    expect(await codeOf(act('anna'))).toBe('FORBIDDEN')
    const refused = { action: 'skip', data: undefined } as const
    expect(await codeOf(act('tim', refused, 'k2'))).toBe('INVALID_TRANSITION')
    for (const more of [{ other: 'x' }, { plan: 'fil_nowhere' }, { plan: 5 }])
      expect(await codeOf(act('tim', { data: { sign: drawn(png()), ...more } }, 'k3'))).toBe('VALIDATION')
    expect(stored).toEqual([])
    const first = await act('tim')
    expect(await act('tim')).toEqual(first)
    expect(stored).toHaveLength(1)
    expect((await room.as('anna').showRun({ params: { id: run.id } })).context).toEqual({ sign: stored[0] })
    expect(await codeOf(act('tim', { data: { sign: drawn(png(30)) } }))).toBe('KEY_REUSED')
    const rows = await Promise.all(
      (['runs', 'run_history', 'events', 'jobs'] as const).map((table) => room.db.selectFrom(table).selectAll().execute()),
    )
    expect(JSON.stringify(rows)).not.toContain(png().toString('base64').slice(0, 20))
  })
})
