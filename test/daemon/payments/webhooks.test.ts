import { expect, test } from 'vitest'
import { maxEventBytes, type WebhookEndpoint } from '../../../src/core/payments/index.ts'
import { deleteOldEvents, listEvents, receiveEvent, replayEvent, showEvent } from '../../../src/daemon/payments/events.ts'
import { noProvider } from '../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aPaymentsWorld } from '../../support/payments/payments-world.ts'
import { type DoubleEvent, signedEvent } from '../../support/payments/provider-double.ts'

const operator = { kind: 'admin', accountId: 'adm_1', name: 'olga', role: 'operator', sessionId: 's' } as const
const dayMs = 24 * 60 * 60_000
const isOfConnect = ({ type }: DoubleEvent) => type === 'account.updated'

async function aRoom(...given: Parameters<typeof aPaymentsWorld>) {
  const room = await aPaymentsWorld(...given)
  let taken = 0
  const send = (event: DoubleEvent, endpoint: WebhookEndpoint = isOfConnect(event) ? 'connect' : 'platform', now = room.clock.now()) => {
    const { body, signature } = signedEvent(event, { now, endpoint })
    return receiveEvent(room.deps, { raw: { readBody: async () => body }, signature })
  }
  /** Sends the events since the last call in the order that `arrange` gives, and runs their jobs. */
  const deliver = async (arrange: (events: DoubleEvent[]) => DoubleEvent[] = (events) => events) => {
    const fresh = room.double.events().slice(taken)
    taken += fresh.length
    for (const event of arrange(fresh)) await send(event)
    await room.runJobs()
  }
  const row = async () => (await room.rows())[0]
  const kinds = async () =>
    (await room.db.selectFrom('alerts').select(['kind', 'status']).execute()).map(({ kind, status }) => [kind, status])
  return { ...room, send, deliver, row, kinds, list: () => listEvents(room.deps, { limit: 50 }) }
}

onBothDialects('events of the provider', (fresh) => {
  test('a subscription that is deleted at the provider cancels the installation, once', async () => {
    const room = await aRoom(await fresh())
    const { paymentSubscriptionId } = await room.install()
    await room.deliver()
    expect((await room.row())?.status).toBe('active')
    await room.provider.cancelSubscription({ key: 'by hand', id: paymentSubscriptionId as string })
    await room.deliver((events) => [...events, ...events])
    expect((await room.row())?.status).toBe('cancelled')
    const { events } = await room.list()
    expect(events.find(({ type }) => type === 'customer.subscription.deleted')).toMatchObject({
      ...{ state: 'applied', objectId: paymentSubscriptionId, outcome: expect.stringMatching(/^msb_\w+ is cancelled$/) },
    })
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
  })

  test('a failed payment takes nothing away: status, alert and audit; a payment closes the alert. Events may come in any order', async () => {
    const room = await aRoom(await fresh())
    await room.install()
    room.double.refuseCard(room.customer.id)
    await room.clock.advance(32 * dayMs)
    await room.deliver((events) => events.reverse())
    expect(await room.row()).toMatchObject({ status: 'active', payment_status: 'past_due' })
    expect(await room.kinds()).toEqual([['payment_failed', 'open']])
    const open = [...room.double.invoices.values()].find(({ status }) => status === 'open')
    room.double.refuseCard(room.customer.id, false)
    room.double.payInvoice(open?.id as string)
    await room.deliver()
    expect(await room.row()).toMatchObject({ status: 'active', payment_status: 'ok' })
    expect(await room.kinds()).toEqual([['payment_failed', 'closed']])
    const changes = await room.db.selectFrom('audit').select('action').where('action', '=', 'payment.status-changed').execute()
    expect(changes).toHaveLength(2)
  })

  test('an event of another subscription of the tenant, or of a type without use, changes nothing', async () => {
    const room = await aRoom(await fresh())
    await room.install()
    await room.deliver()
    const at = room.clock.now().toISOString()
    const event = (id: string, type: string, objectId: string) => ({ id, type, objectKind: 'subscription', objectId, createdAt: at })
    await room.send(event('evt_a', 'customer.subscription.deleted', 'sub_other'))
    await room.send(event('evt_b', 'customer.created', 'cus_1'))
    await room.send(event('evt_c', 'account.updated', 'acct_1'), 'platform')
    await room.runJobs()
    const outcome = async (id: string) => (await showEvent(room.deps, { id })).outcome
    expect([await outcome('evt_a'), await outcome('evt_b'), await outcome('evt_c')]).toEqual([
      'the provider does not know the subscription',
      'nothing to do',
      'nothing to do',
    ])
    expect((await room.row())?.status).toBe('active')
  })

  test('an invalid signature, an old event, another secret and a large body are refused and not stored', async () => {
    const room = await aRoom(await fresh())
    const now = room.clock.now()
    const event = { id: 'evt_1', type: 'invoice.paid', objectKind: 'invoice', objectId: 'in_1', createdAt: now.toISOString() }
    await expect(room.send(event, 'platform', new Date(now.getTime() - 301_000))).rejects.toMatchObject({ code: 'VALIDATION' })
    await expect(room.send(event, 'platform', new Date(now.getTime() + 301_000))).rejects.toMatchObject({ code: 'VALIDATION' })
    const { body } = signedEvent(event, { now })
    const raw = { readBody: async () => body }
    await expect(receiveEvent(room.deps, { raw, signature: '' })).rejects.toThrow('TENANTRY_STRIPE_WEBHOOK_SECRETS')
    await expect(receiveEvent(room.deps, { raw, signature: `t=1,v1=${'0'.repeat(64)}` })).rejects.toMatchObject({ code: 'VALIDATION' })
    await expect(receiveEvent({ ...room.deps, provider: noProvider }, { raw, signature: '' })).rejects.toMatchObject({
      code: 'PAYMENTS_UNAVAILABLE',
    })
    expect((await room.list()).events).toEqual([])
    expect(maxEventBytes).toBe(262_144)
  })

  test('an event whose job failed is replayed; 90 days later it is deleted', async () => {
    const room = await aRoom(await fresh())
    const { paymentSubscriptionId } = await room.install()
    await room.deliver()
    await room.provider.cancelSubscription({ key: 'by hand', id: paymentSubscriptionId as string })
    const deleted = room.double.events().at(-1) as DoubleEvent
    await room.send(deleted)
    room.double.fault('getSubscription', 'lost')
    await expect(room.runJobs()).rejects.toMatchObject({ kind: 'unreachable' })
    expect(await showEvent(room.deps, deleted)).toMatchObject({ state: 'waiting', outcome: null })
    expect((await listEvents(room.deps, { limit: 50, state: 'waiting' })).events.map(({ id }) => id)).toEqual([deleted.id])
    await replayEvent(room.deps, operator, deleted)
    expect(await room.db.selectFrom('audit').select('subject').where('action', '=', 'payment.event-replayed').execute()).toHaveLength(1)
    await room.runJobs()
    expect(await showEvent(room.deps, deleted)).toMatchObject({ state: 'applied' })
    expect((await room.row())?.status).toBe('cancelled')
    await expect(replayEvent(room.deps, operator, { id: 'evt_unknown' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await room.clock.advance(91 * dayMs)
    await deleteOldEvents(room.deps, new AbortController().signal)
    expect((await room.list()).events).toEqual([])
  })

  test('pages are newest first and end', async () => {
    const room = await aRoom(await fresh())
    for (let n = 0; n < 5; n++) {
      await room.send({
        id: `evt_X${n}`,
        type: 'customer.created',
        objectKind: 'customer',
        objectId: 'c',
        createdAt: '2026-03-10T10:00:00.000Z',
      })
      await room.clock.advance(n % 2)
    }
    const ids: string[] = []
    for (let cursor: string | undefined; ; ) {
      const { events, nextCursor } = await listEvents(room.deps, { limit: 2, cursor })
      ids.push(...events.map(({ id }) => id))
      if (nextCursor === null) break
      cursor = nextCursor
    }
    expect(ids).toEqual(['evt_X4', 'evt_X3', 'evt_X2', 'evt_X1', 'evt_X0'])
  })
})
