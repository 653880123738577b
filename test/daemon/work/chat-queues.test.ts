import { expect, test } from 'vitest'
import { chatQueue, workersPerPool } from '../../../src/core/jobs/index.ts'
import { isoIn, problem } from '../../../src/core/kit/index.ts'
import { enqueueJob, type Tx } from '../../../src/daemon/db/index.ts'
import type { Command } from '../../../src/daemon/hosts/index.ts'
import { chatRetryListener, drainJobs } from '../../../src/daemon/work/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aSpacesWorld } from '../../support/spaces-world.ts'

onBothDialects('jobs for a chat server that is away', (fresh) => {
  /** A message waits for a chat server that has not answered for a quarter of an hour. */
  async function outage() {
    const room = await aSpacesWorld(await fresh())
    const { db, clock, log, tenantId } = room
    await db.deleteFrom('jobs').execute()
    await db.deleteFrom('job_queues').execute()
    const server = { isAway: true, tries: 0, sent: [] as unknown[] }
    const handlers = {
      'chat.run-message': async (payload: unknown) => {
        server.tries += 1
        if (server.isAway) throw problem('HOMESERVER_UNREACHABLE', 'update in progress')
        server.sent.push(payload)
      },
    }
    const send = (text: string) =>
      db.transaction().execute((tx) =>
        enqueueJob(tx, clock, {
          topic: 'chat.run-message',
          payload: text,
          ...chatQueue({ tenantId, what: 'messages', key: text }),
        }),
      )
    const pass = async (seconds: number, stepSeconds = 1) => {
      for (let second = 0; second < seconds; second += stepSeconds) {
        await clock.advance(stepSeconds * 1_000)
        await drainJobs({ db, clock, log, handlers })
      }
    }
    await send('old')
    await pass(900, 30)
    return { ...room, server, send, pass }
  }

  test('a new message is sent within ten seconds after the server is back, and takes the waiting ones along', async () => {
    const { server, send, pass } = await outage()
    await pass(2)
    server.isAway = false
    await send('alarm')
    await pass(11)
    expect(server.sent.toSorted()).toEqual(['alarm', 'old'])
  })

  test('messages to a server that stays away cause a try in ten seconds at most', async () => {
    const { server, send, pass } = await outage()
    const before = server.tries
    for (let nth = 0; nth < 60; nth++) {
      await send(`alarm ${nth}`)
      await pass(1)
    }
    expect(server.tries - before).toBeLessThanOrEqual(7)
  })

  test.each(['tenant-box.update', 'tenant-box.restore', 'tenant-box.take_over', 'tenant-box.maintenance'] as const)(
    'waiting messages are sent when %s has ended',
    async (kind) => {
      const { db, clock, server, pass } = await outage()
      server.isAway = false
      const { id: boxId } = await db.selectFrom('boxes').select('id').where('live', '=', 1).executeTakeFirstOrThrow()
      const handle = chatRetryListener({ clock }).resultHandlers?.[kind] as (tx: Tx, command: Partial<Command>) => Promise<void>
      await db.transaction().execute((tx) => handle(tx, { boxId }))
      await pass(1)
      expect(server.sent).toEqual(['old'])
    },
  )

  test('the messages of a box that is open do not wait behind other servers that are still away', async () => {
    const { db, clock, log } = await outage()
    const sent: string[] = []
    const timeout = new AbortController()
    const hanging = new Promise((resolve) => timeout.signal.addEventListener('abort', resolve))
    const handlers = {
      'chat.run-message': async (payload: unknown) => {
        if (payload === 'hangs') await hanging
        sent.push(payload as string)
      },
    }
    const away = { locked: 0, token: 0, failures: 9, pool: 'away' as const, due_at: isoIn(clock, -1_000) }
    for (let nth = 0; nth < workersPerPool.away; nth++) {
      const { queue, key } = chatQueue({ tenantId: `ten_away_${nth}`, what: 'messages', key: '1' })
      await db
        .transaction()
        .execute((tx) => enqueueJob(tx, clock, { topic: 'chat.run-message', payload: 'hangs', queue, key, pool: 'chat' }))
      await db
        .insertInto('job_queues')
        .values({ queue, ...away })
        .execute()
    }
    const { id: boxId } = await db.selectFrom('boxes').select('id').where('live', '=', 1).executeTakeFirstOrThrow()
    const handle = chatRetryListener({ clock }).resultHandlers?.['tenant-box.update'] as (
      tx: Tx,
      command: Partial<Command>,
    ) => Promise<void>
    await db.transaction().execute((tx) => handle(tx, { boxId }))
    const drained = drainJobs({ db, clock, log, handlers })
    await expect.poll(() => sent).toEqual(['old'])
    timeout.abort()
    await drained
  })
})
