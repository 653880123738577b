import { expect, test } from 'vitest'
import type { FollowedLogs } from '../../../src/core/boxes/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'
import { deleteOldAnswers } from '../../../src/daemon/boxes/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { lifeWorld } from '../../support/life-world.ts'

const params = { slug: 'north' }
const line = (at: number, text: string) => ({ at: `2026-01-05T02:00:0${at}Z`, service: 'synapse', text })

onBothDialects('followed logs', (fresh) => {
  const withBox = async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    const api = await world.api()
    const follow = async (lastEventId?: string) => {
      const stop = new AbortController()
      const options = { signal: stop.signal, ...(lastEventId ? { lastEventId } : {}) }
      const stream = await api.followLogs({ params, query: { services: 'synapse', lines: 5 } }, options)
      const messages = stream[Symbol.asyncIterator]()
      const next = async () => (await messages.next()).value as { id?: string; event: string; data: FollowedLogs }
      return { next, stop: () => stop.abort() }
    }
    const send = async (command: { id: string; leaseToken: number }, lines: ReturnType<typeof line>[]) => {
      const agent = await world.agent('host-1')
      const batch = { commandId: command.id, leaseToken: command.leaseToken, lines, leftOut: false }
      return (await agent.postLines({ body: { batches: [batch] } })).states[0]
    }
    const open = () => world.db.selectFrom('command_lines').selectAll().execute()
    return { world, api, follow, send, open }
  }

  test('reach the follower as its agent sends them, with a position to continue after; opening is audited', async () => {
    const { world, follow, send, open } = await withBox()
    const { next, stop } = await follow()
    const command = await world.take('host-1')
    expect(command).toMatchObject({ kind: 'tenant-box.follow_logs', payload: { slug: 'north', services: ['synapse'], lines: 5 } })
    expect(await send(command, [line(1, 'one'), line(2, 'two')])).toBe('accepted')
    expect(await next()).toEqual({
      id: line(2, '').at,
      event: 'lines',
      data: { lines: [line(1, 'one'), line(2, 'two')], leftOut: false, end: null },
    })
    expect(await open()).toEqual([])
    expect((await world.audit()).filter((action) => action === 'box.logs')).toHaveLength(1)
    stop()
    await follow(line(2, '').at)
    const again = await world.take('host-1', [command])
    expect(again.payload).toMatchObject({ since: line(2, '').at })
  })

  test('end in the agent when the follower goes away', async () => {
    const { world, follow, send } = await withBox()
    const { stop } = await follow()
    const command = await world.take('host-1')
    expect(await send(command, [])).toBe('accepted')
    stop()
    await expect.poll(() => send(command, [])).toBe('ended')
  })

  test('expire with a daemon that was killed', async () => {
    const { world, follow, send } = await withBox()
    await follow()
    const command = await world.take('host-1')
    await send(command, [])
    await world.db.updateTable('commands').set({ deadline_at: '2026-01-01T00:00:00.000Z' }).where('id', '=', command.id).execute()
    await world.sweep()
    expect(await send(command, [line(1, 'late')])).toBe('ended')
    await world.clock.advance(11 * 60_000)
    await deleteOldAnswers(world, world.db)
    expect(await world.db.selectFrom('commands').select('id').where('id', '=', command.id).execute()).toEqual([])
  })

  test('say so when the agent is silent', async () => {
    const { world, follow } = await withBox()
    const { next } = await follow()
    await world.take('host-1')
    let ended: unknown
    void next().then((message) => {
      ended = message
    })
    // The queries between two rounds take time of the machine.
    const passing = () => world.clock.advance(1_000).then(() => ended)
    await expect
      .poll(passing, { interval: 5, timeout: 60_000 })
      .toMatchObject({ event: 'end', data: { end: { code: 'HOST_OFFLINE', message: expect.stringContaining('host-1') } } })
  })

  test('say why the agent failed', async () => {
    const { world, follow } = await withBox()
    const { next } = await follow()
    await world.fail('host-1', 'DOCKER_UNAVAILABLE')
    expect(await next()).toMatchObject({ event: 'end', data: { end: { code: 'DOCKER_UNAVAILABLE' } } })
  })

  test('of a follower that reads nothing are not stored without end', async () => {
    const { world, send, api, open } = await withBox()
    // The head alone: nobody reads.
    await api.followLogs({ params, query: {} })
    const command = await world.take('host-1')
    await world.db.updateTable('commands').set({ revision: 1000 }).where('id', '=', command.id).execute()
    const states = []
    for (let n = 0; n < 40; n++) states.push(await send(command, [line(n % 10, 'x'.repeat(3_900)), line(n % 10, 'y'.repeat(3_900))]))
    expect((await open()).length).toBeLessThanOrEqual(5)
    expect(states.every((state) => state === 'accepted' || state === 'busy')).toBe(true)
  })

  test('have at most twelve followers for each operator, and need a live box, an online host and a time', async () => {
    const { world, api, follow } = await withBox()
    const code = (call: Promise<unknown>) =>
      call.then(
        () => 'none',
        (error) => (isProblem(error) ? error.code : String(error)),
      )
    for (let n = 0; n < 12; n++) await follow()
    expect(await code(follow())).toBe('RATE_LIMITED')
    expect(await code(api.followLogs({ params, query: { since: 'yesterday' } }))).toBe('VALIDATION')
    expect(await code(api.followLogs({ params, query: { services: 'synapse,nginx' } }))).toBe('VALIDATION')
    await world.silence('host-1')
    expect(await code(follow())).toBe('HOST_OFFLINE')
    expect(await code(api.readServices({ params }))).toBe('HOST_OFFLINE')
  })

  test('measured services are in the result of the command, and are not stored for long', async () => {
    const { world, api } = await withBox()
    const { commandId } = await api.readServices({ params })
    await world.answer('host-1', 'tenant-box.services', { services: [], at: '2026-01-05T02:00:00.000Z' })
    const stored = () => world.db.selectFrom('commands').select('status').where('id', '=', commandId).executeTakeFirst()
    expect(await stored()).toEqual({ status: 'succeeded' })
    await world.clock.advance(10 * 60_000)
    await deleteOldAnswers(world, world.db)
    expect(await stored()).toBeUndefined()
  })
})
