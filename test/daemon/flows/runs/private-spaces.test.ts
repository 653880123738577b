import { expect, test } from 'vitest'
import { reaches } from '../../../../src/core/events/index.ts'
import { eventsAfter } from '../../../../src/daemon/db/index.ts'
import { readPage } from '../../../../src/daemon/events/topic.ts'
import { listOccurrences } from '../../../../src/daemon/flows/triggers/list-occurrences.ts'
import { membersOf, privateOf } from '../../../../src/daemon/spaces/index.ts'
import { sketch } from '../../../core/boards/sketch.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, codeOf, principalOf, type TasksWorld } from '../../../support/tasks-world.ts'
import { joined, storedSpace } from './a-board.ts'

// Mia and ben both have manageBoards and manageRuns; mia alone is in the private space. Tim starts its alarm by his role.

onBothDialects('boards and runs of private spaces', (fresh) => {
  async function room() {
    const one = await aTasksWorld(await fresh())
    await storedSpace(one, 'spc_1')
    await joined(one, 'mia', 'spc_1')
    await one.db.updateTable('users').set({ roles: '["head"]' }).where('id', '=', 'ben').execute()
    const definition = sketch(
      's > f1 > t1 > r1 > e',
      { f1: { assignedRole: undefined, assignedTo: 'starter' } },
      { startRoles: ['teacher'] },
    )
    const { id } = await one.as('mia').createBoard({ body: { name: 'Counselling', spaceId: 'spc_1', definition } })
    await one.as('mia').publishBoard({ params: { id } })
    const run = await one.as('tim').startRun({ params: { id }, body: {} })
    return { one, id, run, definition }
  }

  const readsOf = async ({ one, id, run, definition }: Awaited<ReturnType<typeof room>>, who: string) => {
    const [as, params] = [one.as(who), { id }]
    const ofRun = { params: { id: run.id } }
    return {
      boards: (await as.listBoards()).boards.map(({ name }) => name),
      runs: (await as.listRuns({ params })).runs.map((found) => found.id),
      codes: await Promise.all(
        [
          as.showBoard({ params }),
          as.listBoardVersions({ params }),
          as.showBoardVersion({ params: { id, version: '1' as never } }),
          as.checkBoard({ params }),
          as.exportBoard({ params }),
          as.simulateBoard({ params, body: {} }),
          as.saveBoard({ params, body: { name: 'Seen', spaceId: 'spc_1', definition, version: 7 } }),
          principalOf(one.db, who).then((actor) => listOccurrences(one, actor, { id, limit: 1 })),
          as.showRun(ofRun),
          as.runHistory(ofRun),
          as.retryRun(ofRun),
        ].map(codeOf),
      ),
    }
  }

  test('a user who is no member finds neither board nor run, whatever it may do elsewhere', async () => {
    const world = await room()
    const { one, id, run } = world
    const read = ['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'CONFLICT', 'ok', 'ok', 'ok', 'INVALID_TRANSITION']
    expect(await readsOf(world, 'mia')).toEqual({ boards: ['Counselling'], runs: [run.id], codes: read })
    expect(await readsOf(world, 'ben')).toEqual({ boards: [], runs: [], codes: read.map(() => 'NOT_FOUND') })
    const ben = one.as('ben')
    const changes = [ben.publishBoard({ params: { id } }), ben.archiveBoard({ params: { id } }), ben.deleteBoard({ params: { id } })]
    expect(await Promise.all([...changes, ben.cancelRun({ params: { id: run.id } })].map(codeOf))).toEqual(Array(4).fill('NOT_FOUND'))
    await one.db.updateTable('spaces').set({ visibility: 'TENANT' }).execute()
    expect(await readsOf(world, 'ben')).toMatchObject({ boards: ['Counselling'], runs: [run.id] })
    expect((await readsOf(world, 'ben')).codes).not.toContain('NOT_FOUND')
  })

  test('the user who started the run, or acts in it, reads the run and nothing else', async () => {
    const world = await room()
    const { one, run } = world
    expect(await codeOf(one.as('tim').showRun({ params: { id: run.id } }))).toBe('ok')
    expect(await codeOf(one.as('tim').listBoards())).toBe('FORBIDDEN')
  })

  test('a board that moves into a private space, or out of it, is hidden until both its versions are open', async () => {
    const { one, id, definition } = await room()
    await one.as('mia').saveBoard({ params: { id }, body: { name: 'Open now', definition, version: 1 } })
    expect((await one.as('ben').listBoards()).boards).toEqual([])
    expect(await codeOf(one.as('ben').showBoard({ params: { id } }))).toBe('NOT_FOUND')
  })

  test('events of board and run reach members alone, also those with the capability', async () => {
    const { one, run } = await room()
    const stream = 'tenant:ten_one'
    const reached = async (who: string) => {
      const page = await readPage({ db: one.db, membersOf, privateOf }, { stream, after: 0 })
      const reader = await principalOf(one.db, who)
      const seqs = new Set(page.events.filter(({ audience }) => reaches(audience, reader, page.isMember)).map(({ seq }) => seq))
      const events = (await eventsAfter(one.db, { stream, after: 0 })).filter(({ seq }) => seqs.has(seq))
      return [...new Set(events.map(({ eventType }) => eventType.split('.')[0]))].toSorted()
    }
    expect(await reached('mia')).toEqual(['board', 'run'])
    expect(await reached('ben')).toEqual([])
    expect(await reached('tim')).toEqual(['run'])
    await one.db.updateTable('spaces').set({ visibility: 'TENANT' }).execute()
    expect(await reached('ben')).toEqual(['board', 'run'])
    expect(run.spaceId).toBe('spc_1')
  })

  test('building boards and reading runs are two capabilities', async () => {
    const one: TasksWorld = await aTasksWorld(await fresh())
    await one.db.updateTable('users').set({ roles: '["builder"]' }).where('id', '=', 'ben').execute()
    const ben = one.as('ben')
    const { id } = await ben.createBoard({ body: { name: 'Visitors', definition: sketch('s > t1 > e') } })
    await ben.publishBoard({ params: { id } })
    const run = await one.as('anna').startRun({ params: { id }, body: {} })
    expect((await ben.listRuns({ params: { id } })).runs).toEqual([])
    expect((await ben.listTasks()).tasks).toEqual([])
    expect(await codeOf(ben.showRun({ params: { id: run.id } }))).toBe('NOT_FOUND')
    expect(await codeOf(ben.cancelRun({ params: { id: run.id } }))).toBe('FORBIDDEN')
    expect((await one.as('mia').listRuns({ params: { id } })).runs).toHaveLength(1)
  })
})
