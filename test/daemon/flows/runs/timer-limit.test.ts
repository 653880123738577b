import { expect, test } from 'vitest'
import { boardLimits } from '../../../../src/core/boards/index.ts'
import { startBoardRun } from '../../../../src/daemon/flows/runs/start-run.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, codeOf } from '../../../support/tasks-world.ts'
import { aBoard, aRun } from './a-board.ts'

onBothDialects('timers of a tenant', (fresh) => {
  test('a start that sets a timer is refused at the limit; one without timers, or by a chat message, is not', async () => {
    const one = await aTasksWorld(await fresh())
    const [timed, plain] = [await aBoard(one, 's > w1 > e'), await aBoard(one, 's > t1 > e')]
    const run = await aRun(one, timed)
    const row = { run_id: run.id, tenant_id: 'ten_one', name: 'warn', due_at: '2030-01-01T00:00:00.000Z', paused: 0 } as const
    const rows = Array.from({ length: boardLimits.timersOfTenant - 2 }, (_, n) => ({ ...row, token_id: `x${n}` }))
    for (let n = 0; n < rows.length; n += 1_000)
      await one.db
        .insertInto('run_timers')
        .values(rows.slice(n, n + 1_000))
        .execute()
    expect(await codeOf(aRun(one, timed))).toBe('ok')
    expect(await codeOf(aRun(one, timed))).toBe('CONFLICT')
    expect(await codeOf(aRun(one, plain))).toBe('ok')
    const by = (type: 'chat' | 'cron') =>
      one.db.transaction().execute((tx) =>
        startBoardRun(one, tx, {
          ...{ tenantId: 'ten_one', boardId: timed, by: null, spaceId: null, variables: {} },
          trigger: { type, occurrence: `${type}:1` },
        }),
      )
    expect([await codeOf(by('cron')), await codeOf(by('chat'))]).toEqual(['CONFLICT', 'ok'])
  })
})
